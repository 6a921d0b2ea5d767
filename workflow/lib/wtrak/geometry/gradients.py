"""Per-example gradients φ = vec(e ⊗ h) of the last layer, stored as their two factors."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import helmert

from wtrak.errors import WtrakError

GRADIENTS = ("loss", "margin", "logit")


@dataclass(frozen=True)
class Gradients:
    """φ_i = vec(e_i ⊗ h_i) for N examples, in N·(C + p) numbers instead of N·C·p.

    Attributes
    ----------
    residuals : numpy.ndarray, shape (N, C), float64
        e; (N, C - 1) in the sum-zero basis.
    activations : numpy.ndarray, shape (N, p), float32 or float64
        h, the constant 1 of the bias last.
    index : numpy.ndarray, shape (N,), int64
        Row of each example in its dataset.
    """

    residuals: np.ndarray
    activations: np.ndarray
    index: np.ndarray

    def __post_init__(self):
        n = len(self.index)
        if len(self.residuals) != n or len(self.activations) != n:
            raise WtrakError(
                f"{len(self.residuals)} residuals, {len(self.activations)} activations and {n} "
                "indices differ in number"
            )
        for name in ("residuals", "activations"):
            bad = np.flatnonzero(~np.isfinite(getattr(self, name)).all(axis=1))
            if bad.size:
                raise WtrakError(
                    f"the {name} of {bad.size} examples are not finite; the first is example "
                    f"{self.index[bad[0]]} of its dataset"
                )

    def __len__(self):
        return len(self.index)

    @property
    def dimension(self):
        """d: number of coordinates of φ."""
        return self.residuals.shape[1] * self.activations.shape[1]

    def take(self, rows):
        """Gradients of a selection of rows."""
        return Gradients(self.residuals[rows], self.activations[rows], self.index[rows])

    def squared_norms(self):
        """‖φ_i‖² = ‖e_i‖²‖h_i‖², shape (N,)."""
        e, h = self.residuals, self.activations.astype(np.float64)
        return np.einsum("nc,nc->n", e, e) * np.einsum("np,np->n", h, h)


def assemble(features, residuals, index):
    """Gradients of the examples `index` of a dataset.

    Parameters
    ----------
    features : numpy.ndarray, shape (dataset size, p - 1)
        Penultimate features of the whole dataset.
    residuals : numpy.ndarray, shape (N, C)
        Of the examples in `index`, in that order.
    index : numpy.ndarray, shape (N,)
    """
    return Gradients(residuals, append_constant(features[index]), index)


def append_constant(features, dtype=np.float32):
    """Activations h: penultimate features (N, p - 1) with the constant 1 for the bias."""
    ones = np.ones((len(features), 1), dtype=dtype)
    return np.concatenate([features.astype(dtype, copy=False), ones], axis=1)


def residuals(z, labels, gradient):
    """Residuals e: derivatives of the chosen output with respect to the logits.

    Parameters
    ----------
    z : numpy.ndarray, shape (N, C), float64
        Logits.
    labels : numpy.ndarray, shape (N,), integers
    gradient : {"loss", "margin", "logit"}
        ``loss``: cross-entropy, e = softmax(z) − onehot(y) (paper, appendix B).
        ``margin``: log p_y/(1 − p_y) (TRAK), e = onehot(y) − softmax of z over the other classes.
        It is computed from these classes only, so that a confident example gives no NaN.
        ``logit``: the true class's logit, e = onehot(y) (paper, section 4.1).

    Returns
    -------
    numpy.ndarray, shape (N, C), float64
    """
    rows = np.arange(len(z))
    onehot = np.zeros_like(z)
    onehot[rows, labels] = 1.0
    if gradient == "loss":
        return _softmax(z) - onehot
    if gradient == "margin":
        others = z.copy()
        others[rows, labels] = -np.inf
        return onehot - _softmax(others)
    if gradient == "logit":
        return onehot
    raise WtrakError(f"gradient is {gradient!r}, expected one of {', '.join(GRADIENTS)}")


def _softmax(z):
    shifted = np.exp(z - z.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


def sums_to_zero(gradient):
    """Whether e sums to zero over classes, so that φ lies in (C − 1)·p dimensions."""
    return gradient in ("loss", "margin")


def reduce_to_sum_zero(gradients):
    """The same gradients in an orthonormal (Helmert) basis of the sum-zero residual space.

    Inner products do not change, and so neither do τ and SI. Q loses p eigenvalues that equal λ.

    Raises
    ------
    WtrakError
        If residuals do not sum to zero (the logit gradient's do not).
    """
    e = gradients.residuals
    scale = np.abs(e).max(initial=0.0)
    if np.abs(e.sum(axis=1)).max(initial=0.0) > 1e-9 * max(scale, 1.0):
        raise WtrakError("residuals do not sum to zero over classes; use the full space")
    return Gradients(e @ helmert(e.shape[1]).T, gradients.activations, gradients.index)
