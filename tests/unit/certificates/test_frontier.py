"""Intervals, certified radii and the exact frontier of the paper's track."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference import certified_share
from wtrak.certificates.frontier import (
    certified_radius,
    certified_shares,
    count_certified,
    epsilon_for_share,
    epsilon_grid,
    intervals,
)
from wtrak.certificates.lipschitz import Lipschitz
from wtrak.errors import WtrakError


def random_problem(m=4, n=50, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal((m, n)).astype(np.float32)
    return scores, Lipschitz(rng.lognormal(size=m), rng.lognormal(size=n))


@pytest.mark.parametrize("epsilon", [0.0, 1e-3, 0.1, 0.5, 10.0])
def test_counts_equal_brute_force(epsilon):
    """The frontier would not be the share of all pairs with disjoint intervals."""
    scores, lipschitz = random_problem()
    found = certified_shares(scores, lipschitz, [epsilon], threads=2)[0]
    expected = [
        certified_share(row.astype(float), lipschitz.test[t] * lipschitz.train, epsilon)
        for t, row in enumerate(scores)
    ]
    np.testing.assert_allclose(found, expected, atol=1e-15)


@given(st.lists(st.integers(-3, 3), min_size=2, max_size=12), st.integers(0, 3))
def test_ties_and_touching_intervals_are_not_certified(values, epsilon):
    """Equal scores, or ends that just touch, would be certified: the order must be strict."""
    scores, ones = np.array(values, dtype=float), np.ones(len(values))
    pairs = len(values) * (len(values) - 1) / 2
    found = count_certified(scores, ones, epsilon) / pairs
    assert found == certified_share(scores, ones, epsilon)


def test_certified_exactly_below_the_radius():
    """ε* would not be where the pair's intervals begin to overlap."""
    radius = certified_radius(3.0, 1.0, 0.5, 1.5)
    assert radius == pytest.approx(1.0)
    for epsilon, disjoint in [(0.999, True), (1.001, False)]:
        (low, _), (_, high) = (
            intervals(np.array(3.0), np.array(0.5), epsilon),
            intervals(np.array(1.0), np.array(1.5), epsilon),
        )
        assert (high < low) == disjoint
    assert certified_radius(1.0, 1.0, 0.0, 0.0) == 0.0
    assert certified_radius(2.0, 1.0, 0.0, 0.0) == np.inf


def test_shares_do_not_rise_with_epsilon():
    """A larger ball would certify more."""
    scores, lipschitz = random_problem()
    shares = certified_shares(scores, lipschitz, np.geomspace(1e-5, 1e3, 30))
    assert np.all(np.diff(shares, axis=0) <= 0)
    assert np.all(shares[0] > 0.99) and np.all(shares[-1] < 0.01)


def test_threads_change_nothing():
    """Test points would be mixed up between threads."""
    scores, lipschitz = random_problem(m=9)
    one, three = (
        certified_shares(scores, lipschitz, [0.01, 0.1], threads=threads) for threads in (1, 3)
    )
    np.testing.assert_array_equal(one, three)


def test_grid_spans_the_shares_asked_for():
    """The frontier would be cut off, or flat at both ends."""
    scores, lipschitz = random_problem(m=20, n=400)
    grid = epsilon_grid(scores, lipschitz, (0.05, 0.95), 25)
    shares = certified_shares(scores, lipschitz, grid).mean(axis=1)
    assert len(grid) == 25
    np.testing.assert_allclose(np.diff(np.log(grid)), np.log(grid[1] / grid[0]), rtol=1e-9)
    assert shares[0] == pytest.approx(0.95, abs=0.01)
    assert shares[-1] == pytest.approx(0.05, abs=0.01)


def test_grid_of_a_range_that_is_not_symmetric():
    """Its ends would be at the complement of the shares asked for, or in descending order."""
    scores, lipschitz = random_problem(m=20, n=400)
    grid = epsilon_grid(scores, lipschitz, (0.3, 0.9), 4)
    shares = certified_shares(scores, lipschitz, grid).mean(axis=1)
    assert shares[0] == pytest.approx(0.9, abs=0.01)
    assert shares[-1] == pytest.approx(0.3, abs=0.01)


