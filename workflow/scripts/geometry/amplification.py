"""How much a unit step of a training gradient along each eigenvector really moves a test score.

The worst case is 1/λ_k per unit in the Euclidean metric and 1 in the natural one, for a test
gradient along e_k. Here is what the test gradients of one experiment make of it.
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
    # Q is λI outside the span of the training gradients; a direction there is as good as another.
    outside = np.repeat(np.sqrt(rest / max(beyond, 1))[:, None], beyond, axis=1)
    along = np.abs(np.concatenate([c, outside], axis=1))
    data = np.concatenate([basis.eigenvalues.cpu().numpy(), np.zeros(beyond)])
    eigenvalues = data + ridge
    plain = np.sqrt(test.squared_norms())[:, None]
    whitened = np.sqrt((along**2 / eigenvalues).sum(axis=1, keepdims=True))
    realised = {
        # |φ_t·e_k|/λ_k moves τ for a unit step of φ_i along e_k; relative to ‖φ_t‖.
        "euclidean": along / eigenvalues / plain,
        # A unit natural step along e_k is √λ_k·e_k; relative to ‖ψ_t‖.
        "natural": along / np.sqrt(eigenvalues) / whitened,
    }
    frame = pd.DataFrame({"rank": np.arange(1, len(data) + 1), "eigenvalue": eigenvalues})
    for metric, values in realised.items():
        for name, quantile in {"median": 0.5, "p90": 0.9}.items():
            frame[f"{metric}_{name}"] = np.quantile(values, quantile, axis=0)
    write_csv(smk.output[0], frame)


if __name__ == "__main__":
    run(main, snakemake)
