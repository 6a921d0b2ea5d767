"""The paper's Lipschitz constants and their aggregates."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from problems import gradients
from reference import covariance, explicit
from wtrak.certificates.lipschitz import (
    Lipschitz,
    capped,
    enlargement,
    euclidean_gradient,
    euclidean_spectral,
    median_of_products,
    natural,
    product_of_rank,
)
from wtrak.errors import WtrakError

RIDGE = 1e-3


@pytest.fixture(scope="module")
def geometry():
    """Explicit φ, Q⁻¹ and norms of a small problem."""
    train, _, _ = gradients(n=40)
    test, _, _ = gradients(n=6, seed=1)
    phi, phi_t = explicit(train), explicit(test)
    inverse = np.linalg.inv(covariance(phi, RIDGE))
    return phi, phi_t, inverse


def slopes(phi, u, v, metric, rng):
    """|S(z) − S(z')|/d(z, z') over pairs of training points and of points between them."""
    points = np.concatenate([phi, 0.5 * (phi + phi[rng.permutation(len(phi))])])
    s = (points @ u) * (points @ v)
    i, j = rng.integers(len(points), size=(2, 4000))
    step = points[i] - points[j]
    distance = np.sqrt(np.einsum("nd,de,ne->n", step, metric, step))
    keep = distance > 1e-9
    return np.abs(s[i] - s[j])[keep] / distance[keep]


def test_constants_bound_every_slope(geometry):
    """A constant below a slope that occurs would be no Lipschitz constant (theorem 5.3)."""
    phi, phi_t, inverse = geometry
    rng = np.random.default_rng(0)
    si, si_t = (np.einsum("nd,de,ne->n", x, inverse, x) for x in (phi, phi_t))
    norms, norms_t = (np.linalg.norm(x @ inverse, axis=1) for x in (phi, phi_t))
    largest = np.linalg.norm(phi, axis=1).max()
    natural_constants = natural(si_t, si)
    euclidean = euclidean_gradient(norms_t, norms, largest)
    spectral = euclidean_spectral(np.linalg.norm(phi_t, axis=1), np.linalg.norm(phi, axis=1), RIDGE)
    for t in np.flatnonzero(si_t <= 2 * si.max()):
        for i in (0, 7, 23):
            u, v = inverse @ phi_t[t], inverse @ phi[i]
            assert slopes(phi, u, v, inverse, rng).max() <= (
                natural_constants.test[t] * natural_constants.train[i]
            )
            steepest = slopes(phi, u, v, np.eye(phi.shape[1]), rng).max()
            of_pair = euclidean.test[t] * euclidean.train[i]
            assert steepest <= of_pair
            assert of_pair <= spectral.test[t] * spectral.train[i]


def test_natural_constant_is_algorithm_2():
    """L = 2√SI_test·√SI_i·R with SI_test capped at twice the largest training SI."""
    si, si_t = np.array([1.0, 4.0, 9.0]), np.array([16.0, 100.0])
    constants = natural(si_t, si)
    np.testing.assert_allclose(capped(si_t, si), [16.0, 18.0])
    expected = 2 * np.sqrt([[16.0], [18.0]]) * np.sqrt(si) * 3.0
    np.testing.assert_allclose(constants.test[:, None] * constants.train, expected)


def test_aggregates_are_those_of_the_full_matrix():
    """Table 1's max, median and mean would not be over all pairs."""
    rng = np.random.default_rng(0)
    for m, n in [(7, 11), (8, 5), (1, 1), (2, 2), (30, 41)]:
        constants = Lipschitz(rng.lognormal(size=m), rng.lognormal(size=n))
        full = constants.test[:, None] * constants.train
        assert constants.maximum() == pytest.approx(full.max(), rel=1e-14)
        assert constants.mean() == pytest.approx(full.mean(), rel=1e-12)
        assert constants.median() == pytest.approx(np.median(full), rel=1e-12)


@given(
    arrays(np.float64, st.integers(1, 9), elements=st.floats(0, 1e6)),
    arrays(np.float64, st.integers(1, 9), elements=st.floats(0, 1e6)),
)
def test_median_of_products_with_ties_and_zeros(a, b):
    """The bisection on floats would stop at a neighbour, or fail on zeros."""
    expected = np.median(np.multiply.outer(a, b))
    assert median_of_products(a, b) == pytest.approx(expected, rel=1e-12, abs=1e-300)


def test_euclidean_constants_by_hand():
    """2‖Q⁻¹φ_t‖‖Q⁻¹φ_i‖·max‖φ‖, and both factors Q⁻¹ replaced by 1/λ_min."""
    gradient = euclidean_gradient(np.array([3.0]), np.array([5.0, 0.5]), 7.0)
    np.testing.assert_allclose(gradient.test * gradient.train, [210.0, 21.0])
    spectral = euclidean_spectral(np.array([3.0]), np.array([5.0, 0.5]), 0.1)
    np.testing.assert_allclose(
        spectral.test * spectral.train, [2 * 3 * 25 * 100, 2 * 3 * 2.5 * 100]
    )


