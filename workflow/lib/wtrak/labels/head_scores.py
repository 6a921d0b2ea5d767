"""Losses, margins and gradients of a head's own training examples."""

import numpy as np

from wtrak.geometry.gradients import Gradients, reduce_to_sum_zero, residuals, sums_to_zero


def gradients_at(z, labels, activations, gradient):
    """Gradients φ of examples, in the sum-zero basis if the residuals e sum to zero.

    Parameters
    ----------
    z : numpy.ndarray, shape (n, C), float64
        Logits.
    labels : numpy.ndarray, shape (n,), integers
    activations : numpy.ndarray, shape (n, p), float32
        With the constant 1 as last column.
    gradient : {"loss", "margin", "logit"}
        As in `gradients.residuals`.

    Returns
    -------
    Gradients
        n examples, numbered from 0, in (C - 1)·p or C·p dimensions.
    """
    g = Gradients(residuals(z, labels, gradient), activations, np.arange(len(labels)))
    return reduce_to_sum_zero(g) if sums_to_zero(gradient) else g


def cross_entropy(z, labels):
    """Loss of each example at its label, shape (n,), from logits (n, C)."""
    return np.logaddexp.reduce(z, axis=1) - z[np.arange(len(z)), labels]


def head_scores(z, labels, activations):
    """Scores that need only logits, labels and activations.

    Parameters
    ----------
    z : numpy.ndarray, shape (n, C), float64
    labels : numpy.ndarray, shape (n,), integers
    activations : numpy.ndarray, shape (n, p)

    Returns
    -------
    dict of str to numpy.ndarray, shape (n,)
        ``loss``, the cross-entropy; ``el2n``, ‖e‖; ``gradient_norm``, ‖e‖‖h‖; ``margin``, the
        largest logit of another class minus that of the label.
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
