"""Means over seeds, with confidence intervals."""

import numpy as np
from scipy.stats import t as student


def mean_with_interval(values, confidence=0.95):
    """Mean over seeds and half the width of its Student interval; NaN for one seed."""
    values = np.asarray(values, dtype=np.float64)
    n = len(values)
    if n < 2:
        return float(values.mean()), np.nan
    quantile = student.ppf((1 + confidence) / 2, n - 1)
    return float(values.mean()), float(quantile * values.std(ddof=1) / np.sqrt(n))
