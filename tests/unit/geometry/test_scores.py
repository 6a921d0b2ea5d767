"""Self-influence and TRAK scores, against explicit gradients and inverses."""

import numpy as np
import pytest
import torch

from problems import gradients
from reference import covariance, explicit
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
