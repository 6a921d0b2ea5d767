"""Self-influence, TRAK scores, and the unit "one deletion"."""

import numpy as np
import pytest
import torch
from scipy.optimize import linprog

from problems import gradients
from reference import covariance, explicit
from wtrak.certificates.wasserstein import (
    deletion_distances,
    euclidean_mean_distances,
    median_with_interval,
    natural_mean_distances,
)
from wtrak.geometry.covariance import (
    add_ridge,
    effective_dimension,
    eigenvalues,
    factorise,
    second_moment,
)
from wtrak.geometry.gradients import reduce_to_sum_zero
from wtrak.geometry.scores import score, score_operations, whitened

CPU = torch.device("cpu")
RIDGE = 1e-3


def factor_of(g):
    return factorise(add_ridge(second_moment(g, block_size=16, device=CPU), RIDGE))


def scored(train, test, block_size=16, reduce=False):
    """Output of `score` for the training set, with all test points as queries and anchors."""
    if reduce:
        train, test = reduce_to_sum_zero(train), reduce_to_sum_zero(test)
    factor = factor_of(train)
    queries = whitened(test, factor, block_size=block_size)
    return score(train, factor, queries, queries, block_size=block_size)


@pytest.fixture(scope="module")
def problem():
    train, _, _ = gradients(n=61)
    test, _, _ = gradients(n=9, seed=1)
    return train, test


@pytest.mark.parametrize("reduce", [False, True])
def test_agrees_with_explicit_gradients_and_inverse(problem, reduce):
    """SI, ‖Q⁻¹φ‖ or τ would not be what section 5 defines, in one of the two bases."""
    train, test = problem
    phi, phi_t = explicit(train), explicit(test)
    inverse = np.linalg.inv(covariance(phi, RIDGE))
    out = scored(train, test, reduce=reduce)
    expected = np.einsum("nd,de,ne->n", phi, inverse, phi)
    np.testing.assert_allclose(out.self_influence, expected, rtol=1e-8)
    np.testing.assert_allclose(out.inverse_norms, np.linalg.norm(phi @ inverse, axis=1), rtol=1e-8)
    trak = phi_t @ inverse @ phi.T
    np.testing.assert_allclose(out.trak, trak, rtol=2e-7, atol=1e-6 * np.abs(trak).max())
    half = np.linalg.cholesky(inverse)
    distances = np.linalg.norm((phi_t @ half)[:, None] - (phi @ half)[None], axis=2)
    np.testing.assert_allclose(out.mean_distances, distances.mean(axis=1), rtol=1e-8)


@pytest.mark.parametrize("block_size", [1, 20, 60, 61, 500])
def test_block_size_changes_nothing(problem, block_size):
    """Rows of the last block, one row long for 20 and 60, would be lost or misplaced."""
    reference, out = scored(*problem, block_size=61), scored(*problem, block_size=block_size)
    for name in ("self_influence", "inverse_norms", "trak", "mean_distances"):
        np.testing.assert_allclose(getattr(out, name), getattr(reference, name), rtol=1e-6)


def test_order_of_examples_is_kept(problem):
    """Scores and labels would be out of step after a shuffle."""
    train, test = problem
    order = np.random.default_rng(0).permutation(len(train))
    shuffled, plain = scored(train.take(order), test), scored(train, test)
    np.testing.assert_allclose(shuffled.self_influence, plain.self_influence[order], rtol=1e-8)
    np.testing.assert_allclose(shuffled.trak, plain.trak[:, order], rtol=1e-4, atol=1e-5)


def test_self_influence_is_at_most_n_and_averages_to_the_effective_dimension(problem):
    """SI is n times a leverage: above n, or with another mean, it is computed wrongly."""
    train, test = problem
    out = scored(train, test)
    q = add_ridge(second_moment(train, block_size=16, device=CPU), RIDGE)
    assert out.self_influence.min() >= 0
    assert out.self_influence.max() <= len(train)
    mean = effective_dimension(eigenvalues(q, RIDGE), RIDGE)
    assert out.self_influence.mean() == pytest.approx(mean, rel=1e-9)


def test_positive_score_means_helpful():
    """The sign would be turned: for loss gradients a duplicate of the test point must help."""
    train, _, _ = gradients(n=30)
    out = scored(train, train.take([4]))
    assert out.trak[0, 4] == pytest.approx(out.self_influence[4], rel=1e-6)
    assert out.trak[0, 4] > 0


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
    psi = np.linalg.solve(np.linalg.cholesky(covariance(phi, RIDGE)), phi.T).T
    rows = np.array([3, 50, 7])
    products = psi[rows] @ psi.T
    found = natural_mean_distances(products, (psi**2).sum(axis=1), rows)
    expected = np.linalg.norm(psi[rows][:, None] - psi, axis=2).mean(axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    # Norms that are off by rounding from the products.
    assert np.isfinite(natural_mean_distances(np.ones((1, 1)), np.array([1 - 1e-15]), [0])).all()


def test_mean_distances_are_those_of_whitened_points(problem):
    """Squares would be averaged; or a distance below 1, or of a point to itself, be another."""
    train, _ = problem
    phi = 0.05 * explicit(train)
    small = type(train)(0.05 * train.residuals, train.activations, train.index)
    psi = np.linalg.solve(np.linalg.cholesky(covariance(phi, 1.0)), phi.T).T
    factor = torch.from_numpy(np.linalg.cholesky(covariance(phi, 1.0)))
    anchors = torch.from_numpy(psi)
    found = score(small, factor, anchors[:0], anchors, block_size=16).mean_distances
    expected = np.linalg.norm(psi[:, None] - psi, axis=2)
    assert (expected < 1).mean() > 0.5
    np.testing.assert_allclose(found, expected.mean(axis=1), rtol=1e-6)


def test_operations_are_two_solves_and_the_inner_products():
    """The machine's rate would be compared with another amount of work."""
    assert score_operations(10, 3, 0, 0) == 2 * 10 * 9
    assert score_operations(10, 3, 4, 2) == 2 * 10 * 9 + 2 * 10 * 3 * 6
