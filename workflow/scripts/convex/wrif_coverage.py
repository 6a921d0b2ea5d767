"""Measure how often leave-one-out influences lie in their intervals, and how wide these are."""

import numpy as np
import pandas as pd

from wtrak.convex.data import sample
from wtrak.convex.models import fit, outputs_of
from wtrak.convex.wrif import (
    deletion_radii,
    diameter,
    enclosing_ball,
    evaluate,
    example_distances,
    influences,
    label_cost,
    leave_one_out,
    lipschitz_over_domain,
    lipschitz_over_pairs,
    sensitivity,
)
from wtrak.job.io import load_arrays, write_csv
from wtrak.job.runtime import progress, run


def constants(model, x_test, y_test, distances, ball, cost):
    """Lipschitz constants for a test point, by kernel and by set (pairs or domain)."""
    out = {}
    for name in ("paper", "corrected"):
        kernel = sensitivity(model, x_test, y_test, name)
        values = evaluate(model, kernel, model.x, model.y)
        out[name, "pairs"] = lipschitz_over_pairs(values, distances)
    labels = (model.y.min(), model.y.max())
    out["corrected", "domain"] = lipschitz_over_domain(model, kernel, *ball, cost, labels)
    return out


def rows_of(model, x_test, y_test, inputs):
    """Yield a row for each kernel, radius and definition, over all training and test points."""
    cost = label_cost(model.x)
    distances = example_distances(model.x, model.y, cost, model.kind)
    ball, n = enclosing_ball(inputs), len(model.x)
    nominal = influences(model, x_test, y_test)
    exact = leave_one_out(model, x_test, y_test)
    deviation = np.abs(exact["log_scaled"] - nominal)
    by_point = [
        constants(model, point, label, distances, ball, cost)
        for point, label in zip(x_test, y_test, strict=True)
    ]
    radii = {"diameter": diameter(distances) / n, "own": deletion_radii(distances)}
    for kernel, where in by_point[0]:
        lipschitz = np.stack([values[kernel, where] for values in by_point])
        for radius, epsilon in radii.items():
            half = epsilon * lipschitz
            shared = {
                "kernel": kernel,
                "constant": where,
                "radius": radius,
                "half_width": np.median(half),
                "width_over_influence": np.median(half / np.abs(nominal)),
                "width_over_deviation": np.median(half / deviation),
            }
            for definition, value in exact.items():
                inside = np.abs(value - nominal) <= half
                yield shared | {"definition": definition, "covered": inside.mean()}


def main(smk):
    data, task = load_arrays(smk.input[0]), smk.params.task
    x, y, k = data["x"], data["y"], outputs_of(task["model"], data["y"])
    sizes = [n for n in smk.params.n_train if n + smk.params.n_test <= len(x)]
    rows = []
    with progress(len(sizes) * smk.params.resamples, "coverage", "samples") as advance:
        for n in sizes:
            for resample in range(smk.params.resamples):
                rng = np.random.default_rng([smk.params.seed, n, resample])
                train, test = sample(x, y, n, smk.params.n_test, rng)
                model = fit(task["model"], task["penalty"], x[train], y[train], n_outputs=k)
                about = {"task": smk.wildcards.task, "n_train": n, "resample": resample}
                both = x[np.concatenate([train, test])]
                rows += [about | row for row in rows_of(model, x[test], y[test], both)]
                advance(1)
    write_csv(smk.output[0], pd.DataFrame(rows))


if __name__ == "__main__":
    run(main, snakemake)
