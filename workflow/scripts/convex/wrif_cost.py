"""Measure the time of Algorithm 1 as printed, and of a vectorised form, against n and p."""

import time

import numpy as np
import pandas as pd

from wtrak.convex.models import fit
from wtrak.convex.wrif import (
    algorithm_1,
    evaluate,
    example_distances,
    label_cost,
    lipschitz_over_pairs,
    sensitivity,
)
from wtrak.job.io import write_csv
from wtrak.job.runtime import progress, run


def problem(n, p, rng):
    """A logistic model on random data, and a test point."""
    x = np.column_stack([rng.standard_normal((n + 1, p - 1)), np.ones(n + 1)])
    y = (x[:, 0] + rng.standard_normal(n + 1) > 0).astype(np.float64)
    return fit("logistic", 0.01, x[:n], y[:n]), x[n], y[n]


def vectorised(model, x_test, y_test, distances):
    """Do the work of Algorithm 1 with array operations."""
    kernel = sensitivity(model, x_test, y_test)
    lipschitz_over_pairs(evaluate(model, kernel, model.x, model.y), distances)


def seconds(call, *arguments, repeats=3):
    """Shortest time of a few calls."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call(*arguments)
        times.append(time.perf_counter() - start)
    return min(times)


def main(smk):
    rng = np.random.default_rng(smk.params.seed)
    sizes = [(n, smk.params.n_features[0], "n") for n in smk.params.n_train]
    sizes += [(smk.params.n_train[0], p, "p") for p in smk.params.n_features]
    rows = []
    with progress(len(sizes), "cost", "sizes") as advance:
        for n, p, varied in sizes:
            model, x_test, y_test = problem(n, p, rng)
            distances = example_distances(model.x, model.y, label_cost(model.x), "logistic")
            printed = seconds(algorithm_1, model, x_test, y_test, distances, 0.1, repeats=1)
            ours = seconds(vectorised, model, x_test, y_test, distances)
            for form, value in (("printed", printed), ("vectorised", ours)):
                about = {"varied": varied, "n_train": n, "n_features": p, "form": form}
                rows.append(about | {"seconds": value})
            advance(1)
    write_csv(smk.output[0], pd.DataFrame(rows))


if __name__ == "__main__":
    run(main, snakemake)
