"""Wasserstein-robust influence functions of convex models (sections 3.2 to 3.5, Algorithm 1).

With u = H⁻¹g_test, v = H⁻¹g_i and w = H⁻¹g_z, the influence I = −g_testᵀH⁻¹g_i of a training on a
test point changes along Q_t = (1 − t)P_n + tδ_z at the rate of a sensitivity kernel:

- ``hessian_only`` (prior work): S_H = uᵀ(H_z − H)v
- ``paper`` (definition 3.4): S_H + wᵀH_test v + uᵀH_i w
- ``corrected``: the same − uᵀE[D³ℓ(θ̂, ·)[w]]v. H_Q is taken at θ̂(Q), which moves; for a loss that
  is quadratic in θ the term is 0 and the paper's kernel is exact.
"""

from dataclasses import dataclass

import numpy as np

from wtrak.convex.models import (
    curvatures,
    data_loss,
    fit,
    gradients,
    hessian,
    third_times,
)
from wtrak.errors import WtrakError

KERNELS = ("hessian_only", "paper", "corrected")

# Largest operator norms of the derivatives of ℓ_data in its outputs, and of the first derivative's
# change when the label changes: curvature, third derivative, slope, slope of another label.
# A variance and a third central moment of a variable of range √2 (multinomial) or 1 (logistic).
_BOUNDS = {
    "logistic": (1 / 4, 1 / (6 * np.sqrt(3)), 1.0, 1.0),
    "multinomial": (1 / 2, np.sqrt(2) / (3 * np.sqrt(3)), np.sqrt(2), np.sqrt(2)),
}


@dataclass(frozen=True)
class Kernel:
    """The sensitivity kernel of one test point and every training point, as a function of z.

    S(z) = (Ux)ᵀA(Θx)(V_i x) + B_i·∇ℓ(z) + C_i for z = (x, y), with A the second and ∇ℓ the first
    derivative of the loss at θ̂.

    Attributes
    ----------
    u : numpy.ndarray, shape (K, p)
    v, b : numpy.ndarray, shape (n, K, p)
        V_i = H⁻¹g_i; B_i = H⁻¹ times what w is multiplied with.
    constants : numpy.ndarray, shape (n,)
        C_i.
    """

    u: np.ndarray
    v: np.ndarray
    b: np.ndarray
    constants: np.ndarray


def influences(fit, x_test, y_test):
    """I of every training on every test point (equation 2), shape (m, n)."""
    test = gradients(fit.kind, fit.penalty, fit.theta, x_test, y_test)
    train = gradients(fit.kind, fit.penalty, fit.theta, fit.x, fit.y)
    return -np.einsum("mkp,nkp->mn", fit.solve(test), train, optimize=True)


def sensitivity(fit, x_test, y_test, kind="corrected"):
    """The sensitivity kernel of one test point and every training point.

    Parameters
    ----------
    fit : Fit
        n points.
    x_test : numpy.ndarray, shape (p,)
    y_test : float
    kind : str
        One of `KERNELS`.

    Returns
    -------
    Kernel
    """
    if kind not in KERNELS:
        raise WtrakError(f"kernel is {kind!r}, expected one of {', '.join(KERNELS)}")
    x, theta, penalty = fit.x, fit.theta, fit.penalty
    g_test = gradients(fit.kind, penalty, theta, x_test[None], np.array([y_test]))
    g = gradients(fit.kind, penalty, theta, x, fit.y)
    u, v = fit.solve(g_test)[0], fit.solve(g)
    # −uᵀHv is the influence itself.
    constants = penalty * np.einsum("kp,nkp->n", u, v) - np.einsum("kp,nkp->n", u, g)
    if kind == "hessian_only":
        return Kernel(u, v, np.zeros_like(v), constants)
    eta = x @ theta.T
    a_test = curvatures(fit.kind, (x_test @ theta.T)[None])[0]
    a_own = curvatures(fit.kind, eta)
    alpha, beta_test = x @ u.T, v @ x_test
    b = penalty * (v + u)
    b += np.einsum("kl,nl,p->nkp", a_test, beta_test, x_test)
    b += np.einsum("nkl,nl,np->nkp", a_own, alpha, x)
    if kind == "corrected":
        beta = np.einsum("nkp,jp->njk", v, x, optimize=True)
        third = third_times(fit.kind, eta, alpha[None], beta)
        b -= np.einsum("j,njk,jp->nkp", fit.weights, third, x, optimize=True)
    return Kernel(u, v, fit.solve(b), constants)


