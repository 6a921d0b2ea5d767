"""Scores by which wrong training labels may be found: all of one head, higher more suspicious."""

import numpy as np
import torch
from scipy.special import softmax

from wtrak.covariance import add_ridge, factorise, second_moment
from wtrak.gradients import Gradients, reduce_to_sum_zero, residuals, sums_to_zero
from wtrak.head import logits
from wtrak.leave_one_out import leave_one_out
from wtrak.ood import label_free_leverage
from wtrak.scores import explicit_block, whiten


def self_influence(gradients, ridge, *, block_size, device):
    """SI = φᵀQ⁻¹φ of all n examples (definition 5.2), shape (n,), float64.

    With fewer examples than dimensions it comes from their n×n Gram matrix K instead of Q, as
    n·(1 − nλ·[(K + nλI)⁻¹]_ii): memory is O(min(n, d)²).
    """
    if len(gradients) < gradients.dimension:
        return _self_influence_from_gram(gradients, ridge, device)
    q = second_moment(gradients, block_size=block_size, device=device)
    factor = factorise(add_ridge(q, ridge))
    out = np.empty(len(gradients))
    for start in range(0, len(gradients), block_size):
        rows = slice(start, start + block_size)
        psi = whiten(explicit_block(gradients, rows, device), factor)
        out[rows] = (psi * psi).sum(dim=1).cpu().numpy()
    return out


def _self_influence_from_gram(gradients, ridge, device):
    n = len(gradients)
    h = torch.from_numpy(gradients.activations).to(device, torch.float64)
    e = torch.from_numpy(gradients.residuals).to(device)
    k = (e @ e.T) * (h @ h.T)
    factor = factorise(add_ridge(k, n * ridge))
    inverse = torch.cholesky_inverse(factor)
    return (n * (1 - n * ridge * inverse.diagonal())).cpu().numpy()


def cross_entropy(z, labels):
    """Loss of each example at its label, shape (n,), from logits (n, C)."""
    return np.logaddexp.reduce(z, axis=1) - z[np.arange(len(z)), labels]


def head_scores(z, labels, activations):
    """Scores that need no more than logits, labels and activations.

    Parameters
    ----------
    z : numpy.ndarray, shape (n, C), float64
    labels : numpy.ndarray, shape (n,), integers
    activations : numpy.ndarray, shape (n, p)

    Returns
    -------
    dict of str to numpy.ndarray, shape (n,)
        ``loss``, the cross-entropy; ``el2n``, ‖e‖; ``gradient_norm``, ‖e‖‖h‖; ``margin``, the
        largest other logit less that of the label.
    """
    rows = np.arange(len(z))
    e = np.linalg.norm(residuals(z, labels, "loss"), axis=1)
    others = z.copy()
    others[rows, labels] = -np.inf
    return {
        "loss": cross_entropy(z, labels),
        "el2n": e,
        "gradient_norm": e * np.linalg.norm(activations.astype(np.float64), axis=1),
        "margin": others.max(axis=1) - z[rows, labels],
    }


def confident_learning(out_of_fold, labels):
    """Cleanlab's ranking of label errors, shape (n,), from logits of heads that saw no label.

    The examples that it prunes come first; among them and among the others its quality score
    decides. Both with the settings that it comes with.
    """
    from cleanlab.filter import find_label_issues
    from cleanlab.rank import get_label_quality_scores

    probabilities = softmax(out_of_fold, axis=1)
    issues = find_label_issues(labels, probabilities, n_jobs=1)
    quality = get_label_quality_scores(labels, probabilities)
    return issues + (1.0 - quality)


def all_detectors(
    weight, out_of_fold, tracin, activations, labels, *, gradient, ridge, penalty, rng, **options
):
    """Every score of one noisy training set, by name, each of shape (n,).

    Parameters
    ----------
    weight : numpy.ndarray, shape (C, p)
        Head fitted to `labels`, which may be wrong.
    out_of_fold : numpy.ndarray, shape (n, C), float64
        Logits of each example by a head that has not seen it.
    tracin : numpy.ndarray, shape (n,)
        Output of `tracin.tracin`.
    activations : numpy.ndarray, shape (n, p), float32
        With the constant 1 as last column.
    labels : numpy.ndarray, shape (n,), int64
        As given.
    gradient : {"loss", "margin", "logit"}
        What φ is for self-influence.
    ridge : float
        λ.
    penalty : float
        Factor of ½‖W‖² that the head was fitted with.
    rng : numpy.random.Generator
        Of the random score, for comparison.
    options
        block_size and device.
    """
    z = logits(weight, activations)
    index = np.arange(len(labels))
    g = Gradients(residuals(z, labels, gradient), activations, index)
    if sums_to_zero(gradient):
        g = reduce_to_sum_zero(g)
    without = leave_one_out(z, activations, labels, penalty, **options)
    return {
        "self_influence": self_influence(g, ridge, **options),
        "hessian_influence": without.influence,
        "tracin": tracin,
        **head_scores(z, labels, activations),
        "leave_one_out_loss": cross_entropy(without.logits, labels),
        "out_of_fold_loss": cross_entropy(out_of_fold, labels),
        "confident_learning": confident_learning(out_of_fold, labels),
        "leverage": label_free_leverage(activations, activations, ridge),
        "random": rng.random(len(labels)),
    }
