"""Certificates for the order of two training points: by intervals, directly, and by removal.

Everything holds the features fixed. In whitened space, a test point is a = ψ_t and a pair of
training points is c = b_i − b_j with b = ψ. The gap Δ = τ_i − τ_j = a·c keeps its sign under every
change of the training distribution that a certificate covers. R is the largest ‖ψ‖ over training
points; perturbed distributions live in the ball ‖ψ‖ ≤ R. No self-influence is capped.

The functions work on arrays of pairs of any shape, for one test point.
"""

import numpy as np


def difference_norms(squared_i, squared_j, inner, dimension):
    """‖b_i − b_j‖ from ‖b_i‖², ‖b_j‖² and b_i·b_j, rounded up as far as their rounding may reach.

    An inner product of d numbers is off by at most d·2⁻⁵³ times its norms, to first order, so the
    squared difference by at most d·2⁻⁵²·(‖b_i‖² + ‖b_j‖²). Duplicates have a gap that is rounding
    alone; with a difference of 0 beside it they would have a large radius.

    Parameters
    ----------
    squared_i, squared_j, inner : numpy.ndarray, same shape
    dimension : int
        d.
    """
    total = squared_i + squared_j
    return np.sqrt(np.maximum(total - 2 * inner, 0.0) + dimension * 2.0**-52 * total)


def tight_constant(inner, norm_train, norm_test, radius):
    """L = R(‖a‖‖b‖ + |a·b|): the exact Lipschitz constant of S(ψ) = (a·ψ)(b·ψ) on ‖ψ‖ ≤ R.

    ∇S = (abᵀ + baᵀ)ψ, and abᵀ + baᵀ has extreme eigenvalues a·b ± ‖a‖‖b‖. The paper's bound
    2‖a‖‖b‖R (theorem 5.3) is attained only where a and b are parallel. In the Euclidean metric
    the same holds with u = Q⁻¹φ_t, v = Q⁻¹φ_i and R = max‖φ‖.

    Parameters
    ----------
    inner, norm_train : numpy.ndarray, same shape
        a·b and ‖b‖.
    norm_test, radius : float
        ‖a‖ and R.
    """
    return radius * (norm_test * norm_train + np.abs(inner))


def interval_radius(gaps, constants_i, constants_j):
    """ε* = |Δ|/(L_i + L_j): the intervals of the two points are disjoint below it.

    With `tight_constant` in the natural metric it is never above `direct_radius`, so that no
    distribution in the ball turns the pair. In the Euclidean metric, and with constants that are
    capped, it holds to first order at most.

    Parameters
    ----------
    gaps, constants_i, constants_j : numpy.ndarray, same shape
    """
    return _ratio(np.abs(gaps), constants_i + constants_j)


def direct_radius(gaps, constants):
    """ε* = |Δ|/L_ij, the difference certified itself; in the natural metric to every order in ε.

    The gap responds as S(ψ) = (a·ψ)(c·ψ), whose `tight_constant` is L_ij = R(N + |Δ|) with
    N = ‖a‖‖c‖. Since ‖c‖ ≤ ‖b_i‖ + ‖b_j‖ and |a·c| ≤ |a·b_i| + |a·b_j|, L_ij ≤ L_i + L_j.

    Why no distribution Q' within ε* of P in the natural metric, on the ball ‖ψ‖ ≤ R, turns the
    pair: let E = ∫ψψᵀ d(Q' − P). As ‖xxᵀ − yyᵀ‖_* = ‖x − y‖‖x + y‖ ≤ 2R‖x − y‖, its nuclear norm
    is at most e = 2Rε. For Δ > 0 let ρ = Δ/N, α² = ‖c‖/‖a‖, p = αa + c/α and q = αa − c/α: the gap
    becomes Δ' = ¼(pᵀ(I + E)⁻¹p − qᵀ(I + E)⁻¹q), with ‖p‖² = 2N(1 + ρ) and ‖q‖² = 2N(1 − ρ). Where
    the positive eigenvalues of E sum to s and the negative ones to −r, with s + r ≤ e and r < 1,
    Δ'/N ≥ ½((1 + ρ)/(1 + s) − (1 − ρ)/(1 − r)), which is positive if r(1 + ρ) + s(1 − ρ) < 2ρ. That
    follows from e < 2ρ/(1 + ρ), which is ε < Δ/(R(N + Δ)). The sign of Δ is covered, not its size.

    In the Euclidean metric, where the ball is one of φ, the radius holds to first order.

    Parameters
    ----------
    gaps, constants : numpy.ndarray, same shape
        Δ and L_ij.
    """
    return _ratio(np.abs(gaps), constants)


