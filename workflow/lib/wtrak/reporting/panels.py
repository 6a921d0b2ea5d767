"""Shares and means over cases that share test points or training points.

Cases that share a point are not independent: an interval that counts them one by one is too narrow.
"""

import numpy as np
import pandas as pd
from scipy.stats import norm
from scipy.stats import t as student

from wtrak.reporting.intervals import share_with_interval


def share_from_error(share, error, units):
    """95 % interval of a share with a known standard error; within [0, 1].

    It is Wilson's interval for as many independent cases as would give that error,
    share·(1 − share)/error². A share of 0 or 1 has an error of 0, which says nothing. It counts
    every independent unit, as a test point with all its pairs, as one case.

    Parameters
    ----------
    share, error : float
    units : int
        Number of independent units; at least 1.

    Returns
    -------
    low, high : float
        NaN if the error is.
    """
    if np.isnan(error):
        return np.nan, np.nan
    share = min(max(share, 0.0), 1.0)
    spread = share * (1 - share)
    cases = spread / error**2 if spread > 0 and error > 0 else units
    return share_with_interval(share * cases, cases)[1:]


def error_over_panels(hits, tests, first, second, weights=None):
    """Standard error of a weighted mean over cases: one test point and two training points each.

    Cases that share a test point or a training point may depend on each other; other cases may not.
    With u the weighted deviations from the mean, the variance is the sum of u_c·u_d over all pairs
    of cases that may depend, c with itself included (Cameron, Gelbach and Miller 2011; for pairs of
    points Aronow, Samii and Assenova 2015). The part of the test points has the factor m/(m − 1).

    Parameters
    ----------
    hits : array, shape (k,)
        Numbers or truth values.
    tests, first, second : array, shape (k,)
        Test point, and the two training points, which differ.
    weights : array, shape (k,), optional
        Sum to 1; by default all are equal.

    Returns
    -------
    float
        NaN for a single test point. Never below the error over test points alone.
    """
    hits = np.asarray(hits, dtype=np.float64)
    weights = np.full(len(hits), 1 / max(len(hits), 1)) if weights is None else weights
    u = weights * (hits - np.sum(weights * hits))
    test, _ = pd.factorize(np.asarray(tests))
    m = test.max() + 1 if len(test) else 0
    if m < 2:
        return np.nan
    points, _ = pd.factorize(np.concatenate([first, second]))
    i, j = np.sort(points.reshape(2, -1), axis=0)
    n = points.max() + 1

    def squares(keys, values):
        """Sum of squares of the sums of each group."""
        _, groups = np.unique(keys, return_inverse=True)
        return float((np.bincount(groups, weights=values) ** 2).sum())

    twice = np.concatenate([u, u])
    # Cases with both points in common are in two of the groups by point.
    by_point = squares(np.concatenate([i, j]), twice) - squares(i * n + j, u)
    ends = np.concatenate([test * n + i, test * n + j])
    by_both = squares(ends, twice) - squares((test * n + i) * n + j, u)
    by_test = squares(test, u) * m / (m - 1)
    return float(np.sqrt(by_test + max(by_point - by_both, 0.0)))


def share_over_panels(hits, tests, first, second):
    """Share of cases that are hits, with its 95 % interval over test and training points.

    Parameters
    ----------
    hits, tests, first, second
        As in `error_over_panels`.

    Returns
    -------
    share, low, high : float
        NaN without a case; NaN ends for a single test point.
    """
    if len(hits) == 0:
        return np.nan, np.nan, np.nan
    share = float(np.mean(hits))
    error = error_over_panels(hits, tests, first, second)
    return share, *share_from_error(share, error, len(np.unique(tests)))


def mean_over_both(values):
    """Mean over fits and test points, and half of its 95 % interval over both.

    All fits are judged on the same test points. With mean squares S of the fits, P of the points
    and E of what is left, the variance of the mean over k fits and m points is (S + P − E)/(km).
    S gets Student's quantile for k − 1 degrees of freedom, P − E that of the normal distribution.

    Parameters
    ----------
    values : numpy.ndarray, shape (k, m)

    Returns
    -------
    mean, half : float
        Half is NaN for one fit.
    """
    values = np.asarray(values, dtype=np.float64)
    (k, m), mean = values.shape, float(values.mean())
    if k < 2:
        return mean, np.nan
    of_fits, of_points = values.mean(axis=1), values.mean(axis=0)
    variance = student.ppf(0.975, k - 1) ** 2 * np.var(of_fits, ddof=1) / k
    if m > 1:
        left = values - of_fits[:, None] - of_points + mean
        noise = (left**2).sum() / ((k - 1) * (m - 1))
        excess = max(np.var(of_points, ddof=1) - noise / k, 0.0)
        variance += norm.ppf(0.975) ** 2 * excess / m
    return mean, float(np.sqrt(variance))