def evaluate(fit, kernel, x, y):
    """S_i(z) of every training point i at J points z, shape (n, J)."""
    a = curvatures(fit.kind, x @ fit.theta.T)
    pulled = np.einsum("jkl,jk->jl", a, x @ kernel.u.T)
    beta = np.einsum("nkp,jp->njk", kernel.v, x, optimize=True)
    s = np.einsum("jl,njl->nj", pulled, beta)
    g = gradients(fit.kind, fit.penalty, fit.theta, x, y).reshape(len(x), -1)
    s += kernel.b.reshape(len(kernel.b), -1) @ g.T
    s += kernel.constants[:, None]
    return s


# --- the metric on examples ---


def label_cost(x):
    """c of the metric |x − x'| + c·1[y ≠ y']: twice the median distance between examples."""
    distances = _distances(x, x)[np.triu_indices(len(x), 1)]
    return float(2 * np.median(distances))


def example_distances(x, y, cost, kind, others=None):
    """|x − x'| + c·1[y ≠ y'], or + c·|y − y'| for ridge regression, shape (N, M)."""
    other_x, other_y = (x, y) if others is None else others
    apart = y[:, None] - other_y[None]
    apart = np.abs(apart) if kind == "ridge" else (apart != 0)
    return _distances(x, other_x) + cost * apart


def _distances(a, b):
    squared = (a * a).sum(axis=1)[:, None] + (b * b).sum(axis=1) - 2 * a @ b.T
    distances = np.sqrt(np.maximum(squared, 0))
    if a is b:
        np.fill_diagonal(distances, 0.0)
    return distances


def diameter(distances):
    """diam(Z) over the points at hand."""
    return float(distances.max())


def enclosing_ball(x):
    """A ball around the mean that holds all inputs: its centre, the constant 1 last, and radius."""
    centre = x.mean(axis=0)
    return centre, float(np.linalg.norm(x - centre, axis=1).max())


# --- Lipschitz constants ---


def lipschitz_over_pairs(values, distances):
    """Largest slope of each kernel over pairs of points (Algorithm 1, line 9), shape (n,).

    For distributions on these points, ε times the constant bounds ∫S d(Q − P), the first-order
    change, and is attained while ε ≤ d/n, with d the distance of the steepest pair. It bounds no
    exact change: terms of order ε² come on top. It bounds nothing for distributions with mass
    elsewhere, since between and beyond the points a kernel may be steeper.

    Parameters
    ----------
    values : numpy.ndarray, shape (n, J)
        Of n kernels at J points.
    distances : numpy.ndarray, shape (J, J)
        Points at distance 0 are one: the kernels must agree there, which is not checked.
    """
    inverse = _inverse(distances)
    points = np.ascontiguousarray(values.T)
    out = np.zeros(len(values))
    work = np.empty_like(points)
    for j in range(len(points) - 1):
        part = work[j + 1 :]
        np.subtract(points[j + 1 :], points[j], out=part)
        np.abs(part, out=part)
        part *= inverse[j, j + 1 :, None]
        np.maximum(out, part.max(axis=0), out=out)
    return out


def lipschitz_over_domain(fit, kernel, centre, radius, cost, y_range=None):
    """A bound on the slope of each kernel over a ball of inputs and all labels, shape (n,).

    For distributions in the ball, ε times the constant bounds the first-order change. No
    distribution need attain it, since mass starts at training points only.

    The gradient of S in x is bounded term by term, and a change of the label by what it changes of
    the slope: max(that of x, that of y / c) bounds |S(z) − S(z')| / d(z, z') (the ball is convex).

    Parameters
    ----------
    centre : numpy.ndarray, shape (p,)
        Of the ball, the constant 1 last.
    radius : float
        Of the ball of the other coordinates; inputs beyond it are not covered.
    cost : float
        c of the metric.
    y_range : pair of float
        Labels of ridge regression lie between these.
    """
    theta = fit.theta[:, :-1]

    def largest(matrix):
        """sup ‖Mx‖ over the ball, by ‖M·centre‖ + ‖M‖·radius, for (…, K, p)."""
        norms = np.linalg.norm(matrix[..., :-1], ord=2, axis=(-2, -1))
        return np.linalg.norm(matrix @ centre, axis=-1) + norms * radius, norms

    (alpha, u), (beta, v), (gamma, b) = map(largest, (kernel.u, kernel.v, kernel.b))
    slope_of_theta = np.linalg.norm(theta, ord=2)
    if fit.kind == "ridge":
        eta = largest(fit.theta)[0]
        slope = eta + np.abs(y_range).max()
        in_x = u * beta + v * alpha + gamma * slope_of_theta + slope * b
        in_y = gamma
    else:
        curvature, third, slope, label = _BOUNDS[fit.kind]
        in_x = third * slope_of_theta * alpha * beta + curvature * (u * beta + v * alpha)
        in_x += curvature * slope_of_theta * gamma + slope * b
        in_y = label * gamma
    return np.maximum(in_x, in_y / cost)


