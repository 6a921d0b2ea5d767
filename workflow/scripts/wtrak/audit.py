"""Attacks on certificates: the cheapest move of training mass found that turns a pair's order.

A certificate is worth what an attack cannot break. An attack here moves mass of training points
inside the ball ‖ψ‖ ≤ R, pays for it in full (Σ mass·distance, an upper bound of the Wasserstein
distance that it spans), and recomputes the gap exactly with the perturbed Q. So whatever it finds
is a counterexample, and a pair that it turns at a cost below its certified radius refutes the
certificate.

For one pair, a point matters through its inner products with a = ψ_t and c = b_i − b_j and its norm
alone. `coordinates` turns these into three numbers, and everything else works on those.
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


def gap_after(pair, vectors, weights):
    """Δ exactly, after Σ_l w_l·u_l·u_lᵀ is added to the second moment in whitened space.

    aᵀ(I + UWUᵀ)⁻¹c = a·c − aᵀU(I + WUᵀU)⁻¹WUᵀc.

    Parameters
    ----------
    vectors : numpy.ndarray, shape (r, 3)
        In the same third direction.
    weights : numpy.ndarray, shape (r,)
        Negative where mass is taken away.
    """
    gram = vectors @ vectors.T
    inner = np.linalg.solve(
        np.eye(len(weights)) + weights[:, None] * gram, weights * (vectors @ pair.c)
    )
    return pair.gap - float((vectors @ pair.a) @ inner)


def steepest_targets(pair, rows, radius, steps=80):
    """For some points, where in the ball to move them so that the gap narrows most per distance.

    Projected gradient ascent of s·(S(t) − S(ψ))/‖t − ψ‖ with S(t) = (a·t)(c·t) and s the sign of
    the gap: adding mass at t moves the gap by −S(t), to first order. Several starts: the two ends
    of the axis that S responds to most, a short step up the gradient of S, and a random one.

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

    random = np.random.default_rng(0).standard_normal(points.shape)
    starts = [
        np.broadcast_to(end, points.shape),
        np.broadcast_to(-end, points.shape),
        inside(points + 1e-3 * radius * unit(gradient(points))),
        inside(radius * random),
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


def attack_radius(pair, radius, *, candidates=48, refined=8):
    """Least Wasserstein cost found of turning the pair by moving mass of one training point.

    Parameters
    ----------
    pair : Pair
    radius : float
        R: targets stay in this ball.
    candidates : int
        Points whose best target is searched: those that promise most, for a long move to the end of
        the axis and for a short one up the gradient.
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
    sign = np.sign(pair.gap)
    inner_a, inner_c = pair.points @ pair.a, pair.points @ pair.c
    axis = steepest_axis(pair)
    end = radius * axis
    target = sign * (end @ pair.a) * (end @ pair.c)
    along = np.abs(pair.points @ axis)
    squared = (pair.points**2).sum(axis=1)
    distance = np.sqrt(np.maximum(radius**2 + squared - 2 * radius * along, 1e-18))
    far = (target - sign * inner_a * inner_c) / distance
    near = np.linalg.norm(inner_c[:, None] * pair.a + inner_a[:, None] * pair.c, axis=1)
    half = min(candidates // 2, n)
    rows = np.unique(
        np.concatenate([np.argpartition(-values, half - 1)[:half] for values in (far, near)])
    )
    targets, slopes = steepest_targets(pair, rows, radius)
    cheapest = np.inf
    for k in np.argsort(-slopes)[:refined]:
        vectors = np.stack([targets[k], pair.points[rows[k]]])
        length = float(np.linalg.norm(vectors[0] - vectors[1]))

        def turned(mass, vectors=vectors):
            return gap_after(pair, vectors, np.array([mass, -mass])) * sign <= 0

        if not turned(1 / n):
            continue
        low, high = 0.0, 1 / n
        while high - low > 1e-6 * high:
            middle = 0.5 * (low + high)
            low, high = (low, middle) if turned(middle) else (middle, high)
        cheapest = min(cheapest, high * length)
    return cheapest
