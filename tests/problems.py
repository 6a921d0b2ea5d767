"""Small random problems that several tests share."""

import numpy as np

from wtrak.geometry.gradients import Gradients, residuals


def gradients(n=60, n_classes=4, p=7, gradient="loss", seed=0):
    """Gradients of a random head on random activations, and their logits and labels."""
    rng = np.random.default_rng(seed)
    h = rng.standard_normal((n, p)).astype(np.float32)
    h[:, -1] = 1.0
    z = 2 * rng.standard_normal((n, n_classes))
    y = rng.integers(n_classes, size=n)
    index = rng.permutation(10 * n)[:n]
    return Gradients(residuals(z, y, gradient), h, index), z, y


class Problem:
    """Whitened points of a random problem, for which (1/n) ΣψψᵀΨ + ridge part is the identity."""

    def __init__(self, seed, n=30, d=4, ridge=0.05):
        rng = np.random.default_rng(seed)
        phi = rng.standard_normal((n, d)) * rng.lognormal(size=(n, 1))
        q = phi.T @ phi / n + ridge * np.eye(d)
        self.root = np.linalg.cholesky(np.linalg.inv(q))
        self.phi, self.ridge, self.n = phi, ridge, n
        self.psi = phi @ self.root
        self.test_phi = rng.standard_normal(d)
        self.a = self.test_phi @ self.root
        self.radius = np.linalg.norm(self.psi, axis=1).max()
        self.si = (self.psi**2).sum(axis=1)
        self.rng = rng

    def gap_of(self, moment, i, j):
        """τ_i − τ_j with Q computed again from a second moment, with explicit φ and inverse."""
        q = moment + self.ridge * np.eye(len(moment))
        return float(self.test_phi @ np.linalg.solve(q, self.phi[i] - self.phi[j]))

    def pair(self, i, j):
        c = self.psi[i] - self.psi[j]
        return c, float(self.a @ c)


def convex_problem(kind, n=60, p=4, seed=0):
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.standard_normal((n, p - 1)), np.ones(n)])
    if kind == "ridge":
        return x, x[:, 0] + rng.standard_normal(n)
    scores = x[:, :3] + rng.standard_normal((n, 3))
    return x, (scores.argmax(axis=1) if kind == "multinomial" else scores[:, 0] > 0).astype(float)