def gaps_after_removal(gap, x, y, slack):
    """Δ after each training point alone is removed: Δ + x_k·y_k/D_k. Exact (Sherman–Morrison).

    Removal takes φ_kφ_kᵀ from nQ = Σφφᵀ + nλI and leaves nλ; scores stay relative to n, a common
    factor that changes no order.

    Parameters
    ----------
    gap : float
    x, y : numpy.ndarray, shape (n,)
        a·ψ_k and c·ψ_k for every training point k.
    slack : numpy.ndarray, shape (n,)
        D_k = n − SI_k, positive.
    """
    return gap + x * y / slack


def survives_removal(gap, x, y, slack):
    """Whether no single removal turns or ties the pair: `gaps_after_removal` keeps its sign."""
    return bool((np.sign(gap) * gaps_after_removal(gap, x, y, slack)).min() > 0)


def survives_replacement(gap, x, y, slack, *, norm_test, difference, radius, n):
    """Whether no training point can be replaced by any ψ' with ‖ψ'‖ ≤ R so that the pair turns.

    With k gone, a and c act through A⁻¹ = I + ψ_kψ_kᵀ/D_k: u = A⁻¹a, v = A⁻¹c. Adding ψ' moves
    the gap by −(u·ψ')(v·ψ')/(n + ψ'ᵀA⁻¹ψ'), in size at most R²(‖u‖‖v‖ + |u·v|)/(2n), the largest
    value of the numerator on the ball. Sufficient and not necessary; nothing is linearised.

    Parameters
    ----------
    gap, x, y, slack
        As in `gaps_after_removal`.
    norm_test, difference, radius : float
        ‖a‖, ‖c‖ and R.
    n : int
    """
    # A⁻² = I + s·ψ_kψ_kᵀ with s = (2 + SI_k/D_k)/D_k.
    stretch = (2 + (n - slack) / slack) / slack
    norm_u = np.sqrt(norm_test**2 + stretch * x**2)
    norm_v = np.sqrt(difference**2 + stretch * y**2)
    moved = radius**2 * (norm_u * norm_v + np.abs(gap + stretch * x * y)) / (2 * n)
    return bool((np.sign(gap) * gaps_after_removal(gap, x, y, slack) - moved).min() > 0)


def harmful_order(gap, x, y, slack, largest):
    """The `largest` removals that narrow the gap most, one by one, most harmful first.

    Returns
    -------
    rows : numpy.ndarray, shape (largest,)
        Training points k.
    effects : numpy.ndarray, shape (largest,)
        How far each narrows |Δ| alone, to first order in their number: sums over the first m
        are the first-order effect of m removals.
    """
    effects = -np.sign(gap) * x * y / slack
    rows = np.argpartition(effects, -largest)[-largest:]
    rows = rows[np.argsort(effects[rows])[::-1]]
    return rows, effects[rows]


def holds_to_first_order(gaps, effects, count):
    """Whether removing any set of at most `count` points leaves a pair's order, to first order.

    The most harmful set is that of the largest effects, as far as they are harmful at all.

    Parameters
    ----------
    gaps : numpy.ndarray, shape (...)
        Δ of each pair.
    effects : numpy.ndarray, shape (..., at least count)
        From `harmful_order`, most harmful first.
    count : int

    Returns
    -------
    numpy.ndarray of bool, shape (...)
    """
    return np.abs(gaps) > np.maximum(effects[..., :count], 0).sum(axis=-1)


