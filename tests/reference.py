"""Reference implementations for tests, with explicit φ, explicit inverses and all pairs."""

import itertools

import numpy as np


def explicit(gradients):
    """Gradients φ = vec(e ⊗ h) as a matrix, shape (N, C·p), float64."""
    h = gradients.activations.astype(np.float64)
    return np.einsum("nc,np->ncp", gradients.residuals, h).reshape(len(gradients), -1)


def covariance(phi, ridge):
    """Q = (1/n) ΦᵀΦ + λI."""
    return phi.T @ phi / len(phi) + ridge * np.eye(phi.shape[1])


def certified_share(scores, lipschitz, epsilon):
    """Share of pairs with |τ_i − τ_j| > ε(L_i + L_j), computed pair by pair."""
    pairs = list(itertools.combinations(range(len(scores)), 2))
    certified = sum(
        abs(scores[i] - scores[j]) > epsilon * (lipschitz[i] + lipschitz[j]) for i, j in pairs
    )
    return certified / len(pairs)
