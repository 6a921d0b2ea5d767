"""TracIn: self-influence summed over the epochs of gradient descent, without a covariance."""

import numpy as np

from wtrak.geometry.gradients import residuals
from wtrak.geometry.head import logits, train_head


def epoch_influence(z, labels, activations, learning_rate):
    """Self-influence η‖e‖²‖h‖² of one epoch, shape (n,), from logits (n, C)."""
    e = residuals(z, labels, "loss")
    h = activations.astype(np.float64)
    return learning_rate * np.einsum("nc,nc->n", e, e) * np.einsum("np,np->n", h, h)


def tracin(activations, labels, n_classes, recipe, device):
    """TracIn's self-influence Σ η‖e‖²‖h‖² of each example, summed over the epochs of a new head.

    Parameters
    ----------
    activations : numpy.ndarray, shape (n, p), float32
        With the constant 1 as last column.
    labels : numpy.ndarray, shape (n,), integers from 0 to C - 1
    recipe : dict
        A recipe of `train_head` with adam or sgd. Its learning_rate is η.

    Returns
    -------
    numpy.ndarray, shape (n,), float64
    """
    total = np.zeros(len(labels))

    def add(epoch, weight):
        if epoch:
            z = logits(weight, activations)
            total[:] += epoch_influence(z, labels, activations, recipe["learning_rate"])

    train_head(activations, labels, n_classes, recipe, device, visit=add)
    return total
