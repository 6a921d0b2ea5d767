"""Measure how far distributions on the training points move an influence, by kernel and radius."""

import numpy as np
import pandas as pd

from wtrak.convex.data import sample
from wtrak.convex.models import fit, outputs_of
from wtrak.convex.searches import worst_on_support
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

# The paper's kernel, and the one that is the derivative.
SHOWN = ("paper", "corrected")


def worst_of(model, values, distances, epsilon):
    """The worst distributions for a kernel at both ends, and the lesser first-order change.

    Parameters
    ----------
    values : numpy.ndarray, shape (n,)
        S_i at the training points.

    Returns
    -------
    list of numpy.ndarray, shape (n,), and float
        Weights of Q, and the lesser of sup ∫S d(Q − P) and −inf ∫S d(Q − P).
    """
    both = [worst_on_support(sign * values, distances, epsilon, model.weights) for sign in (1, -1)]
    changes = [abs((weights - model.weights) @ values) for weights in both]
    return both, min(changes)


def rows_of(model, i, x_test, y_test, nominal, kernels, distances, epsilons):
    """Yield a row for each radius and kernel, for one training and one test point.

    Parameters
    ----------
    kernels : dict of str to (numpy.ndarray, float, float)
        By kernel: S_i at the training points, and its Lipschitz constant over pairs of them and
        over the ball that holds all inputs.
    epsilons : dict of float to float
        Radius over diam/n, and radius.
    """
    for ratio, epsilon in epsilons.items():
        found = {
            name: worst_of(model, values, distances, epsilon)
            for name, (values, _, _) in kernels.items()
        }
        # Each kernel's worst distributions are tried, so that neither is judged by the other's.
        moved = [
            influence_at(refit(model, weights), model.x[i], model.y[i], x_test[None], y_test)[0]
            for both, _ in found.values()
            for weights in both
        ]
        exact = np.abs(np.array(moved) - nominal).max()
        for name, (_, pairs, domain) in kernels.items():
            yield {
                "radius_ratio": ratio,
                "kernel": name,
                "influence": nominal,
                "half_width_pairs": epsilon * pairs,
                "half_width_domain": epsilon * domain,
                "first_order": found[name][1],
                "on_support": exact,
            }


def main(smk):
    data, task = load_arrays(smk.input[0]), smk.params.task
    rng = np.random.default_rng(smk.params.seed)
    train, test = sample(data["x"], data["y"], smk.params.n_train, smk.params.n_test, rng)
    k = outputs_of(task["model"], data["y"])
    model = fit(task["model"], task["penalty"], data["x"][train], data["y"][train], n_outputs=k)
    cost = label_cost(model.x)
    distances = example_distances(model.x, model.y, cost, model.kind)
    epsilons = {ratio: ratio * diameter(distances) / len(train) for ratio in smk.params.radii}
    ball = enclosing_ball(data["x"][np.concatenate([train, test])])
    labels = (model.y.min(), model.y.max())
    rows = []
    with progress(len(test), "support", "test points") as advance:
        for t in test:
            x_test, y_test = data["x"][t], data["y"][[t]]
            nominal = influences(model, x_test[None], y_test)[0]
            by_kernel = {}
            for name in SHOWN:
                kernel = sensitivity(model, x_test, y_test[0], name)
                values = evaluate(model, kernel, model.x, model.y)
                pairs = lipschitz_over_pairs(values, distances)
                domain = lipschitz_over_domain(model, kernel, *ball, cost, labels)
                by_kernel[name] = list(zip(values, pairs, domain, strict=True))
            for i in rng.choice(len(train), size=smk.params.n_points, replace=False):
                own = {name: points[i] for name, points in by_kernel.items()}
                about = {"task": smk.wildcards.task, "test_index": t, "train_index": train[i]}
                rows += [
                    about | row
                    for row in rows_of(
                        model, i, x_test, y_test, nominal[i], own, distances, epsilons
                    )
                ]
            advance(1)
    write_csv(smk.output[0], pd.DataFrame(rows))


if __name__ == "__main__":
    run(main, snakemake)
