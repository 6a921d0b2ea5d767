"""Estimates of how many labels are wrong, by confident learning from out-of-fold logits.

Confident learning (Northcutt, Jiang and Chuang, "Confident learning: estimating uncertainty in
dataset labels", 2021) counts examples whose class a head is confident of, by given label and class.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_softmax, softmax
from scipy.stats import norm

# A class is confident if its probability is at most this much below its threshold. As in cleanlab.
_SLACK = 1e-6
# Sharpest head that `error_probabilities` may assume, as a factor of its logits.
_SHARPEST = 64.0


@dataclass(frozen=True)
class ErrorEstimate:
    """How many labels are wrong, with 95 % intervals.

    Attributes
    ----------
    joint : numpy.ndarray, shape (C, C), float64
        Estimated number of examples by given label (row) and true label (column). Each row sums to
        the number of examples with that label.
    errors, low, high : float
        Estimated number of wrong labels, and the ends of its interval.
    class_errors, class_low, class_high : numpy.ndarray, shape (C,)
        The same for the examples of each given label.
    """

    joint: np.ndarray
    errors: float
    low: float
    high: float
    class_errors: np.ndarray
    class_low: np.ndarray
    class_high: np.ndarray


def confident_joint(probabilities, labels, weights=None):
    """Estimated number of examples by given and true label, shape (C, C), float64.

    The threshold of a class is the mean probability of the class among the examples that have its
    label. An example counts for a class whose probability reaches the threshold, and for the most
    probable class if several do. Rows are scaled to the number of examples with that label.

    Parameters
    ----------
    probabilities : numpy.ndarray, shape (n, C)
        Out-of-fold probabilities.
    labels : numpy.ndarray, shape (n,), integers from 0 to C - 1
        Given labels.
    weights : numpy.ndarray, shape (n,), optional
        How often each example counts; once by default. Rows are scaled to unweighted numbers.
    """
    n, c = probabilities.shape
    weights = np.ones(n) if weights is None else weights
    own = probabilities[np.arange(n), labels]
    total = np.bincount(labels, weights, c)
    # No probability reaches the threshold of a class without examples.
    thresholds = np.full(c, 2.0)
    np.divide(np.bincount(labels, weights * own, c), total, out=thresholds, where=total > 0)
    confident = probabilities >= thresholds - _SLACK
    reached = confident.sum(axis=1)
    true = np.where(reached > 1, probabilities.argmax(axis=1), confident.argmax(axis=1))
    counted = weights * (reached > 0)
    joint = np.bincount(labels * c + true, counted, c * c).reshape(c, c)
    np.fill_diagonal(joint, joint.diagonal().clip(min=1))
    return joint * (np.bincount(labels, minlength=c) / joint.sum(axis=1))[:, None]


def estimate_errors(out_of_fold, labels, resamples, rng):
    """Estimate how many labels are wrong, in all and by given label.

    Intervals are percentiles over bootstrap samples of the examples. They do not say how far the
    heads are wrong themselves. Time is O(resamples·n·C).

    Parameters
    ----------
    out_of_fold : numpy.ndarray, shape (n, C)
        Out-of-fold logits.
    labels : numpy.ndarray, shape (n,), integers from 0 to C - 1
        Given labels.
    resamples : int
        Number of bootstrap samples.
    rng : numpy.random.Generator

    Returns
    -------
    ErrorEstimate
    """
    probabilities, n = softmax(out_of_fold, axis=1), len(labels)
    joint = confident_joint(probabilities, labels)
    drawn = np.stack(
        [
            _errors_of(
                confident_joint(
                    probabilities, labels, np.bincount(rng.integers(max(n, 1), size=n), minlength=n)
                )
            )
            for _ in range(resamples)
        ]
    )
    by_class = _errors_of(joint)
    class_low, class_high = _interval(by_class, drawn)
    low, high = _interval(by_class.sum(), drawn.sum(axis=1))
    return ErrorEstimate(
        joint, float(by_class.sum()), float(low), float(high), by_class, class_low, class_high
    )


def _interval(value, drawn):
    """Ends of a percentile interval, widened to the value where it lies outside."""
    low, high = np.percentile(drawn, [2.5, 97.5], axis=0)
    return np.minimum(low, value), np.maximum(high, value)


def _errors_of(joint):
    return joint.sum(axis=1) - joint.diagonal()


def error_probabilities(out_of_fold, labels, joint, errors):
    """Probability that each label is wrong, shape (n,), float64.

    By Bayes' rule from the head's probabilities of the classes and the `joint`'s probabilities of a
    given label. Heads with a penalty are less sure than they should be. So the logits are first
    multiplied by the number, at least 1, with which the probabilities sum to `errors`; if 1 is
    already too much, the probabilities themselves are scaled.

    Parameters
    ----------
    out_of_fold : numpy.ndarray, shape (n, C)
        Out-of-fold logits.
    labels : numpy.ndarray, shape (n,), integers from 0 to C - 1
        Given labels.
    joint : numpy.ndarray, shape (C, C)
        Output of `confident_joint`.
    errors : float
        Estimated number of wrong labels.
    """
    of_class = joint.sum(axis=0)
    # Classes without examples keep their label.
    given_for_true = np.where(of_class > 0, joint, np.eye(len(joint))) / np.where(
        of_class > 0, of_class, 1.0
    )
    with np.errstate(divide="ignore"):
        prior = np.log(given_for_true)[labels]
    rows = np.arange(len(labels))

    def wrong(sharpness):
        return -np.expm1(log_softmax(sharpness * out_of_fold + prior, axis=1)[rows, labels])

    def excess(sharpness):
        return wrong(sharpness).sum() - errors

    at_one = wrong(1.0)
    if at_one.sum() >= errors:
        return at_one * (errors / at_one.sum() if at_one.sum() else 1.0)
    if excess(_SHARPEST) <= 0:
        return wrong(_SHARPEST)
    return wrong(brentq(excess, 1.0, _SHARPEST, xtol=1e-4))


def precision_at(order, tops, out_of_fold, labels, estimate):
    """Estimated share of wrong labels among the first of a list, with 95 % intervals.

    The interval covers chance within the list, and the interval of the number of errors.

    Parameters
    ----------
    order : numpy.ndarray, shape (n,)
        Rows of the examples in the order of the list.
    tops : list of int
        Numbers of examples from its top, each from 1 to n.
    out_of_fold, labels
        As in `estimate_errors`.
    estimate : ErrorEstimate

    Returns
    -------
    list of (float, float, float)
        Share and ends of its interval, for each of the `tops`.
    """
    numbers = (estimate.low, estimate.errors, estimate.high)
    probabilities = [
        error_probabilities(out_of_fold, labels, estimate.joint, number)[order]
        for number in numbers
    ]
    z, out = norm.ppf(0.975), []
    for top in tops:
        shares, halves = zip(
            *(
                (part[:top].mean(), z * np.sqrt((part[:top] * (1 - part[:top])).sum()) / top)
                for part in probabilities
            ),
            strict=True,
        )
        low = min(np.subtract(shares, halves))
        high = max(np.add(shares, halves))
        out.append((float(shares[1]), float(max(low, 0.0)), float(min(high, 1.0))))
    return out
