"""Coordinates of gradients along the eigenvectors of their second moment.

With Q = Σ μ_k e_k e_kᵀ + λI and c_k = φ·e_k, scores are Σ c_k c'_k/(μ_k + λ). So one pass over the
gradients gives the scores for every λ.
"""

from dataclasses import dataclass

import numpy as np
import torch

from wtrak.geometry.covariance import second_moment
from wtrak.geometry.gradients import Gradients
from wtrak.geometry.scores import explicit_block

# Eigenvalues below this share of the largest are rounding errors.
_NEGLIGIBLE = 1e-13


@dataclass(frozen=True)
class EigenBasis:
    """Orthonormal eigenvectors e_k of (1/n) Σ φφᵀ, stored directly or as combinations of gradients.

    Attributes
    ----------
    eigenvalues : torch.Tensor, shape (r,), float64, descending
        Eigenvalues μ, without the ridge. The other d − r are zero.
    dimension : int
        d.
    vectors : torch.Tensor, shape (d, r) or (n, r), float64
        Columns are the e_k. If `gradients` is given, they are the weights of the n gradients in
        each e_k.
    gradients : Gradients or None
    """

    eigenvalues: torch.Tensor
    dimension: int
    vectors: torch.Tensor
    gradients: Gradients | None

    def coordinates(self, gradients, rows):
        """Coordinates c = φ·e_k of a slice of rows, and the part of ‖φ‖² outside their span.

        Returns
        -------
        coordinates : torch.Tensor, shape (B, r), float64
        rest : torch.Tensor, shape (B,), float64
        """
        device = self.vectors.device
        if self.gradients is None:
            c = explicit_block(gradients, rows, device) @ self.vectors
        else:
            c = torch.from_numpy(gram_block(gradients.take(rows), self.gradients)).to(device)
            c = c @ self.vectors
        norms = torch.from_numpy(gradients.take(rows).squared_norms()).to(device)
        rest = norms - (c * c).sum(dim=1)
        # A tiny rest is a rounding error, which division by λ would magnify.
        return c, torch.where(rest > 1e-10 * norms, rest, 0.0)


def gram_block(a, b):
    """Inner products φ_i·φ_j = (e_i·e_j)(h_i·h_j), shape (len(a), len(b)), float64."""
    inner = a.residuals @ b.residuals.T
    inner *= a.activations.astype(np.float64) @ b.activations.astype(np.float64).T
    return inner


def eigenbasis(gradients, *, block_size, device):
    """Eigenvectors of the second moment, computed from the n×n Gram matrix if n < d.

    Parameters
    ----------
    gradients : Gradients
        n examples in d dimensions.
    block_size : int
        Rows at a time.
    device : torch.device
    """
    n, d = len(gradients), gradients.dimension
    if n >= d:
        q = second_moment(gradients, block_size=block_size, device=device)
        values, vectors = torch.linalg.eigh(q)
        del q
        weights, combined = vectors.flip(1), None
        values = values.flip(0).clamp_(min=0)
    else:
        gram = torch.from_numpy(gram_block(gradients, gradients)).to(device).div_(n)
        values, vectors = torch.linalg.eigh(gram)
        values = values.flip(0)
        keep = values > _NEGLIGIBLE * values[0]
        values = values[keep]
        # e_k = Σ_i φ_i w_ik with w = v/√(nμ).
        weights, combined = vectors.flip(1)[:, keep] / (n * values).sqrt(), gradients
    return EigenBasis(values, d, weights.contiguous(), combined)
