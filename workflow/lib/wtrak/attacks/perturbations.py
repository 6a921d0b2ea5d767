"""Attacks on certificates: the cheapest move of training mass found that turns a pair's order.

A certificate is worth what an attack cannot break. An attack here moves mass of training points
inside the ball ‖ψ‖ ≤ R, pays for it in full (Σ mass·distance, an upper bound of the Wasserstein
distance that it spans), and recomputes the gap exactly with the perturbed Q. So whatever it finds
is a counterexample, and a pair that it turns at a cost below its certified radius refutes the
certificate.

Four kinds: `move_attack` takes mass of one training point to the worst place in the ball,
`spread_attack` that of many, `reweighting_attack` takes it to other training points, and
`deletion_attack` removes one point.

For one pair, a point matters through its inner products with a = ψ_t and c = b_i − b_j and its norm
alone. `coordinates` turns these into three numbers, and moves of one point work on those; moves of
several need the points' inner products with each other as well.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Pair:
    """A pair in the coordinates of the plane of a and c, and every point's distance from it.

    Attributes
    ----------
    a, c : numpy.ndarray, shape (3,)
        The third coordinate is 0.
    points : numpy.ndarray, shape (n, 3)
        Training points ψ_k, each in its own third direction.
    """

    a: np.ndarray
    c: np.ndarray
    points: np.ndarray

    @property
    def gap(self):
        """Δ = a·c."""
        return float(self.a @ self.c)


def coordinates(x, y, self_influence, norm_test, difference, gap):
    """The `Pair` of inner products x_k = a·ψ_k, y_k = c·ψ_k, SI_k, and ‖a‖, ‖c‖, a·c."""
    along = gap / norm_test
    across = np.sqrt(max(difference**2 - along**2, 0.0))
    first = x / norm_test
    second = (y - along * first) / across if across > 0 else np.zeros_like(x)
    third = np.sqrt(np.maximum(self_influence - first**2 - second**2, 0.0))
    return Pair(
        np.array([norm_test, 0.0, 0.0]),
        np.array([along, across, 0.0]),
        np.stack([first, second, third], axis=1),
    )


def moved_gap(gap, x, y, gram, weights):
    """Δ exactly, after Σ_l w_l·u_l·u_lᵀ is added to the second moment in whitened space.

    aᵀ(I + UWUᵀ)⁻¹c = a·c − aᵀU(I + WUᵀU)⁻¹WUᵀc (Woodbury).

    Parameters
    ----------
    gap : float
        a·c.
    x, y : numpy.ndarray, shape (r,)
        u_l·a and u_l·c.
    gram : numpy.ndarray, shape (r, r)
        u_l·u_m.
    weights : numpy.ndarray, shape (r,)
        Negative where mass is taken away.
    """
    inner = np.linalg.solve(np.eye(len(weights)) + weights[:, None] * gram, weights * y)
    return gap - float(x @ inner)


def steepest_targets(pair, rows, radius, restarts=1, steps=80):
    """For some points, where in the ball to move them so that the gap narrows most per distance.

    Projected gradient ascent of s·(S(t) − S(ψ))/‖t − ψ‖ with S(t) = (a·t)(c·t) and s the sign of
    the gap: adding mass at t moves the gap by −S(t), to first order. Several starts: the two ends
    of the axis that S responds to most, a short step up the gradient of S, and `restarts` random
    places in the ball.

    Returns
    -------
    targets : numpy.ndarray, shape (r, 3)
    slopes : numpy.ndarray, shape (r,)
        The ratio reached: first-order change of |Δ| per unit of Wasserstein distance.
    """
    sign = np.sign(pair.gap)
    points = pair.points[rows]
    end = radius * steepest_axis(pair)

    def gradient(t):
        return sign * ((t @ pair.c)[:, None] * pair.a + (t @ pair.a)[:, None] * pair.c)

    def inside(t):
        norms = np.linalg.norm(t, axis=1, keepdims=True)
        return t * np.minimum(1.0, radius / np.maximum(norms, 1e-300))

    def unit(t):
        return t / np.maximum(np.linalg.norm(t, axis=1, keepdims=True), 1e-300)

    random = np.random.default_rng(0).standard_normal((restarts, *points.shape))
    starts = [
        np.broadcast_to(end, points.shape),
        np.broadcast_to(-end, points.shape),
        inside(points + 1e-3 * radius * unit(gradient(points))),
        *(inside(radius * start) for start in random),
    ]
    t, origin = np.concatenate(starts), np.tile(points, (len(starts), 1))
    base = sign * (origin @ pair.a) * (origin @ pair.c)
    best, slopes = t.copy(), np.full(len(t), -np.inf)
    for step in np.geomspace(0.3, 1e-4, steps):
        move = t - origin
        length = np.maximum(np.linalg.norm(move, axis=1), 1e-9 * radius)
        slope = (sign * (t @ pair.a) * (t @ pair.c) - base) / length
        better = slope > slopes
        best[better], slopes[better] = t[better], slope[better]
        ascent = unit(gradient(t) - (slope / length)[:, None] * move)
        t = inside(t + step * radius * ascent)
    slopes = slopes.reshape(len(starts), -1)
    winner = slopes.argmax(axis=0)
    columns = np.arange(len(rows))
    return best.reshape(len(starts), -1, 3)[winner, columns], slopes[winner, columns]


def steepest_axis(pair):
    """Unit eigenvector of acᵀ + caᵀ along which added mass narrows the gap most: ∝ â + s·ĉ."""
    axis = pair.a / np.linalg.norm(pair.a) + np.sign(pair.gap) * pair.c / np.linalg.norm(pair.c)
    return axis / max(np.linalg.norm(axis), 1e-300)


def move_attack(pair, radius, *, restarts=1, candidates=48, refined=8):
    """Least Wasserstein cost found of turning the pair by moving mass of one training point.

    Parameters
    ----------
    pair : Pair
    radius : float
        R: targets stay in this ball.
    restarts : int
        Random starts of the search for each point's target.
    candidates : int
        Points whose best target is searched, the most `promising`.
    refined : int
        Of these, how many are carried out with the exact gap.

    Returns
    -------
    float
        Natural distance; infinity when no single point's whole mass 1/n turns the pair.
    """
    if pair.gap == 0:
        return 0.0
    n = len(pair.points)
    rows = promising(pair, np.arange(n), radius, candidates)
    targets, slopes = steepest_targets(pair, rows, radius, restarts)
    cheapest = np.inf
    for k in np.argsort(-slopes)[:refined]:
        vectors = np.stack([targets[k], pair.points[rows[k]]])
        gram = vectors @ vectors.T
        cheapest = min(
            cheapest,
            path_cost(
                pair.gap,
                vectors @ pair.a,
                vectors @ pair.c,
                gram,
                np.linalg.norm(vectors[:1] - vectors[1:], axis=1),
                1 / n,
            ),
        )
    return cheapest


def promising(pair, rows, radius, count):
    """About `count` of some training points, those whose move promises to narrow the gap most.

    Half of them for a long move to the end of the axis, half for a short one up the gradient.
    """
    points = pair.points[rows]
    sign = np.sign(pair.gap)
    inner_a, inner_c = points @ pair.a, points @ pair.c
    axis = steepest_axis(pair)
    end = radius * axis
    along = np.abs(points @ axis)
    squared = (points**2).sum(axis=1)
    distance = np.sqrt(np.maximum(radius**2 + squared - 2 * radius * along, 1e-18))
    far = sign * ((end @ pair.a) * (end @ pair.c) - inner_a * inner_c) / distance
    near = np.linalg.norm(inner_c[:, None] * pair.a + inner_a[:, None] * pair.c, axis=1)
    half = min(max(count // 2, 1), len(rows))
    best = [np.argpartition(-values, half - 1)[:half] for values in (far, near)]
    return rows[np.unique(np.concatenate(best))]


def path_cost(gap, x, y, gram, lengths, mass):
    """Least cost on a path of moves that turns the pair; infinity if its end does not.

    The moves are made one after the other, each taking up to `mass` from a source to its target.

    Parameters
    ----------
    gap : float
    x, y : numpy.ndarray, shape (2r,)
        Inner products with a and c of the r targets, then of the r sources.
    gram : numpy.ndarray, shape (2r, 2r)
        Inner products with each other, in that order.
    lengths : numpy.ndarray, shape (r,)
        Natural distance from each source to its target.
    mass : float
        Mass of one training point, 1/n.

    Notes
    -----
    Bisection on the number of whole moves and then on the mass of the last. The gap need not fall
    all along the path; what is returned turns the pair in any case, which is all an attack claims.
    """
    r = len(lengths)
    sign = np.sign(gap)

    def after(count, rest):
        """Gap, x, y and gram of the vectors `rest` after `count` whole moves."""
        done = np.concatenate([np.arange(count), r + np.arange(count)])
        weights = np.repeat([mass, -mass], count)[:, None]
        known = np.column_stack([x, y, gram[:, rest]])
        inner = np.linalg.solve(
            np.eye(2 * count) + weights * gram[np.ix_(done, done)], weights * known[done]
        )
        left = known[rest] - gram[np.ix_(rest, done)] @ inner
        return gap - float(x[done] @ inner[:, 1]), left[:, 0], left[:, 1], left[:, 2:]

    def turned(count):
        return after(count, [])[0] * sign <= 0

    high = 1
    while not turned(high):
        if high == r:
            return np.inf
        high = min(2 * high, r)
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if turned(middle) else (middle, high)
    # All moves but the last are whole.
    state = after(high - 1, [high - 1, r + high - 1])
    least, most = 0.0, mass
    while most - least > 1e-6 * most:
        middle = 0.5 * (least + most)
        still = moved_gap(*state, np.array([middle, -middle])) * sign > 0
        least, most = (middle, most) if still else (least, middle)
    return float(mass * lengths[: high - 1].sum() + most * lengths[high - 1])


def spread_attack(pair, radius, panel, gram, *, restarts=1, sources=32):
    """Least cost found of turning the pair by moving mass of many points of a panel.

    Each point has its own best target; points are moved in the order of their slopes.

    Parameters
    ----------
    pair : Pair
    radius : float
        R.
    panel : numpy.ndarray, shape (q,)
        Rows of the training points to move.
    gram : numpy.ndarray, shape (q, q)
        Their inner products ψ_k·ψ_l.
    restarts, sources : int
        Random starts for each target, and how many points are moved at most.
    """
    if pair.gap == 0:
        return 0.0
    candidates = promising(pair, panel, radius, 2 * sources)
    places = np.flatnonzero(np.isin(panel, candidates))
    targets, slopes = steepest_targets(pair, panel[places], radius, restarts)
    order = np.argsort(-slopes)[: min(sources, int((slopes > 0).sum()))]
    if not len(order):
        return np.inf
    targets, chosen = targets[order], places[order]
    own = pair.points[panel[chosen]]
    vectors = np.concatenate([targets, own])
    # In the plane of a and c, and along the direction that each source has outside of it.
    plane, outside = vectors[:, :2], vectors[:, 2]
    inner = gram[np.ix_(chosen, chosen)] - own[:, :2] @ own[:, :2].T
    scale = np.maximum(own[:, 2], 1e-150)
    directions = np.clip(inner / np.outer(scale, scale), -1.0, 1.0)
    np.fill_diagonal(directions, 1.0)
    return path_cost(
        pair.gap,
        vectors @ pair.a,
        vectors @ pair.c,
        plane @ plane.T + np.outer(outside, outside) * np.tile(directions, (2, 2)),
        np.linalg.norm(targets - own, axis=1),
        1 / len(pair.points),
    )


def reweighting_attack(pair, panel, gram, *, sources=32):
    """Least cost found of turning the pair by moving mass from training points to others.

    The support stays the training set: some points of the panel lose weight, others gain it.

    Parameters
    ----------
    pair, panel, gram
        As in `spread_attack`.
    sources : int
        How many points are moved at most.
    """
    if pair.gap == 0:
        return 0.0
    sign = np.sign(pair.gap)
    x, y = pair.points[panel] @ pair.a, pair.points[panel] @ pair.c
    harm = sign * x * y
    norms = np.diag(gram)
    distance = np.sqrt(np.maximum(norms[:, None] + norms - 2 * gram, 0.0))
    gain = harm[None, :] - harm[:, None]
    # From a row to a column.
    slopes = np.divide(gain, distance, out=np.full_like(gain, -np.inf), where=distance > 0)
    best = slopes.argmax(axis=1)
    steepest = slopes[np.arange(len(panel)), best]
    chosen = np.argsort(-steepest)[: min(sources, int((steepest > 0).sum()))]
    if not len(chosen):
        return np.inf
    rows = np.concatenate([best[chosen], chosen])
    return path_cost(
        pair.gap,
        x[rows],
        y[rows],
        gram[np.ix_(rows, rows)],
        distance[chosen, best[chosen]],
        1 / len(pair.points),
    )


def deletion_attack(sign, gap, x, y, self_influence, n, distances):
    """Least Wasserstein distance of P_{n,−k}, over the points k whose deletion turns the pair.

    With one point deleted, Q is n/(n − 1) times A − φ_kφ_kᵀ/n with A = Q − (λ/n)·I, because the
    ridge does not shrink with the data. So everything here is in the space whitened by A, where a
    deletion has rank one; the factor n/(n − 1) changes no order.

    Parameters
    ----------
    sign : float
        Of Δ.
    gap : float
        a·c, whitened by A.
    x, y, self_influence : numpy.ndarray, shape (q,)
        a·ψ_k, c·ψ_k and ‖ψ_k‖², whitened by A.
    n : int
    distances : numpy.ndarray, shape (q,)
        W₁(P_n, P_{n,−k}) in the natural metric of Q.

    Returns
    -------
    float
        Infinity when no deletion turns the pair.
    """
    after = gap + x * y / (n - self_influence)
    turned = after * sign <= 0
    return float(distances[turned].min(initial=np.inf))
