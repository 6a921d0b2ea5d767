"""Move one training point where it changes an influence the most: beyond the training points."""

import numpy as np
import pandas as pd

from wtrak.convex.data import sample
from wtrak.convex.models import fit, outputs_of
from wtrak.convex.searches import steepest_point, steepest_slope
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
    sensitivity,
)
from wtrak.job.io import load_arrays, write_csv
from wtrak.job.runtime import progress, run


def moved_influences(model, i, j, place, epsilons, cost, x_test, y_test):
    """I_i if mass of training point j moves to a place, for each radius, shape (radii,).

    Parameters
    ----------
    place : numpy.ndarray, shape (p,), and float
        Input and label.
    epsilons : list of float
        The mass is what the radius allows, and at most that of the point.
    """
    x, y = place[0][None], np.array([place[1]])
    own = (model.x[j : j + 1], model.y[j : j + 1])
    apart = example_distances(x, y, cost, model.kind, own)[0, 0]
    out = []
    for epsilon in epsilons:
        mass = min(epsilon / apart, model.weights[j])
        weights = np.append(model.weights, mass)
        weights[j] -= mass
        moved = fit(
            model.kind,
            model.penalty,
            np.vstack([model.x, x]),
            np.append(model.y, y),
            n_outputs=len(model.theta),
            weights=weights,
            initial=model.theta,
        )
        out += list(influence_at(moved, model.x[i], model.y[i], x_test[None], np.array([y_test])))
    return np.array(out)


def main(smk):
    data, task = load_arrays(smk.input[0]), smk.params.task
    rng = np.random.default_rng(smk.params.seed)
    train, test = sample(data["x"], data["y"], smk.params.n_train, smk.params.n_test, rng)
    k = outputs_of(task["model"], data["y"])
    model = fit(task["model"], task["penalty"], data["x"][train], data["y"][train], n_outputs=k)
    cost = label_cost(model.x)
    distances = example_distances(model.x, model.y, cost, model.kind)
    unit = diameter(distances) / len(train)
    epsilons = [ratio * unit for ratio in smk.params.radii]
    ball = enclosing_ball(data["x"][np.concatenate([train, test])])
    labels = (model.y.min(), model.y.max())
    rows = []
    with progress(len(test), "attacks", "test points") as advance:
        for t in test:
            x_test, y_test = data["x"][t], data["y"][t]
            nominal = influences(model, x_test[None], np.array([y_test]))[0]
            kernel = sensitivity(model, x_test, y_test)
            pairs = lipschitz_over_pairs(evaluate(model, kernel, model.x, model.y), distances)
            domain = lipschitz_over_domain(model, kernel, *ball, cost, labels)
            for i in rng.choice(len(train), size=smk.params.n_points, replace=False):
                j = int(rng.integers(len(train)))
                found = steepest_slope(model, kernel, i, *ball, rng)
                place = steepest_point(model, kernel, i, j, *ball, cost, rng)[:2]
                moved = moved_influences(model, i, j, place, epsilons, cost, x_test, y_test)
                about = {"task": smk.wildcards.task, "test_index": t, "train_index": train[i]}
                about["influence"] = nominal[i]
                rows += [
                    about
                    | {
                        "radius_ratio": ratio,
                        "half_width_pairs": epsilon * pairs[i],
                        "half_width_domain": epsilon * domain[i],
                        "half_width_found": epsilon * found,
                        "beyond_support": abs(value - nominal[i]),
                    }
                    for ratio, epsilon, value in zip(smk.params.radii, epsilons, moved, strict=True)
                ]
            advance(1)
    write_csv(smk.output[0], pd.DataFrame(rows))


if __name__ == "__main__":
    run(main, snakemake)
