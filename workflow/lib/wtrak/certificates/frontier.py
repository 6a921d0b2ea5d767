"""Ranking certificates of the paper: intervals, certified radii, and the exact frontier.

For a test point with scores τ_i and constants L_i, the intervals τ_i ± ε·L_i (definition 5.4)
of two training points do not overlap exactly when |τ_i − τ_j| > ε·(L_i + L_j). The pair's order
is then certified, to first order in ε.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from wtrak.errors import WtrakError


def intervals(scores, lipschitz, epsilon):
    """Natural W-TRAK intervals (definition 5.4, Algorithm 2, lines 8 to 10).

    Parameters
    ----------
    scores, lipschitz : array, shape (…, n)
        τ and L of training points.
    epsilon : float
        Radius of the Wasserstein ball, in the metric that L belongs to.

    Returns
    -------
    (lower, upper) : pair of arrays, shape (…, n)
    """
    return scores - epsilon * lipschitz, scores + epsilon * lipschitz


def certified_radius(score_i, score_j, lipschitz_i, lipschitz_j):
    """ε*_ij = |τ_i − τ_j|/(L_i + L_j): the pair is certified at every ε below it.

    Two points whose constants are both zero never overlap unless their scores are equal.
    """
    gap = np.abs(np.asarray(score_i, dtype=np.float64) - score_j)
    width = np.asarray(lipschitz_i, dtype=np.float64) + lipschitz_j
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(gap > 0, gap / width, 0.0)


def count_certified(scores, lipschitz, epsilon):
    """Number of the n(n − 1)/2 pairs of one test point certified at ε, exactly.

    A pair is certified when one's upper end lies strictly below the other's lower end: sort the
    upper ends and look every lower end up among them, in O(n log n).

    Parameters
    ----------
    scores, lipschitz : numpy.ndarray, shape (n,), float64
    epsilon : float
    """
    lower, upper = intervals(scores, lipschitz, epsilon)
    lower.sort()  # sorted needles are found several times faster than unsorted ones
    upper.sort()
    return int(np.searchsorted(upper, lower, side="left").sum())


def certified_shares(scores, lipschitz, epsilons, *, threads=1, advance=lambda k: None):
    """Share of all pairs certified, for each ε and test point.

    Parameters
    ----------
    scores : numpy.ndarray, shape (m, n)
    lipschitz : Lipschitz
        Factors of L for the same n training points and at least these m test points.
    epsilons : sequence of float
    threads : int
        Sorting and searching release the interpreter, so threads share the test points.

    Returns
    -------
    numpy.ndarray, shape (len(epsilons), m), float64
    """
    m, n = scores.shape
    pairs = n * (n - 1) / 2

    def of_test_point(t):
        row = scores[t].astype(np.float64)
        constants = lipschitz.test[t] * lipschitz.train
        counts = [count_certified(row, constants, epsilon) for epsilon in epsilons]
        return np.array(counts) / pairs

    with ThreadPoolExecutor(threads) as pool:
        columns = []
        for column in pool.map(of_test_point, range(m)):
            columns.append(column)
            advance(1)
    return np.stack(columns, axis=1)


def epsilon_grid(scores, lipschitz, share_range, points, *, n_pairs=200_000, seed=0):
    """ε evenly spaced in log ε, from where about the larger share is certified to the smaller.

    The ends are quantiles of the certified radii of sampled pairs: the share certified at ε is
    the share of pairs whose radius exceeds ε. They only place the grid; counts on it are exact.

    Parameters
    ----------
    scores : numpy.ndarray, shape (m, n)
    lipschitz : Lipschitz
        As in `certified_shares`.
    share_range : (float, float)
        Smaller and larger share.

    Raises
    ------
    WtrakError
        If no sampled pair has a radius above 0 that is finite.
    """
    rng = np.random.default_rng(seed)
    t = rng.integers(scores.shape[0], size=n_pairs)
    i, j = rng.integers(scores.shape[1], size=(2, n_pairs))
    radii = certified_radius(
        scores[t, i],
        scores[t, j],
        lipschitz.test[t] * lipschitz.train[i],
        lipschitz.test[t] * lipschitz.train[j],
    )
    radii = radii[(radii > 0) & np.isfinite(radii)]
    if not radii.size:
        raise WtrakError(
            "the frontier has no radii: in every sampled pair scores are equal or constants zero, "
            "as where all gradients are alike; change the experiment's head or gradient"
        )
    low, high = np.quantile(radii, [1 - share_range[1], 1 - share_range[0]])
    return np.geomspace(low, high, points)


def epsilon_for_share(share_at, target, low, high, *, tolerance=1e-4, max_steps=60):
    """Largest ε at which a share of at least `target` is certified, to `tolerance` in share.

    Parameters
    ----------
    share_at : callable
        Maps ε to the certified share; does not increase with ε.
    low, high : float
        Where to look; `low` must certify the target and `high` must not.

    Returns
    -------
    float or None
        ε; None when the target does not lie between the shares at the two ends.
    """
    if not share_at(low) >= target > share_at(high):
        return None
    for _ in range(max_steps):
        middle = float(np.sqrt(low * high))
        share = share_at(middle)
        low, high = (middle, high) if share >= target else (low, middle)
        if abs(share - target) <= tolerance and share >= target:
            break
    return low