def removal_bound(gap, x, y, slack, bounds, count):
    """Upper bound on how far removing any set of at most `count` points narrows |Δ|: every order.

    With x̃ = x/√D, ỹ = y/√D, s the sign of Δ and any α > 0, removing K narrows the gap by
    ¼(uᵀNu − vᵀNv), where N = (I − O)⁻¹, u = αx̃ − sỹ/α and v = αx̃ + sỹ/α. Where
    −diag(r) ⪯ O ⪯ diag(r) with r < 1, N lies between diag(1/(1 + r)) and diag(1/(1 − r)), so the
    whole is at most the sum over K of (−s·x̃_kỹ_k + r_k(α²x̃_k² + ỹ_k²/α²)/2)/(1 − r_k²), of which
    the `count` largest are taken. For one removal r = 0 and the bound is exact.

    Parameters
    ----------
    gap, x, y, slack
        As in `gaps_after_removal`.
    bounds : numpy.ndarray, shape (n,)
        r, from `cross_leverage.row_bounds` for sets of this size.
    count : int

    Returns
    -------
    float
        Infinity when some r is not below 1: then nothing is known of sets that hold that point.
    """
    if bounds.max() >= 1:
        return np.inf
    x2, y2 = x * x / slack, y * y / slack
    harm = -np.sign(gap) * x * y / slack
    rows = np.argpartition(harm, -count)[-count:]
    sums = x2[rows].sum(), y2[rows].sum()
    # Any α is valid; this one makes the bound least for these rows.
    alpha2 = np.sqrt(sums[1] / sums[0]) if min(sums) > 0 else 1.0
    effects = (harm + bounds * (alpha2 * x2 + y2 / alpha2) / 2) / (1 - bounds**2)
    return float(np.maximum(np.partition(effects, -count)[-count:], 0.0).sum())


def gap_without(gap, x, y, slack, cross):
    """Δ after a whole set K is removed, exactly: Δ + x̃ᵀ(I − O)⁻¹ỹ.

    Parameters
    ----------
    gap : float
    x, y, slack : numpy.ndarray, shape (m,)
        a·ψ_k, c·ψ_k and n − SI_k over K.
    cross : numpy.ndarray, shape (m, m)
        ψ_k·ψ_l; the diagonal is not used.

    Notes
    -----
    x̃ = x/√D, ỹ = y/√D and O_kl = ψ_k·ψ_l/√(D_kD_l) for k ≠ l, zero on the diagonal: Woodbury on
    nQ − Σ_K φφᵀ. `scores_without` is the same for many scores.
    """
    return float(scores_without(np.array([[gap]]), x[None], y[None], slack, cross)[0, 0])


def scores_without(scores, x, inner, slack, cross):
    """All scores τ after a set K is removed, exactly and with the features fixed: Woodbury.

    Parameters
    ----------
    scores : numpy.ndarray, shape (m, s)
        τ of m test points and s training points.
    x : numpy.ndarray, shape (m, r)
        τ of the test points and the r points of K.
    inner : numpy.ndarray, shape (s, r)
        ψ_i·ψ_k of the training points and K.
    slack : numpy.ndarray, shape (r,)
        n − SI_k.
    cross : numpy.ndarray, shape (r, r)
        ψ_k·ψ_l; the diagonal is not used.
    """
    scale = 1 / np.sqrt(slack)
    overlap = cross * scale[:, None] * scale[None, :]
    np.fill_diagonal(overlap, 0.0)
    return scores + (x * scale) @ np.linalg.solve(np.eye(len(slack)) - overlap, (inner * scale).T)


def top_k_radius(scores, rows, radius_to_others):
    """ε* of the set of the k largest scores: the least over pairs of one inside and one outside.

    Parameters
    ----------
    scores : numpy.ndarray, shape (n,)
    rows : numpy.ndarray, shape (k,)
        The k points of largest score.
    radius_to_others : numpy.ndarray, shape (k, n)
        A certified radius for each of them against every training point.
    """
    outside = np.ones(len(scores), dtype=bool)
    outside[rows] = False
    return float(radius_to_others[:, outside].min())


def _ratio(numerator, denominator):
    """numerator/denominator, 0 where the numerator is 0 (equal scores are never certified)."""
    zeros = np.zeros(np.broadcast_shapes(np.shape(numerator), np.shape(denominator)))
    return np.divide(numerator, denominator, out=zeros, where=numerator > 0)
