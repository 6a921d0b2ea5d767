"""A small dataset with its results as files of the rules, and in explicit form."""

import numpy as np

from reference import covariance, explicit
from wtrak.geometry.gradients import assemble, reduce_to_sum_zero
from wtrak.job.io import save_arrays, write_json

INPUTS = {
    "activations": "activations",
    "residuals": "residuals",
    "factor": "factor",
    "scores": "scores",
    "deletion": "deletion.json",
}


class Population:
    """n training and m test points of 3 classes; φ is explicit, Q is inverted.

    Parameters
    ----------
    folder : pathlib.Path
        Gets the files that `INPUTS` names.
    n, m, p : int
    loud : dict of int to float
        Training points whose residual is made so many times larger, before everything else.
    ridge : float
    seed : int

    Attributes
    ----------
    phi, phi_test : numpy.ndarray, shapes (n, 3p) and (m, 3p)
    psi, a : numpy.ndarray
        The same, whitened.
    si, si_test, tau, radius
        ‖ψ‖², τ (m, n), and R over all n points.
    """

    def __init__(self, folder, n=16, m=3, p=3, loud=None, ridge=0.05, seed=0):
        rng = np.random.default_rng(seed)
        index = np.sort(rng.permutation(n + 4)[:n])
        features = {
            "train": rng.standard_normal((n + 4, p - 1)).astype(np.float32),
            "test": rng.standard_normal((m + 1, p - 1)).astype(np.float32),
        }
        e = rng.standard_normal((n, 3)) * rng.lognormal(0, 0.4, (n, 1))
        for row, factor in (loud or {}).items():
            e[row] *= factor
        e_test = rng.standard_normal((m, 3))
        e, e_test = (x - x.mean(axis=1, keepdims=True) for x in (e, e_test))
        train = assemble(features["train"], e, index)
        test = assemble(features["test"], e_test, np.arange(1, m + 1))
        self.train, self.test, self.index, self.ridge = train, test, index, ridge
        self.features, self.n, self.m = features, n, m
        self.phi, self.phi_test = explicit(train), explicit(test)
        self.q = covariance(self.phi, ridge)
        self.inverse = np.linalg.inv(self.q)
        half = np.linalg.cholesky(self.inverse)
        self.psi, self.a = self.phi @ half, self.phi_test @ half
        self.si, self.si_test = ((x**2).sum(axis=1) for x in (self.psi, self.a))
        self.tau = self.a @ self.psi.T
        self.radius = np.sqrt(self.si.max())
        self.unit = {"natural": 0.1, "euclidean": 0.02}
        self._write(folder)

    def _write(self, folder):
        train, test = self.train, self.test
        save_arrays(folder / "activations", self.features)
        save_arrays(
            folder / "residuals",
            {
                "train_residuals": train.residuals,
                "test_residuals": test.residuals,
                "train_index": train.index,
                "test_index": test.index,
            },
        )
        reduced = explicit(reduce_to_sum_zero(train))
        factor = np.linalg.cholesky(covariance(reduced, self.ridge))
        save_arrays(folder / "factor", {"factor": factor}, {"sum_zero": True})
        save_arrays(
            folder / "scores",
            {
                "train_index": train.index,
                "test_index": test.index,
                "self_influence_train": self.si,
                "self_influence_test": self.si_test,
                "inverse_norms_train": np.linalg.norm(self.phi @ self.inverse, axis=1),
                "inverse_norms_test": np.linalg.norm(self.phi_test @ self.inverse, axis=1),
                "norms_train": np.linalg.norm(self.phi, axis=1),
                "norms_test": np.linalg.norm(self.phi_test, axis=1),
                "trak_scores": self.tau,
            },
        )
        deletion = {metric: {"median": unit} for metric, unit in self.unit.items()}
        write_json(folder / "deletion.json", {"one_deletion": deletion})

    def gap_without(self, t, i, j, removed):
        """τ_ti − τ_tj without some points, by an explicit inverse; n in Q does not change."""
        gone = self.psi[list(removed)]
        rest = self.n * np.eye(self.psi.shape[1]) - gone.T @ gone
        return self.n * self.a[t] @ np.linalg.solve(rest, self.psi[i] - self.psi[j])


def outside(n, count, rng):
    """A panel of `count` rows out of n, drawn by `rng`, and a row outside it."""
    panel = np.sort(rng.choice(n, size=count, replace=False))
    return int(np.setdiff1d(np.arange(n), panel)[0]), panel
