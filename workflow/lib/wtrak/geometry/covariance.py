"""The regularised feature covariance Q = (1/n) Σ φφᵀ + λI (Algorithm 2, line 1)."""

from itertools import pairwise

import numpy as np
import torch

from wtrak.errors import WtrakError

# Each class-pair block is symmetric. Its lower triangle is computed in this many panels.
_PANELS = 4


def second_moment(gradients, *, block_size, device):
    """(1/n) Σ φφᵀ by class-pair blocks, in float64, without forming φ.

    The block of classes a ≤ b is (1/n) Hᵀ diag(e_a e_b) H. It is itself symmetric, so four
    panels of its lower triangle suffice: 5/8 of the operations of the plain product.

    Parameters
    ----------
    gradients : Gradients
        n examples in d = C·p dimensions.
    block_size : int
        Rows processed at a time. Memory is O(d² + block_size·p).
    device : torch.device

    Returns
    -------
    torch.Tensor, shape (d, d), float64, on `device`
    """
    e = torch.from_numpy(gradients.residuals).to(device)
    return blocks_by_class_pair(
        gradients.activations,
        lambda rows, a, b: e[rows, a] * e[rows, b],
        e.shape[1],
        block_size=block_size,
        device=device,
    )


def blocks_by_class_pair(activations, weights, n_classes, *, block_size, device):
    """The symmetric matrix whose block of classes a ≤ b is (1/n) Hᵀ diag(w_ab) H.

    Parameters
    ----------
    activations : numpy.ndarray, shape (n, p)
        H.
    weights : callable
        Maps a slice of rows, a and b to w_ab of these rows, a tensor on `device`.
    n_classes, block_size : int
    device : torch.device

    Returns
    -------
    torch.Tensor, shape (C·p, C·p), float64, on `device`
    """
    n, p = activations.shape
    pairs = [(a, b) for a in range(n_classes) for b in range(a, n_classes)]
    blocks = torch.zeros(len(pairs), p, p, dtype=torch.float64, device=device)
    edges = np.linspace(0, p, _PANELS + 1).astype(int)
    for start in range(0, n, block_size):
        rows = slice(start, start + block_size)
        h = torch.from_numpy(activations[rows]).to(device, torch.float64)
        weighted = torch.empty_like(h)
        for block, (a, b) in zip(blocks, pairs, strict=True):
            torch.mul(h, weights(rows, a, b)[:, None], out=weighted)
            for first, last in pairwise(edges):
                block[first:, first:last].addmm_(weighted[:, first:].T, h[:, first:last])
    q = torch.empty(n_classes * p, n_classes * p, dtype=torch.float64, device=device)
    for block, (a, b) in zip(blocks, pairs, strict=True):
        block = torch.tril(block) + torch.tril(block, -1).T
        q[a * p : (a + 1) * p, b * p : (b + 1) * p] = block
        q[b * p : (b + 1) * p, a * p : (a + 1) * p] = block
    return q.div_(n)


def second_moment_operations(n, n_classes, p):
    """Floating-point operations of one full matrix product for each class pair.

    `second_moment` needs only 5/8 of them, so it can be faster than this number suggests.
    """
    return 1.0 * n * p * p * n_classes * (n_classes + 1)


def add_ridge(moment, ridge):
    """Add λI to (1/n) Σ φφᵀ in place, and return it.

    Raises
    ------
    WtrakError
        If λ is not positive. Q may then have no inverse.
    """
    if not ridge > 0:
        raise WtrakError(
            f"the ridge is {ridge}; it must be positive, because Q has rank at most n and, for "
            "loss and margin gradients, at most (C - 1)·p"
        )
    moment.diagonal().add_(ridge)
    return moment


def factorise(q):
    """Lower Cholesky factor L of Q = LLᵀ, shape (d, d).

    Raises
    ------
    WtrakError
        If Q has a value that is not finite, or is not positive definite in float64.
    """
    if not torch.isfinite(q).all():
        raise WtrakError(
            "the covariance has values that are not finite: an activation or residual is too large"
        )
    factor, info = torch.linalg.cholesky_ex(q)
    if int(info) > 0:
        raise WtrakError(
            f"the covariance is not positive definite: its leading minor of order {int(info)} "
            "is not positive in float64. Raise the ridge; it is below the rounding error of the "
            "largest eigenvalue"
        )
    return factor


def eigenvalues(q, ridge):
    """Eigenvalues of Q in descending order, float64.

    Eigenvalues that rounding puts just below λ are set to λ.

    Raises
    ------
    WtrakError
        If an eigenvalue is below λ by more than rounding. Q is then no second moment plus λI.
    """
    values = torch.linalg.eigvalsh(q).flip(0).cpu().numpy()
    rounding = 10 * len(values) * np.finfo(np.float64).eps * values[0]
    if values[-1] < ridge - rounding:
        raise WtrakError(
            f"the covariance has eigenvalue {values[-1]:.3g}, below its ridge {ridge:g} by more "
            f"than rounding ({rounding:.1g})"
        )
    return np.maximum(values, ridge)


def full_spectrum(reduced, ridge, n_features):
    """Eigenvalues of Q on all C·p dimensions, from those on the sum-zero space.

    If residuals sum to zero over classes, Q has p further eigenvalues that equal λ.
    """
    return np.concatenate([reduced, np.full(n_features, ridge)])


def effective_dimension(spectrum, ridge):
    """Effective dimension tr(Q⁻¹(Q − λI)) = Σ_k (λ_k − λ)/λ_k.

    It equals the mean self-influence of the training set.
    """
    return float(np.sum((spectrum - ridge) / spectrum))
