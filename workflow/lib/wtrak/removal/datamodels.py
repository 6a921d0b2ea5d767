"""Linear datamodeling scores: how well sums of attributions predict networks of random subsets."""

import numpy as np
from scipy.stats import rankdata

from wtrak.reporting import panels

# Title of each attribution in figures and tables.
METHODS = {
    "trak": "TRAK, margin",
    "trak_last": "TRAK, last layer",
    "natural": "the paper's τ, loss",
    "natural_last": "the paper's τ, last layer",
    "influence": "influence function, last layer",
    "tracin": "TracIn over epochs",
    "gradient_dot": "gradient dot product",
    "random": "random",
}
# Name of the score that a perfect prediction of the mean over training runs would get.
CEILING = "ceiling"


def random_subsets(n, count, share, seed):
    """Members of random subsets of round(share·n) examples each, bool, shape (count, n)."""
    rng = np.random.default_rng(seed)
    members = np.zeros((count, n), dtype=bool)
    for row in members:
        row[rng.choice(n, size=round(share * n), replace=False)] = True
    return members


def rank_correlations(predicted, actual):
    """Spearman correlation over subsets of each test point, shape (m,); NaN for constants.

    Parameters
    ----------
    predicted, actual : numpy.ndarray, shape (m, S)
        For m test points and S subsets.
    """
    first, second = (
        ranks - ranks.mean(axis=1, keepdims=True)
        for ranks in (rankdata(values, axis=1) for values in (predicted, actual))
    )
    norms = np.sqrt((first**2).sum(axis=1) * (second**2).sum(axis=1))
    with np.errstate(invalid="ignore"):
        return np.where(norms > 0, (first * second).sum(axis=1) / norms, np.nan)


def ceilings(runs):
    """Rank correlation of a perfect prediction with the mean over runs, shape (m,).

    Networks of the same subset differ by their seeds, so no attribution reaches 1. The mean
    correlation of single runs gives, by the Spearman-Brown formula, the correlation between two
    independent means over R runs. Its square root is the correlation of one such mean with the
    expectation over runs.

    Parameters
    ----------
    runs : numpy.ndarray, shape (R, m, S)
        Outputs of R networks for each subset, with R at least 2.
    """
    count = len(runs)
    single = np.mean(
        [rank_correlations(runs[a], runs[b]) for a in range(count) for b in range(a)], axis=0
    )
    single = np.maximum(single, 0)
    return np.sqrt(count * single / (1 + (count - 1) * single))


def without_each_subset(statistic, *arrays):
    """A statistic of each test point without each of the S subsets, shape (S, m).

    Parameters
    ----------
    statistic : callable
        Maps arrays, subsets last, to shape (m,).
    arrays : numpy.ndarray, shape (..., m, S)
    """
    count = arrays[0].shape[-1]
    return np.array(
        [statistic(*(np.delete(array, s, axis=-1) for array in arrays)) for s in range(count)]
    )


def pseudo_values(whole, without):
    """Jackknife pseudo-values of each test point by subset, S·whole − (S − 1)·without.

    Their mean over both is near the mean of `whole`, and varies over subsets as it does.

    Parameters
    ----------
    whole : numpy.ndarray, shape (m,)
        A statistic of each test point over all S subsets.
    without : numpy.ndarray, shape (S, m)
        The same without each subset, from `without_each_subset`.

    Returns
    -------
    numpy.ndarray, shape (S, k)
        Of the k test points at which every value is a number.
    """
    count = len(without)
    defined = np.isfinite(whole) & np.isfinite(without).all(axis=0)
    return (count * whole - (count - 1) * without)[:, defined]


def mean_over_both(whole, without):
    """Mean correlation over test points, and its 95 % interval over test points and subsets.

    All test points share the subsets, so that an interval over test points alone is too narrow.
    The variance is that of the mean of `pseudo_values` over both. The ends lie in [−1, 1].

    Returns
    -------
    mean, low, high : float
    """
    mean = float(np.nanmean(whole))
    half = panels.mean_over_both(pseudo_values(whole, without))[1]
    return mean, max(mean - half, -1.0), min(mean + half, 1.0)


def share_over_both(part, whole):
    """Ratio of two means over test points, and its 95 % interval over test points and subsets.

    The variance is that of the mean of (p − ratio·w)/mean(w), with p and w the `pseudo_values` of
    both, at the test points where both are defined.

    Parameters
    ----------
    part, whole : tuple
        The arguments of `mean_over_both` of each.

    Returns
    -------
    ratio, low, high : float
    """
    below = float(np.nanmean(whole[0]))
    ratio = float(np.nanmean(part[0])) / below
    difference = part[0] - ratio * whole[0], part[1] - ratio * whole[1]
    half = panels.mean_over_both(pseudo_values(*difference))[1] / below
    return ratio, ratio - half, ratio + half
