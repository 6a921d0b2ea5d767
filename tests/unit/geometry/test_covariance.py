"""The covariance Q, its factor and its spectrum."""

import numpy as np
import pytest
import torch

from problems import gradients
from reference import covariance, explicit
from wtrak.errors import WtrakError
from wtrak.geometry.covariance import (
    add_ridge,
    effective_dimension,
    eigenvalues,
    factorise,
    full_spectrum,
    second_moment,
    second_moment_operations,
)
from wtrak.geometry.gradients import Gradients, reduce_to_sum_zero

CPU = torch.device("cpu")
RIDGE = 1e-3


def build(g, block_size=16, ridge=RIDGE):
    return add_ridge(second_moment(g, block_size=block_size, device=CPU), ridge)


@pytest.mark.parametrize("gradient", ["loss", "margin", "logit"])
def test_class_pair_blocks_equal_the_explicit_product(gradient):
    """Q would not be (1/n) Σ φφᵀ + λI."""
    g, _, _ = gradients(gradient=gradient)
    np.testing.assert_allclose(build(g).numpy(), covariance(explicit(g), RIDGE), atol=1e-12)


@pytest.mark.parametrize("block_size", [1, 7, 59, 60, 61, 1000])
def test_block_size_changes_nothing(block_size):
    """The last block, one row long for 59, would be lost or counted twice."""
    g, _, _ = gradients(n=60)
    np.testing.assert_allclose(build(g, block_size).numpy(), build(g, 60).numpy(), atol=1e-13)


def test_sums_are_taken_in_float64():
    """Half or single precision overflows or drifts at 50,000 examples and not at 5,000."""
    h = np.full((4000, 2), 1.0, dtype=np.float32)
    h[:, 0] = 1e18  # its square overflows float32
    e = np.tile([1.0, -1.0], (4000, 1))
    q = second_moment(Gradients(e, h, np.arange(4000)), block_size=512, device=CPU)
    assert q.dtype == torch.float64
    assert float(q[0, 0]) == pytest.approx(float(np.float32(1e18)) ** 2, rel=1e-12)


def test_reduced_spectrum_padded_with_the_ridge_is_the_full_spectrum():
    """κ on the full space would be computed from the wrong null space."""
    g, _, _ = gradients()
    full = eigenvalues(build(g), RIDGE)
    reduced = eigenvalues(build(reduce_to_sum_zero(g)), RIDGE)
    padded = full_spectrum(reduced, RIDGE, g.activations.shape[1])
    np.testing.assert_allclose(padded, full, atol=1e-12 * full[0])
    assert np.all(np.diff(full) <= 0)
    assert full[-1] == RIDGE


def test_effective_dimension_is_the_trace():
    """The mean self-influence would be checked against a wrong number."""
    g, _, _ = gradients()
    phi = explicit(g)
    q = covariance(phi, RIDGE)
    trace = np.trace(np.linalg.inv(q) @ (phi.T @ phi / len(phi)))
    assert effective_dimension(eigenvalues(build(g), RIDGE), RIDGE) == pytest.approx(trace)


@pytest.mark.parametrize("ridge", [0.0, -1e-4, float("nan")])
def test_ridge_must_be_positive(ridge):
    """A singular Q would be inverted."""
    with pytest.raises(WtrakError, match="must be positive"):
        add_ridge(torch.eye(3, dtype=torch.float64), ridge)


def test_ridge_below_rounding_is_an_error_that_says_what_to_do():
    """A Cholesky factor of a matrix that is not positive definite would be garbage."""
    q = torch.tensor([[1.0, 1.0], [1.0, 1.0 - 1e-14]], dtype=torch.float64)
    with pytest.raises(WtrakError, match="Raise the ridge"):
        factorise(q)


def test_overflow_is_refused_before_factorising():
    """A matrix with infinities would factorise to NaN."""
    q = torch.eye(3, dtype=torch.float64)
    q[1, 1] = torch.inf
    with pytest.raises(WtrakError, match="not finite"):
        factorise(q)


def test_eigenvalue_below_the_ridge_is_refused():
    """A matrix that is no second moment plus λI would pass as Q."""
    with pytest.raises(WtrakError, match="below its ridge"):
        eigenvalues(0.5 * torch.eye(4, dtype=torch.float64), 1.0)


def test_operations_are_those_of_the_plain_product():
    """The printed ratio to the machine's rate would compare other work."""
    assert second_moment_operations(10, 3, 5) == 2 * 10 * 5 * 5 * 6


def test_rounding_of_an_eigenvalue_is_that_of_the_largest():
    """An eigenvalue would be set to the ridge that is no perturbation of it, or a good one fail."""
    # 10·3·2⁻⁵²·10⁶ = 6.66e-9
    for below, allowed in ((6.4e-9, True), (7.0e-9, False)):
        q = torch.diag(torch.tensor([1e6, 1 - below, 5.0], dtype=torch.float64))
        if allowed:
            assert eigenvalues(q, 1.0).tolist() == pytest.approx([1e6, 5, 1], rel=1e-12)
            assert eigenvalues(q, 1.0)[-1] == 1.0
        else:
            with pytest.raises(WtrakError, match="below its ridge"):
                eigenvalues(q, 1.0)


def test_a_first_minor_that_fails_is_an_error():
    """Order 1 is the least that can fail."""
    with pytest.raises(WtrakError, match="leading minor of order 1"):
        factorise(-torch.eye(2, dtype=torch.float64))
