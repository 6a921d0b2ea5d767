"""Measure how much a unit step of a training gradient along each eigenvector moves a test score.

The worst case is a test gradient along e_k: then the score moves by 1/λ_k per unit in the Euclidean
metric, and by 1 in the natural metric. This script computes the same for the test gradients of one
experiment. It is no upper limit of what they meet: the steepest step is along Q⁻¹φ_t, which is no
eigenvector (`wtrak.certificates.lipschitz.enlargement`).
"""

import numpy as np
import pandas as pd

from wtrak.geometry.spectral import eigenbasis
from wtrak.job.experiment import load_gradients
from wtrak.job.io import write_csv
from wtrak.job.runtime import run, select_device


def main(smk):
    device, ridge = select_device(smk.params.device), smk.params.ridge
    gradients = load_gradients(smk.input.activations, smk.input.residuals, smk.input.factor)
    basis = eigenbasis(gradients["train"], block_size=smk.params.block_size, device=device)
    test = gradients["test"].take(slice(0, smk.params.n_test))
    c, rest = (x.cpu().numpy() for x in basis.coordinates(test, slice(None)))
    beyond = basis.dimension - c.shape[1]
    # Outside the span of the training gradients Q is λI, so any orthonormal directions will do.
    outside = np.repeat(np.sqrt(rest / max(beyond, 1))[:, None], beyond, axis=1)
    along = np.abs(np.concatenate([c, outside], axis=1))
    data = np.concatenate([basis.eigenvalues.cpu().numpy(), np.zeros(beyond)])
    eigenvalues = data + ridge
    plain = np.sqrt(test.squared_norms())[:, None]
    whitened = np.sqrt((along**2 / eigenvalues).sum(axis=1, keepdims=True))
    realised = {
        # A unit step of φ_i along e_k moves τ by |φ_t·e_k|/λ_k. Divided by ‖φ_t‖.
        "euclidean": along / eigenvalues / plain,
        # A unit step in the natural metric along e_k is √λ_k·e_k. Divided by ‖ψ_t‖.
        "natural": along / np.sqrt(eigenvalues) / whitened,
    }
    frame = pd.DataFrame({"rank": np.arange(1, len(data) + 1), "eigenvalue": eigenvalues})
    for metric, values in realised.items():
        for name, quantile in {"median": 0.5, "p90": 0.9}.items():
            frame[f"{metric}_{name}"] = np.quantile(values, quantile, axis=0)
    write_csv(smk.output[0], frame)


if __name__ == "__main__":
    run(main, snakemake)
