"""The checks of Θ(√κ), against what scaling and the eigenvalues imply."""

import numpy as np
import pytest

from wtrak.lipschitz import euclidean_gradient, natural
from wtrak.theorems import (
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


def test_ratio_is_that_of_an_explicit_covariance():
    """The shortcut through whitened points would compute other constants than Q does."""
    values = spectrum("geometric", 100.0, "largest 1", 5)
    found = lipschitz_ratios(values, 50, np.random.default_rng(1))
    rng = np.random.default_rng(1)
    psi = np.linalg.qr(rng.standard_normal((50, 5)))[0] * np.sqrt(50)
    phi, test = psi * np.sqrt(values), rng.standard_normal((50, 5)) * np.sqrt(values)
    inverse = np.linalg.inv(phi.T @ phi / 50)
    np.testing.assert_allclose(np.linalg.inv(inverse), np.diag(values), atol=1e-12)
    si, si_t = (np.einsum("nd,de,ne->n", x, inverse, x) for x in (phi, test))
    norms, norms_t = (np.linalg.norm(x @ inverse, axis=1) for x in (phi, test))
    euclidean = euclidean_gradient(norms_t, norms, np.linalg.norm(phi, axis=1).max())
    expected = euclidean.maximum() / natural(si_t, si).maximum()
    assert found["ratio_max"] == pytest.approx(expected, rel=1e-9)


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