def test_grid_is_placed_by_pairs_that_have_a_radius():
    """Equal scores, and constants of zero, would drag the ends to 0 or to infinity."""
    scores = np.array([[0.0, 0.0, 0.0, 1.0, 4.0]])
    lipschitz = Lipschitz(np.full(1, 0.25), np.full(5, 4.0))
    grid = epsilon_grid(scores, lipschitz, (0.1, 0.9), 3)
    # Of the pairs with different scores, radii 1/2 (3 of 7), 3/2 (1) and 2 (3).
    np.testing.assert_allclose(grid, [0.5, 1.0, 2.0], rtol=1e-12)
    flat = Lipschitz(np.ones(1), np.array([1.0, 1.0, 1.0, 0.0, 0.0]))
    assert np.isfinite(epsilon_grid(scores, flat, (0.1, 0.9), 3)).all()


def test_epsilon_for_share_is_the_quantile_of_the_radii():
    """The ε printed for the paper's 68.7 % would certify another share."""
    scores, lipschitz = random_problem(m=1, n=300)
    i, j = np.triu_indices(300, 1)
    constants = lipschitz.test[0] * lipschitz.train
    radii = certified_radius(scores[0][i], scores[0][j], constants[i], constants[j])
    epsilon = epsilon_for_share(
        lambda e: certified_shares(scores, lipschitz, [e]).mean(), 0.687, 1e-6, 100.0
    )
    assert np.mean(radii > epsilon) == pytest.approx(0.687, abs=1e-4)


def test_epsilon_for_a_share_out_of_reach_is_none():
    """A number would be printed for a share that is never attained."""
    assert epsilon_for_share(lambda e: 0.5, 0.687, 1e-3, 1.0) is None
    assert epsilon_for_share(lambda e: 0.9, 0.687, 1e-3, 1.0) is None


def test_epsilon_for_share_at_the_ends():
    """`low` may certify just the target; `high` must not."""
    step = {1.0: 0.5, 2.0: 0.2, 4.0: 0.2}
    assert epsilon_for_share(lambda e: step.get(e, 0.2), 0.5, 1.0, 4.0) is not None
    assert epsilon_for_share(lambda e: 0.5 if e <= 4 else 0.2, 0.5, 1.0, 4.0) is None


def test_epsilon_for_share_stops_within_its_tolerance_and_not_before():
    """A share below the target, or too far above it, would be taken for the target."""
    asked = []

    def share(shares):
        def at(epsilon):
            asked.append(epsilon)
            return shares.get(round(epsilon, 9), 1.0 if epsilon < 100 else 0.0)

        asked.clear()
        return at

    # 100 is the first middle; too low by less than the tolerance is too low.
    at = share({100.0: 0.45, 10.0: 0.55})
    assert epsilon_for_share(at, 0.5, 1.0, 1e4, tolerance=0.1) == pytest.approx(10.0)
    assert len(asked) == 4
    for tolerance in (0.0, 0.1):
        at = share({100.0: 0.5})
        assert epsilon_for_share(at, 0.5, 1.0, 1e4, tolerance=tolerance) == pytest.approx(100.0)
        assert len(asked) == 3
    # The default: 10⁻⁴.
    at = share({100.0: 0.5 + 0.8e-4})
    epsilon_for_share(at, 0.5, 1.0, 1e4)
    assert len(asked) == 3
    at = share({100.0: 0.5 + 1.5e-4})
    epsilon_for_share(at, 0.5, 1.0, 1e4)
    assert len(asked) > 3


def test_epsilon_for_share_is_the_largest_where_the_share_jumps():
    """It would end anywhere at which the target is certified."""
    found = epsilon_for_share(lambda e: 0.7 if e <= 3 else 0.2, 0.5, 1.0, 100.0)
    assert 3 * (1 - 1e-12) <= found <= 3


@pytest.mark.parametrize(("spread", "constant"), [(0.0, 1.0), (1.0, 0.0)])
def test_frontier_without_radii_is_a_named_error(spread, constant):
    """Equal scores, or constants of zero, would end in an IndexError of numpy."""
    scores = spread * np.random.default_rng(0).standard_normal((2, 10))
    lipschitz = Lipschitz(np.full(2, constant), np.full(10, constant))
    with np.errstate(all="ignore"), pytest.raises(WtrakError, match="the frontier has no radii"):
        epsilon_grid(scores, lipschitz, (0.1, 0.9), 5)
