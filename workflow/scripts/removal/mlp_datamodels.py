"""Compute the linear datamodeling score of every attribution, by number of networks.

Also its share of the score of a perfect prediction.
"""

import numpy as np
import pandas as pd

from wtrak.job.io import load_arrays, write_csv
from wtrak.job.runtime import run
from wtrak.removal.datamodels import (
    CEILING,
    METHODS,
    ceilings,
    mean_over_both,
    rank_correlations,
    share_over_both,
    without_each_subset,
)


def main(smk):
    scores = [load_arrays(path) for path in smk.input.scores]
    parts = [load_arrays(path) for path in smk.input.subsets]
    order = np.argsort(np.concatenate([part["subset"] for part in parts]))
    # Helpful examples have positive attributions and raise the margin, so both have the same sign.
    runs = np.concatenate([part["margins"] for part in parts])[order].transpose(1, 2, 0)
    actual, rows = runs.mean(axis=0), []

    def add(method, count, quantity, found):
        value, low, high = found
        about = {"method": method, "networks": count, "quantity": quantity}
        rows.append(about | {"value": value, "low": low, "high": high})

    perfect = None
    if len(runs) > 1:
        perfect = ceilings(runs), without_each_subset(ceilings, runs)
        add(CEILING, len(scores), "lds", mean_over_both(*perfect))
    for name in METHODS:
        for count in range(1, len(scores) + 1):
            parts = [network[f"predicted_{name}"][count - 1] for network in scores[:count]]
            both = np.mean(parts, axis=0), actual
            score = rank_correlations(*both), without_each_subset(rank_correlations, *both)
            add(name, count, "lds", mean_over_both(*score))
            if perfect:
                add(name, count, "share_of_perfect", share_over_both(score, perfect))
    write_csv(smk.output[0], pd.DataFrame(rows))


if __name__ == "__main__":
    run(main, snakemake)
