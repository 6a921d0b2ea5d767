"""Approximate the logits of each training example from a head that was fitted without it.

The head is not refitted. It takes one Newton step from the optimum, whose only error is the change
of the curvature along the step. Computations use the Helmert basis of the sum-zero space over
classes, because there the Hessian of the loss is not singular.
"""

from dataclasses import dataclass

import numpy as np
import torch
from scipy.linalg import helmert

from wtrak.geometry.covariance import blocks_by_class_pair, factorise
from wtrak.geometry.gradients import residuals


@dataclass(frozen=True)
class LeaveOneOut:
    """Leave-one-out logits and influences of the n training examples of a head.

    Attributes
    ----------
    logits : numpy.ndarray, shape (n, C), float64
        Logits of each example from the head without it. Their mean over classes is 0.
    influence : numpy.ndarray, shape (n,), float64
        φᵀH⁻¹φ with the Hessian H of the objective. It is self-influence by influence functions;
        definition 5.2 has the second moment of gradients in the place of H.
    """

    logits: np.ndarray
    influence: np.ndarray


def hessian(z, activations, penalty, *, block_size, device):
    """Hessian of mean cross-entropy + ½·penalty·‖W‖², without the bias, in the Helmert basis.

    Parameters
    ----------
    z : numpy.ndarray, shape (n, C), float64
        Logits.
    activations : numpy.ndarray, shape (n, p), float32
        With the constant 1 as last column.
    penalty : float
        Above 0.

    Returns
    -------
    torch.Tensor, shape ((C - 1)·p, (C - 1)·p), float64, on `device`
    """
    probabilities = torch.softmax(torch.from_numpy(z).to(device), dim=1)
    basis = torch.from_numpy(helmert(z.shape[1])).to(device)
    reduced = probabilities @ basis.T

    def weights(rows, a, b):
        return probabilities[rows] @ (basis[a] * basis[b]) - reduced[rows, a] * reduced[rows, b]

    matrix = blocks_by_class_pair(
        activations, weights, len(basis), block_size=block_size, device=device
    )
    p = activations.shape[1]
    shrink = torch.full((len(basis), p), penalty, dtype=torch.float64, device=device)
    shrink[:, -1] = 0.0
    matrix.diagonal().add_(shrink.flatten())
    return matrix


def leave_one_out(z, activations, labels, penalty, *, block_size, device, groups=None):
    """Logits without each example, and its influence on itself.

    With J = (I ⊗ hᵀ)H⁻¹(I ⊗ h)/n, the curvature S = diag(p) − ppᵀ and the residual e = p − onehot
    of an example, its logits move by J(I − SJ)⁻¹e when it is left out.

    Parameters
    ----------
    z : numpy.ndarray, shape (n, C), float64
        Logits of a head fitted to `labels`, at or near its optimum.
    activations : numpy.ndarray, shape (n, p), float32
        With the constant 1 as last column.
    labels : numpy.ndarray, shape (n,), integers
    penalty : float
        Factor of ½‖W‖² that the head was fitted with.
    groups : numpy.ndarray, shape (n,), integers, optional
        Examples of one group are left out together, as copies must be: one that stays would tell
        the head the label. The influence stays that of each example alone.

    Returns
    -------
    LeaveOneOut

    Raises
    ------
    WtrakError
        If the Hessian is not positive definite in float64.
    """
    n, p = activations.shape
    helmert_basis = helmert(z.shape[1])
    basis = torch.from_numpy(helmert_basis).to(device)
    factor = factorise(hessian(z, activations, penalty, block_size=block_size, device=device))
    k = len(basis)
    inverse = torch.cholesky_inverse(factor).view(k, p, k, p)
    del factor
    e = residuals(z, labels, "loss") @ helmert_basis.T
    moves, influence = np.empty((n, k)), np.empty(n)
    for start in range(0, n, block_size):
        rows = slice(start, min(start + block_size, n))
        h = torch.from_numpy(activations[rows]).to(device, torch.float64)
        leverage = torch.empty(len(h), k, k, dtype=torch.float64, device=device)
        for a in range(k):
            for b in range(a, k):
                leverage[:, a, b] = leverage[:, b, a] = ((h @ inverse[a, :, b]) * h).sum(dim=1) / n
        probabilities = torch.softmax(torch.from_numpy(z[rows]).to(device), dim=1)
        reduced = probabilities @ basis.T
        curvature = torch.einsum("ac,nc,bc->nab", basis, probabilities, basis)
        curvature -= reduced[:, :, None] * reduced[:, None, :]
        own = torch.from_numpy(e[rows]).to(device)[:, :, None]
        identity = torch.eye(k, dtype=torch.float64, device=device)
        pushed = leverage @ torch.linalg.solve(identity - curvature @ leverage, own)
        moves[rows] = pushed[:, :, 0].cpu().numpy()
        influence[rows] = n * (own * (leverage @ own)).sum(dim=(1, 2)).cpu().numpy()
    for rows in _shared(groups) if groups is not None else ():
        moves[rows] = _move_without(rows, z, activations, e, basis, inverse, n)
    return LeaveOneOut((z @ helmert_basis.T + moves) @ helmert_basis, influence)


def _shared(groups):
    """Rows of each group of more than one example."""
    numbers, sizes = np.unique(groups, return_counts=True)
    return [np.flatnonzero(groups == number) for number in numbers[sizes > 1]]


def _move_without(rows, z, activations, e, basis, inverse, n):
    """Moves of a group's logits when all of it is left out, shape (len(rows), k), Helmert basis.

    The same formula as for one example: J holds a block for each pair of the group, S and e stand
    below one another.
    """
    device, k = basis.device, len(basis)
    h = torch.from_numpy(activations[rows]).to(device, torch.float64)
    leverage = torch.einsum("ip,apbq,jq->iajb", h, inverse, h) / n
    probabilities = torch.softmax(torch.from_numpy(z[rows]).to(device), dim=1)
    reduced = probabilities @ basis.T
    curvature = torch.einsum("ac,nc,bc->nab", basis, probabilities, basis)
    curvature -= reduced[:, :, None] * reduced[:, None, :]
    pushing = torch.eye(len(rows) * k, dtype=torch.float64, device=device)
    pushing -= torch.einsum("iab,ibjc->iajc", curvature, leverage).reshape(pushing.shape)
    own = torch.from_numpy(e[rows]).to(device).reshape(-1, 1)
    pushed = leverage.reshape(pushing.shape) @ torch.linalg.solve(pushing, own)
    return pushed.reshape(len(rows), k).cpu().numpy()
