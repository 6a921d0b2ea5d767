"""Measure the error of the linear prediction of the influence under Q_t, for every kernel."""

import numpy as np
import pandas as pd

from wtrak.convex.data import sample
from wtrak.convex.models import fit, outputs_of
from wtrak.convex.wrif import (
    KERNELS,
    evaluate,
    influence_at,
    influences,
    refit,
    sensitivity,
)
from wtrak.job.io import load_arrays, write_csv
from wtrak.job.runtime import progress, run

# Step of the central difference that approximates the derivative.
STEP = 1e-5


def main(smk):
    data, task = load_arrays(smk.input[0]), smk.params.task
    rng = np.random.default_rng(smk.params.seed)
    train, test = sample(data["x"], data["y"], smk.params.n_train, smk.params.n_test, rng)
    x, y = data["x"][train], data["y"][train]
    k = outputs_of(task["model"], data["y"])
    model = fit(task["model"], task["penalty"], x, y, n_outputs=k)
    nominal = influences(model, data["x"][test], data["y"][test])
    steps = np.geomspace(*smk.params.step_range, smk.params.points)
    n, rows = len(train), []
    with progress(smk.params.triples, "orders", "triples") as advance:
        for triple in range(smk.params.triples):
            t, i, z = triple % len(test), rng.integers(n), rng.integers(n)
            x_test, y_test = data["x"][test[t]], data["y"][test[t]]

            def along(step, i=i, z=z, x_test=x_test, y_test=y_test):
                weights = np.full(n, (1 - step) / n)
                weights[z] += step
                moved = refit(model, weights)
                return influence_at(moved, x[i], y[i], x_test[None], np.array([y_test]))[0]

            exact = [along(step) for step in steps]
            derivative = (along(STEP) - along(-STEP)) / (2 * STEP)
            for name in KERNELS:
                kernel = sensitivity(model, x_test, y_test, name)
                s = evaluate(model, kernel, x[z : z + 1], y[z : z + 1])[i, 0]
                rows += [
                    {
                        "triple": triple,
                        "kernel": name,
                        "step": step,
                        "remainder": abs(value - nominal[t, i] - step * s),
                        "change": abs(value - nominal[t, i]),
                        "sensitivity": s,
                        "derivative": derivative,
                    }
                    for step, value in zip(steps, exact, strict=True)
                ]
            advance(1)
    frame = pd.DataFrame(rows)
    frame.insert(0, "task", smk.wildcards.task)
    write_csv(smk.output[0], frame)


if __name__ == "__main__":
    run(main, snakemake)
