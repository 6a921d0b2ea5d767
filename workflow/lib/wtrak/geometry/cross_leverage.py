"""Bound the interaction between removals of training points, for all sets of a given size.

Removing a set K changes a·c by x̃ᵀ(I − O)⁻¹ỹ. The matrix O has the cross-leverages
O_kl = ψ_k·ψ_l/√(D_kD_l) of K, with D = n − SI, and a zero diagonal. If the sums of |O_kl| over each
row are small against 1, the effects of the removals nearly add up. Gershgorin's theorem bounds the
deviation.
"""

import numpy as np
import torch

from wtrak.geometry.scores import explicit_block, whiten


def largest_cross_leverages(
    gradients, factor, self_influence, count, *, block_size, advance=lambda k: None
):
    """The `count` largest |O_kl| of every training point, and an upper bound on their error.

    The n×n products are computed in float32, which halves their time. The error of a float32 inner
    product of d numbers, themselves rounded to float32, is at most (d + 2)·2⁻²⁴·‖ψ_k‖‖ψ_l‖ to first
    order in 2⁻²⁴. The bound uses (d + 8) to cover higher orders. On CUDA it holds for full float32,
    which is torch's default, but not for TF32.

    Parameters
    ----------
    gradients : Gradients
        n examples in d dimensions.
    factor : torch.Tensor, shape (d, d), float64
        Lower Cholesky factor of Q.
    self_influence : numpy.ndarray, shape (n,)
    count : int
        At most n − 1.
    block_size : int
        Rows processed at a time. Memory is O(n·d + block_size·n) in float32.

    Returns
    -------
    values : numpy.ndarray, shape (n, count), float32, descending
        Computed |O_kl|.
    partners : numpy.ndarray, shape (n, count), int32
        The index l of each value.
    errors : numpy.ndarray, shape (n,), float64
        Upper bound on the error of every |O_kl| of row k.
    """
    n, d = len(gradients), gradients.dimension
    scale = torch.from_numpy(1 / np.sqrt(n - self_influence)).to(factor.device)
    points = torch.empty(n, d, dtype=torch.float32, device=factor.device)
    for start in range(0, n, block_size):
        rows = slice(start, min(start + block_size, n))
        psi = whiten(explicit_block(gradients, rows, factor.device), factor)
        points[rows] = (psi * scale[rows, None]).float()
        advance(rows.stop - rows.start)
    values = np.empty((n, count), np.float32)
    partners = np.empty((n, count), np.int32)
    for start in range(0, n, block_size):
        rows = slice(start, min(start + block_size, n))
        products = (points[rows] @ points.T).abs_()
        products[:, rows].fill_diagonal_(0.0)
        top = torch.topk(products, count, dim=1)
        values[rows], partners[rows] = top.values.cpu().numpy(), top.indices.cpu().numpy()
        advance(rows.stop - rows.start)
    norms = np.sqrt(self_influence / (n - self_influence))
    return values, partners, (d + 8) * 2.0**-24 * norms * norms.max()


def row_bounds(values, partners, errors, size, rounds=30):
    """Bounds r_k with −diag(r) ⪯ O_K ⪯ diag(r) for every set K of at most `size` points.

    This is Gershgorin's theorem with weights g > 0. Because 2|z_kz_l| ≤ z_k²·g_l/g_k +
    z_l²·g_k/g_l, r_k may be the sum of the size − 1 largest |O_kl|·g_l/g_k. With equal weights most
    r are small, but a single r of 1 or more makes the bound useless for every set. Larger weights
    for such rows lower their r and raise the r of their partners. The weights grow until all r are
    below 0.9, or for the given number of rounds.

    Parameters
    ----------
    values, partners, errors
        Outputs of `largest_cross_leverages` with a count of at least size − 1.

    Returns
    -------
    numpy.ndarray, shape (n,), float64
    """
    n = len(values)
    if size == 1:
        return np.zeros(n)
    upper = values.astype(np.float64) + errors[:, None]
    listed = upper.shape[1]
    weights = np.ones(n)
    for _ in range(rounds):
        weighted = upper * weights[partners]
        if listed < n - 1:
            # Unlisted values are at most the last listed value, at the largest weight.
            weighted = np.maximum(weighted, upper[:, -1:] * weights.max())
        largest = np.partition(weighted, listed - size + 1, axis=1)[:, listed - size + 1 :]
        sums = largest.sum(axis=1) / weights
        if sums.max() < 0.9:
            break
        weights = weights * np.sqrt(np.maximum(sums / 0.85, 1.0))
    return sums
