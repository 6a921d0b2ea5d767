"""Numerical checks of the paper's theorems on Lipschitz constants."""

import numpy as np

from wtrak.certificates.lipschitz import euclidean_gradient, natural

SHAPES = ("geometric", "one small", "one large")
NORMALISATIONS = ("largest 1", "smallest 1", "trace d")


def spectrum(shape, kappa, normalisation, dimension):
    """Eigenvalues with condition number κ: a shape, at a scale.

    Parameters
    ----------
    shape : {"geometric", "one small", "one large"}
        Evenly spaced in the logarithm; all equal but one that is κ times smaller, or larger.
    kappa : float
    normalisation : {"largest 1", "smallest 1", "trace d"}
        What is held fixed as κ grows.
    dimension : int

    Returns
    -------
    numpy.ndarray, shape (dimension,), descending
    """
    values = {
        "geometric": np.geomspace(1, 1 / kappa, dimension),
        "one small": np.append(np.ones(dimension - 1), 1 / kappa),
        "one large": np.append(1.0, np.full(dimension - 1, 1 / kappa)),
    }[shape]
    scale = {"largest 1": 1.0, "smallest 1": kappa, "trace d": dimension / values.sum()}
    return values * scale[normalisation]


def lipschitz_ratios(eigenvalues, n, rng):
    """L_Euc/L_Nat by the paper's constants, for n training and as many test points.

    The points are Gaussian, whitened exactly, and given the eigenvalues as their second moment, so
    Q is diag(eigenvalues) with nothing left to chance. L_Euc is `euclidean_gradient`, L_Nat
    `natural`.

    Returns
    -------
    dict
        Ratio of the maxima over pairs and of the medians, and the range that every pair's ratio
        lies in, √λ_min/λ_max to √λ_max/λ_min: all that the eigenvalues say.
    """
    dimension = len(eigenvalues)
    g = rng.standard_normal((n, dimension))
    whitened = np.linalg.qr(g)[0] * np.sqrt(n)  # (1/n) ΣψψT = I
    tests = rng.standard_normal((n, dimension))
    root = np.sqrt(eigenvalues)
    si, si_test = (whitened**2).sum(axis=1), (tests**2).sum(axis=1)
    inverse, inverse_test = (np.linalg.norm(x / root, axis=1) for x in (whitened, tests))
    largest = np.linalg.norm(whitened * root, axis=1).max()
    euclidean = euclidean_gradient(inverse_test, inverse, largest)
    nat = natural(si_test, si)
    return {
        "ratio_max": euclidean.maximum() / nat.maximum(),
        "ratio_median": euclidean.median() / nat.median(),
        "lowest": float(root.min() / root.max() ** 2),
        "highest": float(root.max() / root.min() ** 2),
    }


def largest_slope(values, distances):
    """max |S_k − S_l|/d_kl over pairs of points: a lower bound on a Lipschitz constant.

    Parameters
    ----------
    values : numpy.ndarray, shape (q,)
    distances : numpy.ndarray, shape (q, q)
        Zero for a point and itself, and for duplicates, which are passed over.
    """
    rise = np.abs(values[:, None] - values)
    slopes = np.divide(rise, distances, out=np.zeros_like(rise), where=distances > 1e-9)
    return float(slopes.max())


def slope(x, y):
    """Exponent p of y ∝ xᵖ, by least squares in logarithms."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])
