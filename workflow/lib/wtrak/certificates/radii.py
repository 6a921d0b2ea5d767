"""The radius that every certificate gives each pair of training points, for one test point."""

from dataclasses import dataclass

import numpy as np

from wtrak.certificates.catalogue import of_metric
from wtrak.certificates.pairs import direct_radius, interval_radius, tight_constant


@dataclass(frozen=True)
class Pairs:
    """Pairs (i, j) of training points in one metric, seen from one test point.

    In the natural metric a = ψ_t and b = ψ_i; in the Euclidean one a = Q⁻¹φ_t and b = Q⁻¹φ_i.

    Attributes
    ----------
    gaps : numpy.ndarray, shape (...)
        Δ = τ_i − τ_j.
    inner : tuple of two numpy.ndarray, shape (...)
        a·b of i and of j.
    norms : tuple of two numpy.ndarray, shape (...)
        ‖b‖ of i and of j.
    paper : tuple of two numpy.ndarray, shape (...)
        The paper's Lipschitz constants of i and of j, capped as it caps them.
    differences : numpy.ndarray, shape (...)
        ‖b_i − b_j‖, from `pairs.difference_norms`.
    norm_test, radius : float
        ‖a‖, and R: the largest ‖ψ‖ or ‖φ‖ of a training point.
    """

    gaps: np.ndarray
    inner: tuple
    norms: tuple
    paper: tuple
    differences: np.ndarray
    norm_test: float
    radius: float


def _paper(pairs):
    return interval_radius(pairs.gaps, *pairs.paper)


def _tight(pairs):
    constants = (
        tight_constant(inner, norm, pairs.norm_test, pairs.radius)
        for inner, norm in zip(pairs.inner, pairs.norms, strict=True)
    )
    return interval_radius(pairs.gaps, *constants)


def _direct(pairs):
    inner = pairs.inner[0] - pairs.inner[1]
    constants = tight_constant(inner, pairs.differences, pairs.norm_test, pairs.radius)
    return direct_radius(pairs.gaps, constants)


RADII = {"paper": _paper, "tight": _tight, "direct": _direct}


def radii(metric, pairs):
    """Certified radii of all pairs in the units of a metric, as a dict by certificate.

    Parameters
    ----------
    metric : {"euclidean", "natural"}
    pairs : Pairs
        In that metric.

    Returns
    -------
    dict of str to numpy.ndarray, shape (...)
        By the names of `catalogue.CERTIFICATES`. A pair of equal scores has radius 0.
    """
    return {name: RADII[name](pairs) for name in of_metric(metric)}
