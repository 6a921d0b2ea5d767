"""Convex models: ridge regression and L2-regularised logistic regression, fitted to their optimum.

A model has K outputs η = Θx of an input x whose last coordinate is the constant 1, and the loss
ℓ(θ, z) = ℓ_data(η, y) + ½·penalty·‖θ‖² (paper, section 3.1: the regulariser is part of ℓ, the
intercept included).
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from wtrak.errors import WtrakError

# ridge: ½(η − y)², y a number. logistic: y 0 or 1, one output. multinomial: y from 0 to C - 1, C
# outputs.
MODELS = ("ridge", "logistic", "multinomial")


def outputs_of(kind, y):
    """K, the number of outputs."""
    if kind not in MODELS:
        raise WtrakError(f"model is {kind!r}, expected one of {', '.join(MODELS)}")
    return int(y.max()) + 1 if kind == "multinomial" else 1


def probabilities(kind, eta):
    """Of each class but the first (logistic), or of each class (multinomial), shape (N, K)."""
    if kind == "logistic":
        return np.exp(-np.logaddexp(0, -eta))
    shifted = np.exp(eta - eta.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


def data_loss(kind, eta, y):
    """ℓ_data of each example, shape (N,), from outputs (N, K)."""
    if kind == "ridge":
        return 0.5 * (eta[:, 0] - y) ** 2
    if kind == "logistic":
        return np.logaddexp(0, eta[:, 0]) - y * eta[:, 0]
    return np.logaddexp.reduce(eta, axis=1) - eta[np.arange(len(y)), y.astype(int)]


def slopes(kind, eta, y):
    """First derivative of ℓ_data in the outputs, shape (N, K)."""
    if kind == "ridge":
        return eta - y[:, None]
    r = probabilities(kind, eta)
    if kind == "logistic":
        return r - y[:, None]
    r[np.arange(len(y)), y.astype(int)] -= 1.0
    return r


def curvatures(kind, eta):
    """Second derivative of ℓ_data in the outputs, shape (N, K, K); it is free of the label."""
    if kind == "ridge":
        return np.ones((len(eta), 1, 1))
    p = probabilities(kind, eta)
    if kind == "logistic":
        return (p * (1 - p))[:, :, None]
    return np.einsum("na,ab->nab", p, np.eye(p.shape[1])) - p[:, :, None] * p[:, None, :]


def third_times(kind, eta, first, second):
    """Third derivative of ℓ_data in the outputs along two directions, shape (…, N, K).

    Parameters
    ----------
    eta : numpy.ndarray, shape (N, K)
    first, second : numpy.ndarray, shapes that broadcast to (…, N, K)
    """
    if kind == "ridge":
        return np.zeros(np.broadcast_shapes(first.shape, second.shape))
    p = probabilities(kind, eta)
    if kind == "logistic":
        return p * (1 - p) * (1 - 2 * p) * first * second
    # The third cumulant of a class drawn from p, along two directions.
    first = first - (p * first).sum(axis=-1, keepdims=True)
    second = second - (p * second).sum(axis=-1, keepdims=True)
    both = first * second
    return p * (both - (p * both).sum(axis=-1, keepdims=True))


@dataclass(frozen=True)
class Fit:
    """A model at the optimum of a weighted sample.

    Attributes
    ----------
    kind : str
        One of `MODELS`.
    penalty : float
    x : numpy.ndarray, shape (n, p), float64
    y : numpy.ndarray, shape (n,)
    weights : numpy.ndarray, shape (n,)
        Of the distribution Q that it is fitted to; they sum to 1.
    theta : numpy.ndarray, shape (K, p)
    factor : tuple
        Cholesky factor of the Hessian H_Q, for `solve`.
    gradient_norm : float
        Of E_Q[ℓ] at theta.
    """

    kind: str
    penalty: float
    x: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    theta: np.ndarray
    factor: tuple
    gradient_norm: float

    def solve(self, vectors):
        """H⁻¹ of vectors given as (…, K, p)."""
        flat = vectors.reshape(-1, self.theta.size).T
        return cho_solve(self.factor, flat).T.reshape(vectors.shape)


def gradients(kind, penalty, theta, x, y):
    """∇ℓ(θ, z) of N examples, shape (N, K, p)."""
    r = slopes(kind, x @ theta.T, y)
    return r[:, :, None] * x[:, None, :] + penalty * theta


def hessian(kind, penalty, theta, x, weights):
    """Σ_j q_j ∇²ℓ(θ, z_j), shape (K·p, K·p)."""
    a = curvatures(kind, x @ theta.T) * weights[:, None, None]
    k, p = theta.shape
    h = np.empty((k, p, k, p))
    for i in range(k):
        for j in range(k):
            h[i, :, j, :] = x.T @ (a[:, i, j, None] * x)
    return h.reshape(k * p, k * p) + penalty * weights.sum() * np.eye(k * p)


def fit(
    kind,
    penalty,
    x,
    y,
    *,
    n_outputs=None,
    weights=None,
    initial=None,
    tolerance=1e-12,
    max_steps=100,
):
    """Newton's method with step halving, to a gradient norm that rounding allows.

    Parameters
    ----------
    kind : str
        One of `MODELS`.
    penalty : float
        λ, 0 or more; the multinomial model needs it above 0, as its outputs may all shift alike.
    x : numpy.ndarray, shape (n, p), float64
    y : numpy.ndarray, shape (n,)
    n_outputs : int, optional
        K; for the multinomial model by default the largest label and one, otherwise 1.
    weights : numpy.ndarray, shape (n,), optional
        The distribution; uniform by default. One may be negative, as beyond a deletion, as long as
        the Hessian stays positive definite.
    initial : numpy.ndarray, shape (K, p), optional
    tolerance : float
        Euclidean norm of the gradient of E_Q[ℓ] to reach.

    Returns
    -------
    Fit

    Raises
    ------
    WtrakError
        If the data hold a value that is not finite, the Hessian is not positive definite, or the
        optimum is not reached: without a penalty, separable classes have none.
    """
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise WtrakError("the data of the convex model hold a value that is not finite")
    n, p = x.shape
    weights = np.full(n, 1 / n) if weights is None else weights
    theta = np.zeros((n_outputs or outputs_of(kind, y), p)) if initial is None else initial.copy()

    def objective(at):
        total = weights @ data_loss(kind, x @ at.T, y)
        return total + 0.5 * penalty * weights.sum() * (at * at).sum()

    def gradient(at):
        return np.einsum("n,nkp->kp", weights, gradients(kind, penalty, at, x, y))

    def factorised(at):
        try:
            return cho_factor(hessian(kind, penalty, at, x, weights), lower=True)
        except np.linalg.LinAlgError as error:
            raise WtrakError(
                f"the Hessian of the {kind} model is not positive definite: without a penalty "
                "(λ > 0) redundant features, or classes that a plane separates, leave no single "
                "optimum"
            ) from error

    g = gradient(theta)
    value, norm = objective(theta), np.linalg.norm(g)
    for _ in range(max_steps):
        if norm <= tolerance:
            break
        step = cho_solve(factorised(theta), g.ravel()).reshape(theta.shape)
        scale, decrease = 1.0, float((g * step).sum())
        while scale > 1e-10:
            candidate = theta - scale * step
            reached = objective(candidate)
            # Where the loss rounds, the gradient decides.
            if reached <= value - 1e-4 * scale * decrease or decrease < 1e-14 * (1 + abs(value)):
                break
            scale /= 2
        new = gradient(candidate)
        if np.linalg.norm(new) >= norm and decrease < 1e-14 * (1 + abs(value)):
            break
        theta, g, value, norm = candidate, new, reached, np.linalg.norm(new)
    # A plane that separates the classes can be scaled up without end: there is no optimum.
    separated = kind == "logistic" and penalty == 0 and ((2 * y - 1) * (x @ theta[0]) > 0).all()
    if separated or norm > max(tolerance, 1e-10):
        raise WtrakError(
            f"the {kind} model has no optimum within {max_steps} Newton steps (gradient norm "
            f"{norm:.3g}): its classes may be separable; give it a penalty (λ > 0)"
        )
    return Fit(kind, penalty, x, y, weights, theta, factorised(theta), float(norm))