def algorithm_1(fit, x_test, y_test, distances, epsilon):
    """Algorithm 1 as printed, one training point after the other: what `sensitivity` speeds up.

    Only for models of one output. After the lines before the loop, a training point takes n·p²
    products for the kernel and n²/2 slopes: n²p² and n³/2 for all of them.

    Parameters
    ----------
    distances : numpy.ndarray, shape (n, n)
    epsilon : float

    Yields
    ------
    pair of float
        Lower and upper end of the interval of the next training point.
    """
    x, identity = fit.x, fit.penalty * np.eye(fit.x.shape[1])
    a = curvatures(fit.kind, x @ fit.theta.T)[:, 0, 0]
    a_test = curvatures(fit.kind, x_test[None] @ fit.theta.T)[0, 0, 0]
    h_test = a_test * np.outer(x_test, x_test) + identity
    h_own = a[:, None, None] * x[:, :, None] * x[:, None, :] + identity
    h = hessian(fit.kind, fit.penalty, fit.theta, x, fit.weights)
    g = gradients(fit.kind, fit.penalty, fit.theta, x, fit.y)[:, 0]
    g_test = gradients(fit.kind, fit.penalty, fit.theta, x_test[None], np.array([y_test]))[0, 0]
    u, v = np.linalg.solve(h, g_test), np.linalg.solve(h, g.T).T
    inverse = _inverse(distances)
    for i in range(len(x)):
        s = (h_own @ v[i] - h @ v[i]) @ u + v @ (h_test @ v[i]) + v @ (h_own[i] @ u)
        slope = _largest_slope(s, inverse)
        influence = -g_test @ v[i]
        yield influence - epsilon * slope, influence + epsilon * slope


def _inverse(distances):
    """1 / distance, and 0 for points at the same place."""
    return np.divide(1.0, distances, out=np.zeros_like(distances), where=distances > 0)


def _largest_slope(values, inverse, rows=16):
    """Largest |S_j − S_k| / d_jk; a few rows at a time stay in the processor's cache."""
    largest = 0.0
    for start in range(0, len(values), rows):
        part = values[start:] - values[start : start + rows, None]
        np.abs(part, out=part)
        part *= inverse[start : start + rows, start:]
        largest = max(largest, float(part.max()))
    return largest


# --- exact influence under another distribution, and leave-one-out ---


def refit(start, weights):
    """The model at the optimum of other weights of the same points, by a few Newton steps."""
    return fit(start.kind, start.penalty, start.x, start.y, weights=weights, initial=start.theta)


def influence_at(moved, x_i, y_i, x_test, y_test):
    """I_Q of an example on test points, at the optimum `moved` of Q, shape (m,)."""
    own = gradients(moved.kind, moved.penalty, moved.theta, x_i[None], np.array([y_i]))
    test = gradients(moved.kind, moved.penalty, moved.theta, x_test, y_test)
    return -np.einsum("kp,mkp->m", moved.solve(own)[0], test)


# What "leave-one-out influence" may mean; the paper defines none of them.
LEAVE_ONE_OUT = {
    "influence": "I at P without i",
    "scaled": "−nΔℓ",
    "log_scaled": "−Δℓ/ln(n/(n−1))",
    "raw": "Δℓ",
    "sign": "nΔℓ",
}


def leave_one_out(fit, x_test, y_test):
    """Every definition of leave-one-out influence, by exact fits without each point.

    Δℓ is the loss of the test point without example i less that with it, both regularised.

    Returns
    -------
    dict of str to numpy.ndarray, shape (m, n)
        Named as in `LEAVE_ONE_OUT`.
    """
    n = len(fit.x)
    there = np.empty((len(y_test), n))
    change = np.empty((len(y_test), n))
    before = total_loss(fit, x_test, y_test)
    for i in range(n):
        weights = np.full(n, 1 / (n - 1))
        weights[i] = 0.0
        moved = refit(fit, weights)
        there[:, i] = influence_at(moved, fit.x[i], fit.y[i], x_test, y_test)
        change[:, i] = total_loss(moved, x_test, y_test) - before
    return {
        "influence": there,
        "scaled": -n * change,
        "log_scaled": -change / np.log(n / (n - 1)),
        "raw": change,
        "sign": n * change,
    }


def total_loss(fit, x, y):
    """ℓ(θ, z) of each example, the regulariser included, shape (N,)."""
    return data_loss(fit.kind, x @ fit.theta.T, y) + 0.5 * fit.penalty * (fit.theta**2).sum()


def deletion_radii(distances):
    """W₁(P, P without i) = (1/n)·mean_{j ≠ i} d(z_i, z_j), shape (n,): never above diam/n."""
    n = len(distances)
    return distances.sum(axis=1) / (n * (n - 1))