def test_median_of_products_is_exact_where_the_products_are():
    """A neighbouring float would be taken, or the smallest positive number for 0."""
    assert median_of_products([2.0], [4.0]) == 8.0
    assert median_of_products([1.0, 2.0, 4.0], [1.0, 8.0, 8.0]) == 8.0
    assert median_of_products([1.0, 2.0], [1.0, 4.0]) == 3.0
    assert median_of_products([0.0, 1.0], [0.0, 2.0, 4.0]) == 0.0
    assert median_of_products([0.0], [0.0]) == 0.0
    assert median_of_products([1.0, 4.0], [0.0, 1.0]) == 0.5


def test_products_by_rank_and_quantile():
    """A decile over pairs would be that of another share, or a product that no pair has."""
    b = [2.0, 5.0, 1.0, 4.0]
    for a in ([3.0, 0.0, 1.0], [3.0, 8.0, 1.0]):
        products = np.sort(np.multiply.outer(a, b).ravel())
        found = [product_of_rank(a, b, rank) for rank in range(1, 13)]
        np.testing.assert_array_equal(found, products)
        constants = Lipschitz(np.array(a), np.array(b))
        for q in (0.0, 0.1, 0.25, 0.5, 0.9, 1.0):
            assert constants.quantile(q) == np.quantile(products, q, method="inverted_cdf")


def test_enlargement_is_that_of_the_steepest_slopes(geometry):
    """It would be along single eigenvectors, where a gradient need not lie, or of other points."""
    phi, phi_t, inverse = geometry
    norms, norms_t = (np.linalg.norm(x, axis=1) for x in (phi, phi_t))
    enlarged, enlarged_t = (np.linalg.norm(x @ inverse, axis=1) for x in (phi, phi_t))
    found = enlargement(enlarged_t, enlarged, norms_t, norms)
    rng = np.random.default_rng(0)
    for t, factor in enumerate(found.test):
        # The score τ = φᵀQ⁻¹φ_t of a unit step of φ: steepest along Q⁻¹φ_t. Without Q⁻¹: along φ_t.
        steps = rng.standard_normal((500, phi.shape[1]))
        steps = np.vstack([steps, inverse @ phi_t[t], phi_t[t]])
        steps /= np.linalg.norm(steps, axis=1, keepdims=True)
        with_q, without = (np.abs(steps @ x).max() for x in (inverse @ phi_t[t], phi_t[t]))
        assert factor == pytest.approx(with_q / without, rel=1e-12)
        # A step along an eigenvector moves the score less.
        _, vectors = np.linalg.eigh(inverse)
        along = np.abs(vectors.T @ inverse @ phi_t[t]) / norms_t[t]
        assert (along <= factor * (1 + 1e-12)).all() and along.max() < 0.99 * factor
    constants = euclidean_gradient(enlarged_t, enlarged, norms.max())
    plain = euclidean_gradient(norms_t, norms, norms.max())
    ratios = np.outer(constants.test, constants.train) / np.outer(plain.test, plain.train)
    np.testing.assert_allclose(np.outer(found.test, found.train), ratios, rtol=1e-12)


def test_points_without_a_gradient_are_not_enlarged():
    """0/0 would make every aggregate NaN."""
    some, zero = np.array([0.0, 6.0]), np.array([0.0])
    found = enlargement(some, np.array([8.0]), np.array([0.0, 0.5]), np.array([4.0]))
    np.testing.assert_array_equal(found.test, [12.0])
    np.testing.assert_array_equal(found.train, [2.0])
    with pytest.raises(WtrakError, match="all gradients are zero"):
        enlargement(some, zero, some, zero)


def test_sensitivity_kernel_is_the_derivative_of_the_score():
    """dτ/dt along (1−t)P + tδ_z is −(u·φ_z)(v·φ_z) + uᵀ(Q − λI)v: S up to sign and a constant."""
    train, _, _ = gradients(n=40)
    phi = torch.from_numpy(explicit(train))
    moment = phi.T @ phi / len(phi)
    eye = RIDGE * torch.eye(phi.shape[1], dtype=torch.float64)
    z, t_point, i_point = phi[5], phi[1], phi[2]

    def tau(t):
        q = (1 - t) * moment + t * torch.outer(z, z) + eye
        return t_point @ torch.linalg.solve(q, i_point)

    found = torch.func.jacrev(tau)(torch.tensor(0.0, dtype=torch.float64))
    q = moment + eye
    u, v = torch.linalg.solve(q, t_point), torch.linalg.solve(q, i_point)
    expected = -(u @ z) * (v @ z) + u @ moment @ v
    assert float(found) == pytest.approx(float(expected), rel=1e-9)
