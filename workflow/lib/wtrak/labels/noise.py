"""Wrong labels, made or found, and how well a score ranks them (section 6.2)."""

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
    """Labels of which exactly round(rate·n) are wrong.

    Parameters
    ----------
    labels : numpy.ndarray, shape (n,), integers from 0 to C - 1
    kind : {"uniform", "pair"}
        A flipped label becomes any other class, each as likely; or always the next class.
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
        ``auroc`` with mid-ranks for ties, ``average_precision``, ``separation`` (mean over the
        wrong by mean over the right; NaN for scores that may be negative), and ``recall_5``,
        ``recall_10``, ``recall_20``: share of the wrong among the top 5, 10 and 20 %, expected over
        every order of tied scores.

    Raises
    ------
    WtrakError
        If all labels are right, or all wrong, or a score is not finite.
    """
    scores = np.asarray(scores, dtype=np.float64)
    if wrong.all() or not wrong.any():
        raise WtrakError("labels are all right or all wrong; there is nothing to tell apart")
    if not np.isfinite(scores).all():
        raise WtrakError("a score is not finite; nothing can be ranked by it")
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
    """Share of the wrong labels found by reviewing the highest scores, ties in any order.

    Of the points tied at the boundary, a fraction is reviewed, and the same fraction of the wrong
    ones among them counts.
    """
    count = round(share * len(scores))
    if not count:
        return 0.0
    boundary = np.sort(scores)[-count]
    above, tied = scores > boundary, scores == boundary
    part = (count - above.sum()) / tied.sum()
    return float((wrong[above].sum() + part * wrong[tied].sum()) / wrong.sum())


def curves(scores, wrong, points=201):
    """ROC and precision–recall curves on an even grid, so that seeds can be averaged.

    Parameters
    ----------
    points : int
        Of the grid; by default one each half percent.

    Returns
    -------
    dict of str to (x, y)
        ``roc``: true positive rate at false positive rates; ``precision``: precision at recalls.
    """
    grid = np.linspace(0, 1, points)
    false, true, _ = roc_curve(wrong, scores)
    precision, recall, _ = precision_recall_curve(wrong, scores)
    # A step function: the precision reached at that recall or above.
    best = np.maximum.accumulate(precision)[::-1]
    places = np.searchsorted(recall[::-1], grid)
    return {
        "roc": (grid, np.interp(grid, false, true)),
        "precision": (grid, best[places]),
    }
