"""Make labels wrong, and measure how well a score ranks wrong labels first (section 6.2)."""

import numpy as np
from sklearn.metrics import (
    average_precision_score,
    precision_recall_curve,
    roc_auc_score,
    roc_curve,
)

from wtrak.errors import WtrakError

KINDS = ("uniform", "pair")
REVIEWED = (0.05, 0.10, 0.20)


def flip_labels(labels, kind, rate, n_classes, rng):
    """A copy of the labels with exactly round(rate·n) of them made wrong.

    Parameters
    ----------
    labels : numpy.ndarray, shape (n,), integers from 0 to C - 1
    kind : {"uniform", "pair"}
        ``uniform``: a wrong label is any other class with equal probability. ``pair``: it is the
        next class.
    rate : float
        Share of labels to flip.
    n_classes : int
        C.
    rng : numpy.random.Generator

    Returns
    -------
    numpy.ndarray, shape (n,), same type
    """
    n = len(labels)
    rows = rng.choice(n, size=round(rate * n), replace=False)
    if kind == "uniform":
        shift = rng.integers(1, n_classes, size=len(rows))
    elif kind == "pair":
        shift = 1
    else:
        raise WtrakError(f"noise is {kind!r}, expected one of {', '.join(KINDS)}")
    given = labels.copy()
    given[rows] = (labels[rows].astype(np.int64) + shift) % n_classes
    return given


def detection(scores, wrong):
    """How well a score ranks wrong labels above right ones.

    Parameters
    ----------
    scores : numpy.ndarray, shape (n,)
        Higher means more suspicious.
    wrong : numpy.ndarray, shape (n,), bool

    Returns
    -------
    dict
        ``auroc``, with mid-ranks for ties. ``average_precision``. ``separation``: mean score of
        wrong labels over mean score of right ones; NaN if a score is negative. ``recall_5``,
        ``recall_10`` and ``recall_20``: share of the wrong labels among the top 5, 10 and 20 %,
        averaged over all orders of tied scores.

    Raises
    ------
    WtrakError
        If all labels are right, or all wrong, or a score is not finite.
    """
    scores = np.asarray(scores, dtype=np.float64)
    if wrong.all() or not wrong.any():
        raise WtrakError("labels are all right or all wrong; a detector cannot be evaluated")
    if not np.isfinite(scores).all():
        raise WtrakError("a score is not finite, so it cannot rank labels")
    ratio = scores[wrong].mean() / scores[~wrong].mean() if scores.min() >= 0 else np.nan
    out = {
        "auroc": float(roc_auc_score(wrong, scores)),
        "average_precision": float(average_precision_score(wrong, scores)),
        "separation": float(ratio),
    }
    for share in REVIEWED:
        out[f"recall_{100 * share:.0f}"] = recall_at(scores, wrong, share)
    return out


def recall_at(scores, wrong, share):
    """Share of the wrong labels among the highest scores.

    If scores are tied at the boundary, only a fraction of the tied points is included. The wrong
    labels among them count with that fraction.
    """
    count = round(share * len(scores))
    if not count:
        return 0.0
    boundary = np.sort(scores)[-count]
    above, tied = scores > boundary, scores == boundary
    part = (count - above.sum()) / tied.sum()
    return float((wrong[above].sum() + part * wrong[tied].sum()) / wrong.sum())


def curves(scores, wrong, points=201):
    """ROC and precision–recall curves on a regular grid, so that seeds can be averaged.

    Parameters
    ----------
    points : int
        Points of the grid; by default one for each half percent.

    Returns
    -------
    dict of str to (x, y)
        ``roc``: true positive rate at false positive rates; ``precision``: precision at recalls.
    """
    grid = np.linspace(0, 1, points)
    false, true, _ = roc_curve(wrong, scores)
    precision, recall, _ = precision_recall_curve(wrong, scores)
    # The precision curve as a step function: the best precision at this recall or above.
    best = np.maximum.accumulate(precision)[::-1]
    places = np.searchsorted(recall[::-1], grid)
    return {
        "roc": (grid, np.interp(grid, false, true)),
        "precision": (grid, best[places]),
    }
