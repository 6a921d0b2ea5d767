"""Whitened gradients, self-influence and TRAK scores (Algorithm 2, lines 2, 3 and 7).

With Q = LLᵀ the whitened gradient is ψ = L⁻¹φ. It differs from Q^{-1/2}φ by a rotation, so norms
and inner products agree.
"""

from dataclasses import dataclass

import numpy as np
import torch


def explicit_block(gradients, rows, device):
    """Gradients φ of a slice of rows, shape (B, d), float64, on `device`."""
    h = torch.from_numpy(gradients.activations[rows]).to(device, torch.float64)
    e = torch.from_numpy(gradients.residuals[rows]).to(device)
    return (e[:, :, None] * h[:, None, :]).reshape(len(e), -1)


def whiten(phi, factor):
    """Whitened gradients ψ = L⁻¹φ of rows of φ, shape (B, d)."""
    return torch.linalg.solve_triangular(factor.T, phi, upper=True, left=False)


def unwhiten(psi, factor):
    """Q⁻¹φ = L⁻ᵀψ of rows of ψ, shape (B, d)."""
    return torch.linalg.solve_triangular(factor, psi, upper=False, left=False)


def whitened(gradients, factor, *, block_size):
    """Whitened gradients ψ of all rows, shape (N, d), float64. Memory is O(N·d)."""
    blocks = [
        whiten(explicit_block(gradients, slice(k, k + block_size), factor.device), factor)
        for k in range(0, len(gradients), block_size)
    ]
    return torch.cat(blocks)


@dataclass(frozen=True)
class Scores:
    """Results of one pass over N examples.

    Attributes
    ----------
    self_influence : numpy.ndarray, shape (N,), float64
        SI = ‖ψ‖² = φᵀQ⁻¹φ (definition 5.2).
    inverse_norms : numpy.ndarray, shape (N,), float64
        ‖Q⁻¹φ‖, for the Euclidean constants.
    trak : numpy.ndarray, shape (m, N), float32
        τ = ψ_t·ψ_i for m query points (equation 6), not rescaled. For loss gradients a positive
        score means that training on i lowers the loss of t.
    mean_distances : numpy.ndarray, shape (K,), float64
        Mean natural distance ‖ψ_k − ψ_i‖ from each of K anchor points to all N examples.
    """

    self_influence: np.ndarray
    inverse_norms: np.ndarray
    trak: np.ndarray
    mean_distances: np.ndarray


def score(gradients, factor, queries, anchors, *, block_size, advance=lambda k: None):
    """Self-influence, ‖Q⁻¹φ‖, TRAK scores and mean natural distances in one pass over blocks.

    Parameters
    ----------
    gradients : Gradients
        N examples in d dimensions.
    factor : torch.Tensor, shape (d, d), float64
        Lower Cholesky factor of Q.
    queries : torch.Tensor, shape (m, d)
        Whitened gradients of the points to attribute; may be empty.
    anchors : torch.Tensor, shape (K, d)
        Whitened gradients of the points to measure distances from; may be empty.
    block_size : int
        Rows processed at a time. Memory is O(d² + (block_size + m + K)·d + m·N).
    """
    n = len(gradients)
    self_influence, inverse_norms = np.empty(n), np.empty(n)
    trak = np.empty((len(queries), n), dtype=np.float32)
    distance_sums = torch.zeros(len(anchors), dtype=torch.float64, device=factor.device)
    anchor_norms = (anchors * anchors).sum(dim=1)
    for start in range(0, n, block_size):
        rows = slice(start, min(start + block_size, n))
        psi = whiten(explicit_block(gradients, rows, factor.device), factor)
        norms = (psi * psi).sum(dim=1)
        self_influence[rows] = norms.cpu().numpy()
        if len(queries):
            trak[:, rows] = (queries @ psi.T).float().cpu().numpy()
        if len(anchors):
            squared = anchor_norms[:, None] + norms[None, :] - 2 * (anchors @ psi.T)
            distance_sums += squared.clamp_(min=0).sqrt_().sum(dim=1)
        inverse_norms[rows] = unwhiten(psi, factor).norm(dim=1).cpu().numpy()
        advance(rows.stop - rows.start)
    return Scores(self_influence, inverse_norms, trak, distance_sums.cpu().numpy() / n)


def score_operations(n, d, n_queries, n_anchors):
    """Floating-point operations of `score`: two triangular solves and the inner products."""
    return 2.0 * n * d * d + 2.0 * n * d * (n_queries + n_anchors)
