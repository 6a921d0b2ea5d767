"""Logits of examples from heads that were not trained on them, by cross-validation."""

import numpy as np

from wtrak.geometry.head import logits, train_head


def out_of_fold_logits(weight, activations, labels, folds, recipe, device, rng):
    """Logits of each example from a head that was not trained on it, shape (n, C), float32.

    The fit for each fold starts from the head on all labels, to save time. It ends at its own
    optimum, so the start does not leak the held-out labels.

    Parameters
    ----------
    weight : numpy.ndarray, shape (C, p)
        Head fitted to all labels.
    activations : numpy.ndarray, shape (n, p), float32
        With the constant 1 as last column.
    labels : numpy.ndarray, shape (n,), integers from 0 to C - 1
    folds : int
        Number of parts, at most n. Each is held out once.
    recipe : dict
        As in `train_head`.
    device : torch.device
    rng : numpy.random.Generator
        Assigns examples to parts.

    Raises
    ------
    WtrakError
        If the labels outside a fold are all of one class.
    """
    part = rng.permutation(np.arange(len(labels)) % folds)
    out = np.empty((len(labels), len(weight)), np.float32)
    for k in range(part.max() + 1):
        held = part == k
        refitted, _, _ = train_head(
            activations[~held], labels[~held], len(weight), recipe, device, initial=weight
        )
        out[held] = logits(refitted, activations[held])
    return out
