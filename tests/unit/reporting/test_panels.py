"""Intervals over points that cases share: errors by enumeration, coverage by simulation."""

from itertools import product

import numpy as np
import pytest

from wtrak.reporting.intervals import mean_with_interval, share_with_interval
from wtrak.reporting.panels import (
    error_over_panels,
    mean_over_both,
    share_from_error,
    share_over_panels,
)


def test_a_share_with_the_error_of_independent_cases_has_their_interval():
    """The interval of a share would depend on how its error was found."""
    for hits, n in ((3, 40), (39, 40), (1, 1000)):
        error = np.sqrt(hits / n * (1 - hits / n) / n)
        found = share_from_error(hits / n, error, 5)
        assert found == pytest.approx(share_with_interval(hits, n)[1:], rel=1e-9)
    low, high = share_from_error(0.01, 0.02, 5)
    assert 0 < low < 0.01 < high < 1
    assert np.isnan(share_from_error(0.5, np.nan, 5)).all()


def test_no_case_and_every_case_have_an_upper_and_a_lower_limit():
    """0 ± 0 would be printed, as if nothing could ever break."""
    assert share_from_error(0.0, 0.0, 50) == share_with_interval(0, 50)[1:]
    assert share_from_error(1.0, 0.0, 50) == share_with_interval(50, 50)[1:]
    # A mean of shares that rounding takes beyond 1.
    assert share_from_error(1 + 1e-15, 1e-16, 50) == share_with_interval(50, 50)[1:]


def cases(m=6, n=7, k=9, seed=0):
    rng = np.random.default_rng(seed)
    tests = np.repeat(np.arange(m), k)
    first = rng.integers(n, size=m * k)
    second = (first + rng.integers(1, n, size=m * k)) % n
    return rng.random(m * k) < 0.4, tests, first, second


def test_error_sums_over_all_pairs_of_cases_that_share_a_point():
    """A pair of cases would be left out, or be counted twice."""
    hits, tests, first, second = cases()
    rng = np.random.default_rng(1)
    for weights in (None, rng.dirichlet(np.ones(len(hits)))):
        w = np.full(len(hits), 1 / len(hits)) if weights is None else weights
        u, total = w * (hits - (w * hits).sum()), 0.0
        for c, d in product(range(len(u)), repeat=2):
            same = tests[c] == tests[d]
            shared = {first[c], second[c]} & {first[d], second[d]}
            total += u[c] * u[d] * (6 / 5 if same else float(bool(shared)))
        by_test = sum(u[tests == t].sum() ** 2 for t in range(6)) * 6 / 5
        expected = np.sqrt(max(total, by_test))
        found = error_over_panels(hits, tests, first, second, weights)
        assert found == pytest.approx(expected, rel=1e-12)
        # The names and the order of the two points say nothing.
        again = error_over_panels(hits, tests + 3, 10 * second, 10 * first, weights)
        assert again == pytest.approx(found, rel=1e-12)


def test_one_test_point_has_no_interval_and_no_case_no_share():
    """Pairs of one test point would pass for a sample of test points."""
    hits, tests, first, second = cases(m=1)
    share, low, high = share_over_panels(hits, tests, first, second)
    assert share == hits.mean() and np.isnan([low, high]).all()
    none = hits[:0], tests[:0], first[:0], second[:0]
    assert np.isnan(share_over_panels(*none)).all()


def test_intervals_of_pairs_cover_over_test_and_training_points():
    """Pairs of few points would be counted as so many independent cases, or points as fixed."""
    rng = np.random.default_rng(0)
    m, n, k, repeats = 40, 40, 25, 300
    covered = {"both": 0, "tests": 0, "cases": 0}
    for _ in range(repeats):
        tests = np.repeat(np.arange(m), k)
        first = rng.integers(n, size=m * k)
        second = (first + rng.integers(1, n, size=m * k)) % n
        test, point = rng.standard_normal(m), rng.standard_normal(n)
        latent = 0.5 * test[tests] + 0.5 * (point[first] + point[second])
        hits = latent + rng.standard_normal(m * k) > 0
        share, *both = share_over_panels(hits, tests, first, second)
        by_test = hits.reshape(m, k).mean(axis=1)
        mean, half = mean_with_interval(by_test)
        ends = {"both": both, "tests": (mean - half, mean + half)}
        ends["cases"] = share_with_interval(int(hits.sum()), len(hits))[1:]
        assert share == pytest.approx(mean)
        for name, (low, high) in ends.items():
            covered[name] += low <= 0.5 <= high
    coverage = {name: count / repeats for name, count in covered.items()}
    assert coverage["both"] == pytest.approx(0.95, abs=0.03)
    assert coverage["tests"] < 0.85 and coverage["cases"] < 0.6


def test_mean_over_fits_and_points_by_hand():
    """A mean square would be that of something else."""
    values = np.array([[1.0, 2.0, 6.0], [3.0, 2.0, 4.0]])
    mean, half = mean_over_both(values)
    assert mean == 3
    # Two fits with the same mean have no part; points have 2, 2, 5 with a variance of 3.
    noise = (1 + 0 + 1) * 2 / 2
    assert half == pytest.approx(1.959964 * np.sqrt((3 - noise / 2) / 3), rel=1e-6)
    # One point: Student's interval over fits.
    column = np.array([[1.0], [2.0], [4.0]])
    assert mean_over_both(column) == pytest.approx(mean_with_interval(column[:, 0]))
    assert np.isnan(mean_over_both(values[:1])[1])


@pytest.mark.parametrize("of_points", [0.0, 1.0])
def test_interval_over_fits_and_points_covers(of_points):
    """All fits are judged on the same points: over fits alone the interval is far too narrow."""
    rng = np.random.default_rng(0)
    covered, over_fits = [], []
    for _ in range(600):
        fits = 0.05 * rng.standard_normal((5, 1))
        values = fits + of_points * rng.standard_normal(100) + rng.standard_normal((5, 100))
        mean, half = mean_over_both(values)
        covered.append(abs(mean) <= half)
        mean, half = mean_with_interval(values.mean(axis=1))
        over_fits.append(abs(mean) <= half)
    assert np.mean(covered) == pytest.approx(0.96, abs=0.03)
    assert np.mean(over_fits) < 0.85 or not of_points
