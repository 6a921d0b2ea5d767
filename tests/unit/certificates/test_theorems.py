"""The checks of Θ(√κ), against what scaling and the eigenvalues imply."""

import numpy as np
import pytest

from wtrak.certificates.lipschitz import euclidean_gradient, natural
from wtrak.certificates.theorems import (
    NORMALISATIONS,
    SHAPES,
    largest_slope,
    lipschitz_ratios,
    slope,
    spectrum,
)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("normalisation", NORMALISATIONS)
def test_spectrum_has_its_condition_number_and_scale(shape, normalisation):
    """The ratio would be plotted against another κ than the data have."""
    values = spectrum(shape, 1e3, normalisation, 20)
    assert values.max() / values.min() == pytest.approx(1e3)
    assert np.all(np.diff(values) <= 0)
    fixed = {
        "largest 1": values.max(),
        "smallest 1": values.min(),
        "trace d": values.sum() / 20,
    }
    assert fixed[normalisation] == pytest.approx(1.0)


@pytest.mark.parametrize("n", [50, 6])
def test_ratio_is_that_of_an_explicit_covariance(n):
    """The shortcut through whitened points would compute other constants than Q does."""
    values = spectrum("geometric", 100.0, "largest 1", 5)
    found = lipschitz_ratios(values, n, np.random.default_rng(3))
    rng = np.random.default_rng(3)
    psi = np.linalg.qr(rng.standard_normal((n, 5)))[0] * np.sqrt(n)
    phi, test = psi * np.sqrt(values), rng.standard_normal((n, 5)) * np.sqrt(values)
    inverse = np.linalg.inv(phi.T @ phi / n)
    np.testing.assert_allclose(np.linalg.inv(inverse), np.diag(values), atol=1e-12)
    si, si_t = (np.einsum("nd,de,ne->n", x, inverse, x) for x in (phi, test))
    norms, norms_t = (np.linalg.norm(x @ inverse, axis=1) for x in (phi, test))
    euclidean = euclidean_gradient(norms_t, norms, np.linalg.norm(phi, axis=1).max())
    nat = natural(si_t, si)
    # With few points the cap on SI of test points binds, and with it the scale of ψ.
    assert (si_t.max() > 2 * si.max()) == (n == 6)
    expected = euclidean.maximum() / nat.maximum()
    assert found["ratio_max"] == pytest.approx(expected, rel=1e-9)
    pairs = [c.test[:, None] * c.train for c in (euclidean, nat)]
    expected = np.median(pairs[0]) / np.median(pairs[1])
    assert found["ratio_median"] == pytest.approx(expected, rel=1e-9)
    # √λ_min/λ_max and √λ_max/λ_min
    assert found["lowest"] == pytest.approx(0.1, rel=1e-12)
    assert found["highest"] == pytest.approx(100.0, rel=1e-12)


def test_spectra_by_hand():
    """A shape would have another number of eigenvalues, or the odd one at the other end."""
    np.testing.assert_allclose(spectrum("geometric", 100.0, "largest 1", 3), [1, 0.1, 0.01])
    np.testing.assert_allclose(spectrum("one small", 4.0, "smallest 1", 4), [4, 4, 4, 1])
    np.testing.assert_allclose(spectrum("one large", 4.0, "trace d", 3), [2, 0.5, 0.5])


def test_range_of_the_ratio_scales_with_the_root_of_the_eigenvalues():
    """λ_min in place of λ_max would give the same range at largest eigenvalue 1."""
    found = lipschitz_ratios(np.array([9.0, 4.0]), 8, np.random.default_rng(0))
    assert found["lowest"] == pytest.approx(2 / 9, rel=1e-12)
    assert found["highest"] == pytest.approx(3 / 4, rel=1e-12)


def test_scaling_moves_the_ratio_and_not_kappa():
    """φ → cφ keeps κ and divides the ratio by c, which refutes Θ(√κ)."""
    values = spectrum("geometric", 1e4, "largest 1", 10)
    scales = np.array([0.01, 1.0, 100.0])
    ratios = [
        lipschitz_ratios(c**2 * values, 40, np.random.default_rng(0))["ratio_max"] for c in scales
    ]
    np.testing.assert_allclose(np.array(ratios) * scales, ratios[1], rtol=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
def test_median_ratio_lies_in_the_range_of_the_eigenvalues(shape):
    """The range printed beside the ratio would not hold."""
    found = lipschitz_ratios(spectrum(shape, 1e5, "trace d", 10), 60, np.random.default_rng(0))
    assert found["lowest"] <= found["ratio_median"] <= found["highest"]


def test_slope_is_the_exponent():
    """The fitted exponent would not be comparable with the theorem's 1/2."""
    x = np.geomspace(1, 1e6, 7)
    assert slope(x, 3 * x**0.5) == pytest.approx(0.5)


def test_largest_slope_is_over_all_pairs_but_duplicates():
    """A Lipschitz constant on data would be missed, or be infinite for a duplicate."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((12, 3))
    x[5] = x[2]
    values = rng.standard_normal(12)
    distances = np.linalg.norm(x[:, None] - x, axis=2)
    expected = max(
        abs(values[i] - values[j]) / distances[i, j]
        for i in range(12)
        for j in range(12)
        if i != j and {i, j} != {2, 5}
    )
    assert largest_slope(values, distances) == pytest.approx(expected)
