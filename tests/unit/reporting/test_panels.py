"""Intervals over points that cases share: errors by enumeration, coverage by simulation."""

import warnings
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
    # A mean of shares that rounding takes beyond 1, or below 0.
    assert share_from_error(1 + 1e-15, 1e-16, 50) == share_with_interval(50, 50)[1:]
    assert share_from_error(-1e-17, 1e-16, 50) == share_with_interval(0, 50)[1:]
    # Test points that all have the same share say as little.
    assert share_from_error(0.5, 0.0, 50) == share_with_interval(25, 50)[1:]


def cases(m=6, n=7, k=9, seed=0):
    """Cases whose hits depend on the training points; some pairs come twice, in either order."""
    rng = np.random.default_rng(seed)
    tests = np.repeat(np.arange(m), k)
    first = rng.integers(n, size=m * k)
    second = (first + rng.integers(1, n, size=m * k)) % n
    of_points = rng.standard_normal(n)
    latent = of_points[first] + of_points[second] + 0.3 * rng.standard_normal(m * k)
    return latent > 0.3, tests, first, second


@pytest.mark.parametrize("m", [2, 6, 20])
@pytest.mark.parametrize("seed", range(3))
def test_error_sums_over_all_pairs_of_cases_that_share_a_point(m, seed):
    """A pair of cases would be left out, or be counted twice."""
    hits, tests, first, second = cases(m=m, seed=seed)
    rng = np.random.default_rng(1)
    for weights in (None, rng.dirichlet(np.ones(len(hits)))):
        w = np.full(len(hits), 1 / len(hits)) if weights is None else weights
        u, total = w * (hits - (w * hits).sum()), 0.0
        for c, d in product(range(len(u)), repeat=2):
            same = tests[c] == tests[d]
            shared = {first[c], second[c]} & {first[d], second[d]}
            total += u[c] * u[d] * (m / (m - 1) if same else float(bool(shared)))
        by_test = sum(u[tests == t].sum() ** 2 for t in range(m)) * m / (m - 1)
        assert total > by_test, "the part of the training points would not be tested"
        found = error_over_panels(hits, tests, first, second, weights)
        assert found == pytest.approx(np.sqrt(total), rel=1e-12)
        # The names and the order of the two points say nothing.
        again = error_over_panels(hits, tests + 3, 10 * second, 10 * first, weights)
        assert again == pytest.approx(found, rel=1e-12)


def test_error_is_never_below_that_of_the_test_points():
    """Training points whose cases cancel would make the interval narrower than it can be."""
    hits = np.array([1, 0, 0, 1])
    tests, first, second = np.array([0, 0, 1, 1]), np.array([0, 2, 0, 2]), np.array([1, 3, 1, 3])
    weights = np.array([0.4, 0.1, 0.4, 0.1])
    u = weights * (hits - 0.5)
    by_test = 2 * ((u[:2].sum()) ** 2 + (u[2:].sum()) ** 2)
    between = 2 * (u[0] * u[2] + u[1] * u[3])
    assert between < 0
    found = error_over_panels(hits, tests, first, second, weights)
    assert found == pytest.approx(np.sqrt(by_test), rel=1e-12)


def test_one_test_point_has_no_interval_and_no_case_no_share():
    """Pairs of one test point would pass for a sample of test points."""
    hits, tests, first, second = cases(m=1)
    share, low, high = share_over_panels(hits, tests, first, second)
    assert share == hits.mean() and np.isnan([low, high]).all()
    one = hits[:1], tests[:1], first[:1], second[:1]
    assert share_over_panels(*one)[0] == hits[0]
    none = hits[:0], tests[:0], first[:0], second[:0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(share_over_panels(*none)).all()
        assert np.isnan(error_over_panels(*none))


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
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(mean_over_both(values[:1])[1])
    # Two points that differ by less than noise: what is left of their part is not negative.
    noisy = np.array([[1.0, -1.0], [-1.0, 3.0]])
    assert mean_over_both(noisy) == pytest.approx(mean_with_interval(noisy.mean(axis=1)))
    # Two points that differ by more.
    apart = np.array([[0.0, 5.0], [1.0, 6.0]])
    _, half = mean_over_both(apart)
    expected = 12.706205**2 * 0.5 / 2 + 1.959964**2 * 12.5 / 2
    assert half == pytest.approx(np.sqrt(expected), rel=1e-6)


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
