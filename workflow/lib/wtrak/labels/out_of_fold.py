"""What heads say of examples that they have not seen, by cross-validation."""

import numpy as np

from wtrak.geometry.head import logits, train_head


def out_of_fold_logits(weight, activations, labels, folds, recipe, device, rng):
    """Logits of each example by a head that has not seen it, shape (n, C), float32.

    Every fold's fit starts from the head on all labels, and ends at its own optimum: where the fit
    starts does not tell it what was left out.

    Parameters
    ----------
    weight : numpy.ndarray, shape (C, p)
        Head fitted to all labels.
    activations : numpy.ndarray, shape (n, p), float32
        With the constant 1 as last column.
    labels : numpy.ndarray, shape (n,), integers from 0 to C - 1
    folds : int
        Parts that are held out in turn, at most n.
    recipe : dict
        As in `train_head`.
    device : torch.device
    rng : numpy.random.Generator
        Draws the parts.

    Raises
    ------
    WtrakError
        If the labels outside a fold are all of one class.
    """
    part = rng.permutation(np.arange(len(labels)) % folds)
    out = np.empty((len(labels), len(weight)), np.float32)
    for k in range(part.max() + 1):
        held = part == k
        own, _, _ = train_head(
            activations[~held], labels[~held], len(weight), recipe, device, initial=weight
        )
        out[held] = logits(own, activations[held])
    return out
