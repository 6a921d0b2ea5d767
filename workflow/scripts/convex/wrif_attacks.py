"""Search distributions in the Wasserstein ball for the largest change of an influence."""

import numpy as np
import pandas as pd

from wtrak.convex.data import sample
from wtrak.convex.models import fit, outputs_of
from wtrak.convex.searches import steepest_point, steepest_slope, worst_on_support
from wtrak.convex.wrif import (
    diameter,
    enclosing_ball,
    evaluate,
    example_distances,
    influence_at,
    influences,
    label_cost,
    lipschitz_over_domain,
    lipschitz_over_pairs,
    refit,
    sensitivity,
)
from wtrak.job.io import load_arrays, write_csv
from wtrak.job.runtime import progress, run


def on_support(model, values, distances, epsilon, i, x_test, y_test, nominal):
    """Largest change of I_i by a distribution on the training points, recomputed exactly."""
    changes = []
    for sign in (1.0, -1.0):
        weights = worst_on_support(sign * values, distances, epsilon, model.weights)
        moved = refit(model, weights)
        influence = influence_at(moved, model.x[i], model.y[i], x_test[None], np.array([y_test]))
        changes.append(abs(influence[0] - nominal))
    return max(changes)


def beyond_support(model, kernel, i, j, ball, epsilon, cost, x_test, y_test, nominal, rng):
    """Change of I_i if mass of one training point moves to the steepest point of the input ball."""
    x, y, _ = steepest_point(model, kernel, i, j, *ball, cost, rng)
    apart = example_distances(
        x[None], np.array([y]), cost, model.kind, (model.x[j : j + 1], model.y[j : j + 1])
    )[0, 0]
    mass = min(epsilon / apart, model.weights[j])
    weights = np.append(model.weights, mass)
    weights[j] -= mass
    moved = fit(
        model.kind,
        model.penalty,
        np.vstack([model.x, x]),
        np.append(model.y, y),
        weights=weights,
        initial=model.theta,
    )
    influence = influence_at(moved, model.x[i], model.y[i], x_test[None], np.array([y_test]))[0]
    return abs(influence - nominal)


def main(smk):
    data, task = load_arrays(smk.input[0]), smk.params.task
    rng = np.random.default_rng(smk.params.seed)
    train, test = sample(data["x"], data["y"], smk.params.n_train, smk.params.n_test, rng)
    k = outputs_of(task["model"], data["y"])
    model = fit(task["model"], task["penalty"], data["x"][train], data["y"][train], n_outputs=k)
    cost = label_cost(model.x)
    distances = example_distances(model.x, model.y, cost, model.kind)
    epsilon = diameter(distances) / len(train)
    ball = enclosing_ball(data["x"][np.concatenate([train, test])])
    labels = (model.y.min(), model.y.max())
    rows = []
    with progress(len(test), "attacks", "test points") as advance:
        for t in test:
            x_test, y_test = data["x"][t], data["y"][t]
            nominal = influences(model, x_test[None], np.array([y_test]))[0]
            kernel = sensitivity(model, x_test, y_test)
            values = evaluate(model, kernel, model.x, model.y)
            pairs = lipschitz_over_pairs(values, distances)
            domain = lipschitz_over_domain(model, kernel, *ball, cost, labels)
            for i in rng.choice(len(train), size=smk.params.n_points, replace=False):
                j = int(rng.integers(len(train)))
                attack = (model, kernel, i, j, ball, epsilon, cost, x_test, y_test, nominal[i], rng)
                rows.append(
                    {
                        "task": smk.wildcards.task,
                        "influence": nominal[i],
                        "half_width_pairs": epsilon * pairs[i],
                        "half_width_domain": epsilon * domain[i],
                        "half_width_found": epsilon * steepest_slope(model, kernel, i, *ball, rng),
                        "on_support": on_support(
                            model, values[i], distances, epsilon, i, x_test, y_test, nominal[i]
                        ),
                        "beyond_support": beyond_support(*attack),
                    }
                )
            advance(1)
    write_csv(smk.output[0], pd.DataFrame(rows))


if __name__ == "__main__":
    run(main, snakemake)
