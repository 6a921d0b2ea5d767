"""Linear datamodeling scores: how well sums of attributions predict networks of random subsets."""

import numpy as np
from scipy.stats import bootstrap, rankdata

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


def mean_over_points(values, seed=0):
    """Mean and its 95 % bootstrap interval over test points, low and high.

    Test points with NaN are left out.
    """
    values = values[np.isfinite(values)]
    found = bootstrap(
        (values,), np.mean, n_resamples=2000, method="percentile", rng=np.random.default_rng(seed)
    ).confidence_interval
    return float(values.mean()), float(found.low), float(found.high)
