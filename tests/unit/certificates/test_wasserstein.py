"""The unit "one deletion": distances of points, the transport they need, and their median."""

import numpy as np
import pytest
from scipy.optimize import linprog

from problems import gradients
from reference import covariance, explicit
from wtrak.certificates.wasserstein import (
    deletion_distances,
    euclidean_mean_distances,
    median_with_interval,
    natural_mean_distances,
)


@pytest.fixture(scope="module")
def problem():
    train, _, _ = gradients(n=61)
    test, _, _ = gradients(n=9, seed=1)
    return train, test


def test_euclidean_mean_distances(problem):
    """The Euclidean unit "one deletion" would be off."""
    train, _ = problem
    phi = explicit(train)
    rows = np.array([3, 50])
    expected = np.linalg.norm(phi[rows][:, None] - phi[None], axis=2).mean(axis=1)
    for block_size in (1, 20, 61, 100):
        found = euclidean_mean_distances(train, rows, block_size=block_size)
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_deletion_distance_is_the_transport_optimum():
    """W₁(P_n, P_{n,−k}) = (1/n)·mean_{j≠k} d(k, j) would not be the least cost of transport."""
    rng = np.random.default_rng(0)
    n, k = 7, 2
    points = rng.standard_normal((n, 3))
    cost = np.linalg.norm(points[:, None] - points[None], axis=2)
    source = np.full(n, 1 / n)
    target = np.full(n, 1 / (n - 1))
    target[k] = 0.0
    rows = np.kron(np.eye(n), np.ones(n))
    columns = np.kron(np.ones(n), np.eye(n))
    best = linprog(
        cost.ravel(), A_eq=np.vstack([rows, columns]), b_eq=np.concatenate([source, target])
    )
    assert best.success
    found = deletion_distances(cost[[k]].mean(axis=1), n)
    assert found[0] == pytest.approx(best.fun, rel=1e-9)


def test_interval_of_the_median_covers_as_often_as_it_says():
    """The interval printed for "one deletion" would be narrower than 95 %."""
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(2000):
        median, low, high = median_with_interval(rng.exponential(size=101))
        assert low <= median <= high
        hits += low <= np.log(2) <= high
    assert 0.945 <= hits / 2000 <= 0.98


def test_interval_of_the_median_by_hand():
    """Order statistics beside those of the binomial distribution, or beyond the sample."""
    values = np.random.default_rng(0).permutation(np.arange(30.0) ** 2)
    # P(Bin(30, ½) ≤ 9) = 2.1 %, and ≤ 10 = 4.9 %.
    assert median_with_interval(values) == ((14**2 + 15**2) / 2, 9.0**2, 20.0**2)
    assert median_with_interval(values, 0.5) == ((14**2 + 15**2) / 2, 12.0**2, 17.0**2)
    assert median_with_interval(np.array([4.0, 0.0, 1.0])) == (1.0, 0.0, 4.0)
    assert median_with_interval(np.array([4.0, 0.0])) == (2.0, 0.0, 4.0)
    assert median_with_interval(np.array([4.0])) == (4.0, 4.0, 4.0)


def test_distances_of_a_point_to_itself_are_no_roots_of_negative_numbers():
    """Rounding would make one of them NaN, and with it the unit of all radii."""
    train, _, _ = gradients(n=60)
    found = euclidean_mean_distances(train, np.arange(60), block_size=60)
    assert np.isfinite(found).all()
    phi = explicit(train)
    psi = np.linalg.solve(np.linalg.cholesky(covariance(phi, 1e-3)), phi.T).T
    rows = np.array([3, 50, 7])
    products = psi[rows] @ psi.T
    found = natural_mean_distances(products, (psi**2).sum(axis=1), rows)
    expected = np.linalg.norm(psi[rows][:, None] - psi, axis=2).mean(axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    # Norms that are off by rounding from the products.
    assert np.isfinite(natural_mean_distances(np.ones((1, 1)), np.array([1 - 1e-15]), [0])).all()
