"""Scores that detect wrong training labels. Higher scores are more suspicious."""

import numpy as np
import torch
from scipy.special import softmax

from wtrak.geometry.covariance import add_ridge, factorise, second_moment
from wtrak.geometry.head import logits
from wtrak.geometry.leave_one_out import leave_one_out
from wtrak.geometry.ood import label_free_leverage
from wtrak.geometry.scores import explicit_block, whiten
from wtrak.labels.head_scores import cross_entropy, gradients_at, head_scores


def self_influence(gradients, ridge, *, block_size, device):
    """SI = φᵀQ⁻¹φ of all n examples (definition 5.2), shape (n,), float64.

    With fewer examples than dimensions, the n×n Gram matrix K replaces Q:
    SI_i = n·(1 − nλ·[(K + nλI)⁻¹]_ii). So memory is O(min(n, d)²).
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


def cleanlab_issues(out_of_fold, labels):
    """Whether cleanlab, with its defaults, would prune each example, shape (n,), bool.

    Parameters
    ----------
    out_of_fold : numpy.ndarray, shape (n, C)
        Out-of-fold logits.
    labels : numpy.ndarray, shape (n,), integers
    """
    from cleanlab.filter import find_label_issues

    return find_label_issues(labels, softmax(out_of_fold, axis=1), n_jobs=1)


def confident_learning(out_of_fold, labels):
    """Cleanlab's ranking of label errors, shape (n,), from out-of-fold logits.

    Examples that cleanlab would prune score above all others. Within both groups its quality score
    decides. All settings are cleanlab's defaults.
    """
    from cleanlab.rank import get_label_quality_scores

    quality = get_label_quality_scores(labels, softmax(out_of_fold, axis=1))
    return cleanlab_issues(out_of_fold, labels) + (1.0 - quality)


def all_detectors(
    weight,
    out_of_fold,
    tracin,
    activations,
    labels,
    *,
    gradient,
    ridge,
    penalty,
    rng,
    groups=None,
    **options,
):
    """Every score of `catalogue.DETECTORS` of one noisy training set, each of shape (n,).

    Parameters
    ----------
    weight : numpy.ndarray, shape (C, p)
        Head fitted to `labels`.
    out_of_fold : numpy.ndarray, shape (n, C), float64
        Logits of each example from a head that was not trained on it.
    tracin : numpy.ndarray, shape (n,)
        Output of `tracin.tracin`.
    activations : numpy.ndarray, shape (n, p), float32
        With the constant 1 as last column.
    labels : numpy.ndarray, shape (n,), int64
        Given labels, some of which may be wrong.
    gradient : {"loss", "margin", "logit"}
        Definition of φ for self-influence.
    ridge : float
        λ.
    penalty : float
        Factor of ½‖W‖² in the head's objective.
    rng : numpy.random.Generator
        Draws the random score.
    groups : numpy.ndarray, shape (n,), integers, optional
        Examples of one group are left out together by the leave-one-out loss.
    options
        block_size and device.
    """
    z = logits(weight, activations)
    g = gradients_at(z, labels, activations, gradient)
    without = leave_one_out(z, activations, labels, penalty, groups=groups, **options)
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
