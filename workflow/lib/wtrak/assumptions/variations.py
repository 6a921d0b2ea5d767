"""Quantities of the paper's Table 1 under one combination of unstated choices, called a reading.

A reading fixes the gradient, the label of test points, the head, the image size and the ridge. The
coordinates of `geometry.spectral` serve all ridges and both labels in one pass.
"""

from dataclasses import dataclass

import numpy as np
import torch

from wtrak.certificates.frontier import certified_radius
from wtrak.certificates.lipschitz import euclidean_gradient, euclidean_spectral, natural
from wtrak.certificates.wasserstein import deletion_distances, natural_mean_distances


@dataclass(frozen=True)
class Norms:
    """Norms of N examples for each of R ridges.

    Attributes
    ----------
    self_influence : numpy.ndarray, shape (R, N)
        φᵀQ⁻¹φ.
    inverse : numpy.ndarray, shape (R, N)
        ‖Q⁻¹φ‖.
    plain : numpy.ndarray, shape (N,)
        ‖φ‖.
    """

    self_influence: np.ndarray
    inverse: np.ndarray
    plain: np.ndarray


def norms_and_products(basis, gradients, ridges, queries, *, block_size):
    """Norms of all rows, and their inner products with some queries in the natural metric.

    Parameters
    ----------
    basis : EigenBasis
    gradients : Gradients
        N examples.
    ridges : sequence of float
    queries : torch.Tensor, shape (q, r)
        Coordinates of the queries; may be empty. Either the queries or the rows must lie in the
        span of the basis.

    Returns
    -------
    norms : Norms
    products : numpy.ndarray, shape (R, q, N), float64
        φ_qᵀQ⁻¹φ.
    """
    n, r = len(gradients), len(ridges)
    lam = torch.tensor(ridges, dtype=torch.float64, device=basis.eigenvalues.device)
    inverse = 1 / (basis.eigenvalues[:, None] + lam)  # (rank, R)
    scaled = torch.cat([queries * inverse[:, k] for k in range(r)])
    si, inverse_norms = np.empty((r, n)), np.empty((r, n))
    products = np.empty((r, len(queries), n))
    for start in range(0, n, block_size):
        rows = slice(start, min(start + block_size, n))
        c, rest = basis.coordinates(gradients, rows)
        products[..., rows] = (scaled @ c.T).cpu().numpy().reshape(r, len(queries), len(c))
        squared = c.square_()
        si[:, rows] = (squared @ inverse + rest[:, None] / lam).T.cpu().numpy()
        squared_norms = squared @ inverse.square() + rest[:, None] / lam.square()
        inverse_norms[:, rows] = squared_norms.sqrt().T.cpu().numpy()
    return Norms(si, inverse_norms, np.sqrt(gradients.squared_norms())), products


def one_deletion(products, self_influence, anchors):
    """Median natural W₁ distance between the training set with and without one anchor.

    See `certificates.wasserstein`.

    Parameters
    ----------
    products : numpy.ndarray, shape (K, n)
        φ_kᵀQ⁻¹φ of the anchors with all training points.
    self_influence : numpy.ndarray, shape (n,)
    anchors : numpy.ndarray, shape (K,)
        Rows of the anchors.
    """
    distances = natural_mean_distances(products, self_influence, anchors)
    return float(np.median(deletion_distances(distances, len(self_influence))))


def constants(train, test, k, smallest_eigenvalue):
    """Lipschitz constants of the paper for the k-th ridge, by name."""
    return {
        "natural": natural(test.self_influence[k], train.self_influence[k]),
        "gradient": euclidean_gradient(test.inverse[k], train.inverse[k], train.plain.max()),
        "spectral": euclidean_spectral(test.plain, train.plain, smallest_eigenvalue),
    }


def pair_radii(trak, lipschitz, pairs):
    """Certified radii of sampled pairs by the paper's intervals, shape (P,).

    Parameters
    ----------
    trak : numpy.ndarray, shape (m, n)
    lipschitz : Lipschitz
        Constants; the first m test points are those of `trak`.
    pairs : numpy.ndarray, shape (3, P)
        A test point and two training points.
    """
    t, i, j = pairs
    of = lipschitz.test[t]
    return certified_radius(
        trak[t, i], trak[t, j], of * lipschitz.train[i], of * lipschitz.train[j]
    )
