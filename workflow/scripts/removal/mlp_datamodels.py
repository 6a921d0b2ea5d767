"""Compute the linear datamodeling score of every attribution, by number of networks."""

import numpy as np
import pandas as pd

from wtrak.job.io import load_arrays, write_csv
from wtrak.job.runtime import run
from wtrak.removal.datamodels import CEILING, METHODS, ceilings, mean_over_points, rank_correlations


def main(smk):
    scores = [load_arrays(path) for path in smk.input.scores]
    parts = [load_arrays(path) for path in smk.input.subsets]
    order = np.argsort(np.concatenate([part["subset"] for part in parts]))
    # Helpful examples have positive attributions and raise the margin, so both have the same sign.
    runs = np.concatenate([part["margins"] for part in parts])[order].transpose(1, 2, 0)
    actual, rows = runs.mean(axis=0), []

    def add(method, count, values):
        mean, low, high = mean_over_points(values)
        rows.append({"method": method, "networks": count, "lds": mean, "low": low, "high": high})

    for name in METHODS:
        for count in range(1, len(scores) + 1):
            parts = [network[f"predicted_{name}"][count - 1] for network in scores[:count]]
            add(name, count, rank_correlations(np.mean(parts, axis=0), actual))
    if len(runs) > 1:
        add(CEILING, len(scores), ceilings(runs))
    write_csv(smk.output[0], pd.DataFrame(rows))


if __name__ == "__main__":
    run(main, snakemake)
