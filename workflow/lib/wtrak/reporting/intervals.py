"""Means over seeds and shares of cases, with confidence intervals."""

import numpy as np
from scipy.stats import norm
from scipy.stats import t as student

from wtrak.errors import WtrakError


def mean_with_interval(values, confidence=0.95):
    """Mean over seeds and half the width of its Student interval; NaN for one seed."""
    values = np.asarray(values, dtype=np.float64)
    n = len(values)
    if n < 2:
        return float(values.mean()), np.nan
    quantile = student.ppf((1 + confidence) / 2, n - 1)
    return float(values.mean()), float(quantile * values.std(ddof=1) / np.sqrt(n))


def share_with_interval(hits, n, confidence=0.95):
    """Share of n independent cases that are hits, and its Wilson interval, within [0, 1].

    The ends are the shares s at which hits/n lies z standard errors √(s(1 − s)/n) away. No hit has
    the lower end 0, and only hits have the upper end 1, exactly.

    Parameters
    ----------
    hits : int
        From 0 to n.
    n : int
        Number of cases; for 0 all three are NaN.
    confidence : float
        Between 0 and 1.

    Returns
    -------
    share, low, high : float

    Raises
    ------
    WtrakError
        If `hits` is not between 0 and n.
    """
    if not 0 <= hits <= n:
        raise WtrakError(f"hits is {hits}, expected 0 to n, which is {n}")
    if n == 0:
        return np.nan, np.nan, np.nan
    z = norm.ppf((1 + confidence) / 2)
    middle = (hits + z**2 / 2) / (n + z**2)
    half = z * np.sqrt(hits * (n - hits) / n + z**2 / 4) / (n + z**2)
    # Rounding must not move the ends that are exact.
    low = 0.0 if hits == 0 else float(middle - half)
    high = 1.0 if hits == n else float(middle + half)
    return float(hits / n), low, high
