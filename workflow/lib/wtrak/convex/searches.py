"""What moves an influence the most: places in a ball of inputs, and distributions on the points.

Bounds of `wrif` must exceed what is found here, and attacks on its intervals are made of it.
"""

import numpy as np
from scipy.optimize import minimize

from wtrak.convex.models import curvatures, slopes, third_times
from wtrak.convex.wrif import Kernel, evaluate


def steepest_slope(fit, kernel, i, centre, radius, rng, restarts=8):
    """Largest norm of the gradient in x of one kernel found in a ball: what a bound must exceed.

    Parameters
    ----------
    i : int
        Training point.
    rng : numpy.random.Generator
        Draws where the searches start.
    """
    one = _of(kernel, i)
    labels = np.unique(fit.y)
    best = 0.0
    for start in range(restarts):
        y = labels[start % len(labels)]

        def negative(offset, y=y):
            x = _in_ball(centre, radius, offset)
            return -np.linalg.norm(_gradient_in_x(fit, one, x[:-1], y))

        found = minimize(negative, _random_offset(centre, radius, rng), method="L-BFGS-B")
        best = max(best, -float(found.fun))
    return best


def steepest_point(fit, kernel, i, j, centre, radius, cost, rng, restarts=4):
    """A place z in a ball that makes |S_i(z) − S_i(z_j)| / d(z, z_j) large, and that ratio.

    Mass of training point j moved there changes I_i the most for what the move costs.

    Parameters
    ----------
    cost : float
        c of the metric.
    restarts : int
        Searches for each label; those of ridge regression are the smallest and the largest.

    Returns
    -------
    x : numpy.ndarray, shape (p,)
    y : float
    ratio : float
    """
    one = _of(kernel, i)
    here_x, here_y = fit.x[j], fit.y[j]
    start_value = float(evaluate(fit, one, here_x[None], fit.y[j : j + 1])[0, 0])
    best = (here_x, here_y, 0.0)
    labels = (fit.y.min(), fit.y.max()) if fit.kind == "ridge" else np.unique(fit.y)
    for k in range(restarts * len(labels)):
        y = labels[k % len(labels)]
        flip = cost * (abs(y - here_y) if fit.kind == "ridge" else y != here_y)

        def negative(offset, y=y, flip=flip):
            x = _in_ball(centre, radius, offset)
            there = float(evaluate(fit, one, x[None], np.array([y]))[0, 0])
            return -abs(there - start_value) / (np.linalg.norm(x - here_x) + flip + 1e-9 * radius)

        start = _random_offset(centre, radius, rng)
        found = minimize(negative, start, method="L-BFGS-B", options={"maxiter": 60})
        if -found.fun > best[2]:
            best = (_in_ball(centre, radius, found.x), float(y), float(-found.fun))
    return best


def worst_on_support(values, distances, epsilon, weights):
    """The distribution on the points that moves ∫S dQ the most within W₁(Q, P) ≤ ε.

    Solves the transport problem through its dual, min_λ λε + Σ_j p_j max_k (S_k − λd_jk): a convex
    function of one number. Every point goes to the best place at that price, and those that are
    indifferent between two places are split so that exactly ε is spent.

    Parameters
    ----------
    values : numpy.ndarray, shape (J,)
        S at the points; for the infimum give −S.
    distances : numpy.ndarray, shape (J, J)
    epsilon : float
        Above 0.
    weights : numpy.ndarray, shape (J,)
        P.

    Returns
    -------
    numpy.ndarray, shape (J,)
        Q.
    """
    rows = np.arange(len(values))

    def moved(price):
        """Where each point goes at a price, and what that costs."""
        target = np.argmax(values[None] - price * distances, axis=1)
        return target, float(weights @ distances[rows, target])

    low, high = 0.0, 1.0
    if moved(low)[1] <= epsilon:
        return np.bincount(moved(low)[0], weights, len(values))
    while moved(high)[1] > epsilon:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if moved(middle)[1] > epsilon else (low, middle)
    (far, cost_far), (near, cost_near) = moved(low), moved(high)
    share = (epsilon - cost_near) / max(cost_far - cost_near, 1e-300)
    shares = ((far, min(share, 1.0)), (near, 1.0 - min(share, 1.0)))
    return sum(part * np.bincount(to, weights, len(values)) for to, part in shares)


def _of(kernel, i):
    """The kernel of one training point."""
    return Kernel(kernel.u, kernel.v[[i]], kernel.b[[i]], kernel.constants[[i]])


def _in_ball(centre, radius, offset):
    """The input at an offset from the centre, or on the ball's edge where that is beyond it."""
    length = max(np.linalg.norm(offset), radius)
    return np.append(centre[:-1] + offset * (radius / length), 1.0)


def _random_offset(centre, radius, rng):
    """In a direction from the centre, each as likely, and at a distance up to the radius."""
    direction = rng.standard_normal(len(centre) - 1)
    return radius * rng.random() * direction / np.linalg.norm(direction)


def _gradient_in_x(fit, kernel, x, y):
    """∇_x S at one point for a kernel of one training point, shape (p - 1,)."""
    point = np.append(x, 1.0)[None]
    eta = point @ fit.theta.T
    a = curvatures(fit.kind, eta)[0]
    alpha, beta = point @ kernel.u.T, point @ kernel.v[0].T
    theta, u, v, b = fit.theta, kernel.u, kernel.v[0], kernel.b[0]
    third = third_times(fit.kind, eta, alpha, beta)[0]
    out = third @ theta + (a @ beta[0]) @ u + (a @ alpha[0]) @ v
    out = out + (a @ (b @ point[0])) @ theta + slopes(fit.kind, eta, np.array([y]))[0] @ b
    return out[:-1]
