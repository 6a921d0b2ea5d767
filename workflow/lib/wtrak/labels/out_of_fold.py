"""Logits of examples from heads that were not trained on them, by cross-validation."""

import numpy as np

from wtrak.errors import WtrakError
from wtrak.geometry.head import logits, train_head


def draw_folds(n, folds, rng, groups=None, labels=None, names=None):
    """Fold of each of n examples, shape (n,), from 0; none is empty.

    With labels every class is spread evenly over the folds: the numbers of its groups in two folds
    differ by one at most. scikit-learn's ``StratifiedGroupKFold`` promises neither this nor folds
    that are not empty.

    Parameters
    ----------
    n : int
    folds : int
        At most n. With fewer groups than folds, there are as many folds as groups.
    rng : numpy.random.Generator
    groups : numpy.ndarray, shape (n,), integers from 0 without gaps, optional
        Examples of one group stay in one fold.
    labels : numpy.ndarray, shape (n,), integers, optional
        A group with several labels counts for that of its first example.
    names : sequence of str, optional
        Names of the classes for the error; by default their numbers.

    Raises
    ------
    WtrakError
        If all examples are of one group; or, with labels, if those outside a fold are all of one
        class.
    """
    groups = np.arange(n) if groups is None else groups
    count = groups.max() + 1
    if count < 2:
        raise WtrakError(f"all {n:,} examples are of one group: no fold can be held out")
    if labels is None:
        return rng.permutation(np.arange(count) % folds)[groups]
    _, first = np.unique(groups, return_index=True)
    order = rng.permutation(count)
    order = order[np.argsort(labels[first][order], kind="stable")]
    part_of_group = np.empty(count, dtype=np.int64)
    part_of_group[order] = np.arange(count) % folds
    part = part_of_group[groups]
    _check_folds(part, groups, labels, names)
    return part


def _check_folds(part, groups, labels, names):
    """Raise an error that names the rare classes if outside a fold there is only one class."""
    for fold in range(part.max() + 1):
        outside = np.unique(labels[part != fold])
        if len(outside) > 1:
            continue
        rare = [
            f"class {label if names is None else names[label]} has "
            f"{len(np.unique(groups[labels == label]))}"
            for label in np.setdiff1d(labels, outside)
        ]
        raise WtrakError(
            "an example is judged by others of its class, and copies count as one example; two "
            f"classes need 2 or more, but {', '.join(rare) or 'there is one class'}"
        )


def held_out_logits(part, n_classes, fit):
    """Logits of each example by a head fitted without its fold, shape (n, C), float64.

    Parameters
    ----------
    part : numpy.ndarray, shape (n,)
        Output of `draw_folds`.
    n_classes : int
        C.
    fit : callable
        Called once a fold, with masks of the examples outside and inside it: fits a head to the
        first and returns its logits of the second.
    """
    out = np.empty((len(part), n_classes))
    for k in range(part.max() + 1):
        held = part == k
        out[held] = fit(~held, held)
    return out


def out_of_fold_logits(
    weight, activations, labels, folds, recipe, device, rng, groups=None, names=None
):
    """Logits of each example by a head that has not seen it, shape (n, C), float32.

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
        Draws the parts.
    groups : numpy.ndarray, shape (n,), integers from 0 without gaps, optional
        Examples of one group are held out together. Copies (see `duplicates`) must be, because a
        copy in the training part would tell the head the label.
    names : sequence of str, optional
        Names of the classes for errors.

    Raises
    ------
    WtrakError
        If the labels outside a fold are all of one class, or all examples are of one group.
    """

    def fit(seen, held):
        own, _, _ = train_head(
            activations[seen], labels[seen], len(weight), recipe, device, initial=weight
        )
        return logits(own, activations[held])

    part = draw_folds(len(labels), folds, rng, groups, labels, names)
    return held_out_logits(part, len(weight), fit).astype(np.float32)
