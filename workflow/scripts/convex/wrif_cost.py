"""Measure the time of Algorithm 1 as printed, for one and for all training points, by n and p."""

import time

import numpy as np
import pandas as pd

from wtrak.convex.models import fit
from wtrak.convex.wrif import algorithm_1, example_distances, label_cost
from wtrak.job.io import write_csv
from wtrak.job.runtime import progress, run


def problem(n, p, rng):
    """A logistic model on random data, and a test point."""
    x = np.column_stack([rng.standard_normal((n + 1, p - 1)), np.ones(n + 1)])
    y = (x[:, 0] + rng.standard_normal(n + 1) > 0).astype(np.float64)
    return fit("logistic", 0.01, x[:n], y[:n]), x[n], y[n]


def timed(model, x_test, y_test, limit):
    """Run Algorithm 1, distances included, until a time is spent on training points.

    All times are CPU time, so that other work on the machine does not count. What a training point
    takes does not depend on the point, so that the time for all of them follows from as many as the
    limit allows.

    Parameters
    ----------
    limit : float
        Seconds for training points after the first; the first also takes what comes before.

    Returns
    -------
    dict
        seconds_one and seconds_all, for one more and for all training points; timed_points and
        timed_seconds, over how many points after the first they were measured, and how long.
    """
    n, start = len(model.x), time.process_time()
    distances = example_distances(model.x, model.y, label_cost(model.x), model.kind)
    intervals = algorithm_1(model, x_test, y_test, distances, 0.1)
    next(intervals)
    first = last = time.process_time()
    points = 0
    for _ in intervals:
        last, points = time.process_time(), points + 1
        if last - first >= limit:
            break
    one = (last - first) / points
    return {
        "seconds_one": one,
        "seconds_all": first - start + (n - 1) * one,
        "timed_points": points,
        "timed_seconds": last - first,
    }


def main(smk):
    rng = np.random.default_rng(smk.params.seed)
    sizes = [(n, smk.params.n_features[0], "n") for n in smk.params.n_train]
    sizes += [(smk.params.n_train[0], p, "p") for p in smk.params.n_features]
    rows = []
    with progress(len(sizes), "cost", "sizes") as advance:
        for n, p, varied in sizes:
            about = {"varied": varied, "n_train": n, "n_features": p}
            chosen = problem(n, p, rng)
            rows += [
                about | {"repeat": repeat} | timed(*chosen, smk.params.seconds)
                for repeat in range(smk.params.repeats)
            ]
            advance(1)
    write_csv(smk.output[0], pd.DataFrame(rows))


if __name__ == "__main__":
    run(main, snakemake)
