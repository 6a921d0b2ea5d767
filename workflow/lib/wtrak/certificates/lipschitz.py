"""Lipschitz constants of the sensitivity kernel S(z), as the paper prints them.

S(φ) = (φ_tᵀQ⁻¹φ)(φ_iᵀQ⁻¹φ) is how the score τ of test point t and training point i responds to
mass added at φ. Every constant of the paper factorises, L(t, i) = f_t·g_i, so a pair of vectors
holds all m·n of them.
"""

from dataclasses import dataclass

import numpy as np

from wtrak.errors import WtrakError


@dataclass(frozen=True)
class Lipschitz:
    """L(t, i) = test[t]·train[i] for m test points and n training points.

    Attributes
    ----------
    test : numpy.ndarray, shape (m,), float64
    train : numpy.ndarray, shape (n,), float64
    """

    test: np.ndarray
    train: np.ndarray

    def maximum(self):
        """max over all pairs."""
        return float(self.test.max() * self.train.max())

    def mean(self):
        """Mean over all pairs."""
        return float(self.test.mean() * self.train.mean())

    def median(self):
        """Median over all pairs, exactly: see `median_of_products`."""
        return median_of_products(self.test, self.train)

    def quantile(self, q):
        """The smallest value that at least a share q of all pairs does not exceed, exactly."""
        rank = max(q * len(self.test) * len(self.train), 1)
        return product_of_rank(self.test, self.train, rank)


def capped(self_influence_test, self_influence_train):
    """SI_test capped at twice the largest training SI (Algorithm 2, line 4).

    Part of the paper's track. The paper calls the cap conservative; it narrows the interval of
    a point beyond it, so what it certifies there is not certified.

    Returns
    -------
    numpy.ndarray, shape (m,)
    """
    return np.minimum(self_influence_test, 2.0 * self_influence_train.max())


def natural(self_influence_test, self_influence_train):
    """L_Nat = 2·√SI_test·√SI_i·R with R = max_j √SI_j, in units of τ per natural distance.

    Theorem 5.3 and Algorithm 2, lines 4 to 6: SI_test is capped.

    Parameters
    ----------
    self_influence_test : numpy.ndarray, shape (m,)
        Not yet capped.
    self_influence_train : numpy.ndarray, shape (n,)
    """
    radius = np.sqrt(self_influence_train.max())
    test = np.sqrt(capped(self_influence_test, self_influence_train))
    return Lipschitz(2.0 * radius * test, np.sqrt(self_influence_train))


def euclidean_gradient(inverse_norms_test, inverse_norms_train, largest_norm):
    """L_Euc = 2·‖Q⁻¹φ_t‖·‖Q⁻¹φ_i‖·max_j‖φ_j‖, in units of τ per Euclidean distance of φ.

    The paper names L_Euc and does not define it. This is its own derivation (appendix A) with
    the gradient of S taken in φ instead of ψ.

    Parameters
    ----------
    inverse_norms_test, inverse_norms_train : numpy.ndarray, shapes (m,) and (n,)
        ‖Q⁻¹φ‖.
    largest_norm : float
        max_j ‖φ_j‖ over training points.
    """
    return Lipschitz(2.0 * largest_norm * inverse_norms_test, inverse_norms_train)


def euclidean_spectral(norms_test, norms_train, smallest_eigenvalue):
    """L_Euc ≤ 2·‖φ_t‖·‖φ_i‖·max_j‖φ_j‖/λ_min², the bound through the smallest eigenvalue.

    What section 4.2 describes: both factors Q⁻¹ replaced by their norm 1/λ_min.

    Parameters
    ----------
    norms_test, norms_train : numpy.ndarray, shapes (m,) and (n,)
        ‖φ‖.
    smallest_eigenvalue : float
        λ_min(Q).
    """
    factor = 2.0 * norms_train.max() / smallest_eigenvalue**2
    return Lipschitz(factor * norms_test, norms_train)


def enlargement(inverse_norms_test, inverse_norms_train, norms_test, norms_train):
    """How many times as large Q⁻¹ makes the Euclidean constant of each pair.

    Without Q⁻¹ the constant of `euclidean_gradient` is 2·‖φ_t‖·‖φ_i‖·max_j‖φ_j‖. The ratio is
    (‖Q⁻¹φ_t‖/‖φ_t‖)·(‖Q⁻¹φ_i‖/‖φ_i‖). Each factor is by how much Q⁻¹ enlarges the steepest slope
    of the score in the other point's φ, and lies between 1/λ_max and 1/λ_min.

    Parameters
    ----------
    inverse_norms_test, inverse_norms_train : numpy.ndarray, shapes (m,) and (n,)
        ‖Q⁻¹φ‖.
    norms_test, norms_train : numpy.ndarray, shapes (m,) and (n,)
        ‖φ‖. Points whose φ is zero are left out: their constants are zero, with Q⁻¹ and without.

    Returns
    -------
    Lipschitz
        Factors of the ratio, in units of 1/|φ|² each; the ratio is in units of 1/|φ|⁴.

    Raises
    ------
    WtrakError
        If φ is zero at all test or all training points.
    """
    factors = []
    for inverse, plain in ((inverse_norms_test, norms_test), (inverse_norms_train, norms_train)):
        known = plain > 0
        if not known.any():
            raise WtrakError(
                "all gradients are zero, so Q⁻¹ enlarges none; change the experiment's head or "
                "gradient"
            )
        factors.append(inverse[known] / plain[known])
    return Lipschitz(*factors)


def median_of_products(a, b):
    """Median of all products a_i·b_j of non-negative vectors, without forming them.

    It is exact up to the rounding of one product.
    """
    total = len(a) * len(b)
    ranks = (total + 1) // 2, total // 2 + 1
    return 0.5 * sum(product_of_rank(a, b, rank) for rank in ranks)


def product_of_rank(a, b, rank):
    """The product a_i·b_j of a rank in rising order, from 1, of non-negative vectors.

    A rank that is no whole number is rounded up.

    Counts the products up to x in O(len(a)·log len(b)) and bisects on x over the ordered
    representable floats, so the answer is exact up to the rounding of one product.
    """
    a, b = np.asarray(a, dtype=np.float64), np.sort(np.asarray(b, dtype=np.float64))
    positive = a[a > 0]
    zeros = (len(a) - len(positive)) * len(b)

    def count_up_to(x):
        with np.errstate(over="ignore"):  # infinity is the right bound then
            return zeros + int(np.searchsorted(b, x / positive, side="right").sum())

    # Non-negative floats are ordered as their bit patterns are.
    low, high = -1, int(np.float64(a.max() * b[-1] * (1 + 1e-15)).view(np.int64))
    while high - low > 1:
        middle = (low + high) // 2
        if count_up_to(np.int64(middle).view(np.float64)) >= rank:
            high = middle
        else:
            low = middle
    return float(np.int64(high).view(np.float64))
