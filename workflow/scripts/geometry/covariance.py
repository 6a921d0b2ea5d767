"""Compute the Cholesky factor and the spectrum of Q for one experiment.

If residuals sum to zero over classes, both are computed on that smaller space.
"""

import time

import numpy as np
import pandas as pd

from wtrak.geometry.covariance import (
    add_ridge,
    effective_dimension,
    eigenvalues,
    factorise,
    full_spectrum,
    second_moment,
    second_moment_operations,
)
from wtrak.geometry.gradients import assemble, reduce_to_sum_zero, sums_to_zero
from wtrak.job.io import load_arrays, load_metadata, save_arrays, write_csv, write_json
from wtrak.job.runtime import matmul_rate, run, say, select_device


def main(smk):
    device = select_device(smk.params.device)
    ridge = smk.params.ridge
    reduced = sums_to_zero(load_metadata(smk.input.residuals)["gradient"])
    arrays = load_arrays(smk.input.residuals, ["train_residuals", "train_index"])
    features = load_arrays(smk.input.activations, ["train"])["train"]
    gradients = assemble(features, arrays["train_residuals"], arrays["train_index"])
    n_classes, p = gradients.residuals.shape[1], gradients.activations.shape[1]
    if reduced:
        gradients = reduce_to_sum_zero(gradients)

    rate = matmul_rate(device)
    start = time.perf_counter()
    q = add_ridge(second_moment(gradients, block_size=smk.params.block_size, device=device), ridge)
    seconds = time.perf_counter() - start
    operations = second_moment_operations(len(gradients), gradients.residuals.shape[1], p)
    say(
        f"covariance of {len(gradients):,} examples in {gradients.dimension:,} dimensions: "
        f"{seconds:.1f} s, {seconds * rate / operations:.2f} times as long as a float64 matrix "
        f"product with as many operations ({rate / 1e9:.0f} GFLOP/s on this machine)"
    )
    start = time.perf_counter()
    factor = factorise(q)
    say(f"Cholesky factor: {time.perf_counter() - start:.1f} s")
    start = time.perf_counter()
    spectrum = eigenvalues(q, ridge)
    say(f"eigenvalues: {time.perf_counter() - start:.1f} s")

    spaces = {"sum_zero": spectrum, "full": full_spectrum(spectrum, ridge, p)}
    if not reduced:
        spaces = {"full": spectrum}
    write_csv(
        smk.output.spectrum,
        pd.concat(
            pd.DataFrame({"space": space, "rank": np.arange(1, len(v) + 1), "eigenvalue": v})
            for space, v in spaces.items()
        ),
    )
    record = {
        "ridge": ridge,
        "n_train": len(gradients),
        "parameters": n_classes * p,
        "effective_dimension": effective_dimension(spectrum, ridge),
        "largest_eigenvalue": float(spectrum[0]),
        "spaces": {
            space: {
                "dimension": len(v),
                "smallest_eigenvalue": float(v[-1]),
                "condition_number": float(v[0] / v[-1]),
                "decades": float(np.log10(v[0] / v[-1])),
                # Directions in which the ridge, not the data, sets the eigenvalue.
                "below_twice_ridge": int(np.sum(v < 2 * ridge)),
            }
            for space, v in spaces.items()
        },
    }
    write_json(smk.output.record, record)
    save_arrays(smk.output.factor, {"factor": factor.cpu().numpy()}, {"sum_zero": reduced})


if __name__ == "__main__":
    run(main, snakemake)
