"""Means over seeds with Student intervals, and shares of cases with Wilson intervals."""

import numpy as np
import pytest
from scipy.stats import binomtest, norm

from wtrak.errors import WtrakError
from wtrak.reporting.intervals import mean_with_interval, share_with_interval


def test_interval_is_students():
    """Five seeds would be given the interval of five thousand."""
    mean, half = mean_with_interval([1.0, 2.0, 3.0, 4.0, 5.0])
    assert mean == 3.0
    assert half == pytest.approx(2.776445 * np.sqrt(2.5) / np.sqrt(5), rel=1e-6)
    assert np.isnan(mean_with_interval([1.0])[1])
    assert mean_with_interval([1.0, 3.0])[1] == pytest.approx(12.706205 * np.sqrt(2 / 2), rel=1e-6)


@pytest.mark.parametrize("confidence", [0.8, 0.95])
@pytest.mark.parametrize(("hits", "n"), [(0, 1), (0, 50), (1, 3), (13, 50), (49, 50), (50, 50)])
def test_interval_of_a_share_is_wilsons(hits, n, confidence):
    """A share of cases would get an interval of another kind or confidence."""
    share, low, high = share_with_interval(hits, n, confidence)
    interval = binomtest(hits, n).proportion_ci(confidence, method="wilson")
    assert share == hits / n
    assert low == pytest.approx(interval.low, rel=1e-9, abs=1e-12)
    assert high == pytest.approx(interval.high, rel=1e-9)
    z = norm.ppf((1 + confidence) / 2)
    for end in {low, high} - {0.0, 1.0}:
        assert abs(share - end) == pytest.approx(z * np.sqrt(end * (1 - end) / n), rel=1e-9)


def test_interval_of_a_share_stays_within_0_and_1():
    """A share above 1 or below 0 would be shown, or a rule on 0 or 1 fail by rounding."""
    for n in range(1, 200):
        none, every = share_with_interval(0, n), share_with_interval(n, n)
        assert none[:2] == (0.0, 0.0) and 0 < none[2] < 1
        assert every[::2] == (1.0, 1.0) and 0 < every[1] < 1
        # Either is the other seen from the other side.
        assert none[2] == pytest.approx(1 - every[1], rel=1e-12)


def test_share_of_no_cases_is_missing():
    """No case at all would pass for a share of 0."""
    assert np.isnan(share_with_interval(0, 0)).all()


@pytest.mark.parametrize(("hits", "n"), [(-1, 5), (6, 5), (1, 0)])
def test_impossible_counts_are_refused(hits, n):
    """A share outside [0, 1] would be written."""
    with pytest.raises(WtrakError, match=f"hits is {hits}, expected 0 to n, which is {n}"):
        share_with_interval(hits, n)
