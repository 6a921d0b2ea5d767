"""Compute predicted and exact parameter changes of a convex and a deep model without some data."""

import numpy as np
import pandas as pd
import torch

from wtrak.convex.data import sample
from wtrak.convex.models import fit, gradients
from wtrak.convex.parameter_change import Network, perturbed_weights, relative_error
from wtrak.convex.wrif import refit
from wtrak.job.io import load_arrays, write_csv
from wtrak.job.runtime import progress, run

# Positions on the line through two optima, which are at 0 and 1.
LINE = np.linspace(-0.25, 1.25, 61)


class Convex:
    """The regularised logistic model, with the methods that `compare` calls."""

    def __init__(self, x, y, penalty):
        self.start = fit("logistic", penalty, x, y)

    def predicted(self, weights):
        s = self.start
        g = gradients(s.kind, s.penalty, s.theta, s.x, s.y)
        return -s.solve(np.einsum("n,nkp->kp", weights, g)[None])[0].ravel()

    def exact(self, weights):
        return {"convex": (refit(self.start, weights).theta - self.start.theta).ravel()}


class Deep:
    """A network that is retrained from its initial weights, or trained further from its optimum."""

    def __init__(self, x, y, settings, seed):
        self.network = Network(x[:, :-1], y, settings["hidden"], settings["penalty"], seed)
        self.theta = self.network.train(np.full(len(y), 1 / len(y)))
        self.curvature = self.network.hessian_at(self.theta)

    def predicted(self, weights):
        return self.network.predicted_change(self.theta, self.curvature, weights).numpy()

    def exact(self, weights):
        retrained = self.network.train(weights)
        further = self.network.train(weights, start=self.theta)
        return {
            "deep": (retrained - self.theta).numpy(),
            "deep_warm": (further - self.theta).numpy(),
        }

    def apart(self, changes):
        """Distance between retraining and training further, relative to the latter's change.

        It is given for the parameters and for the outputs. Networks with permuted units have
        different parameters and the same outputs.
        """
        retrained, further = (torch.from_numpy(changes[name]) for name in ("deep", "deep_warm"))
        z_retrained, z_further, z = (
            self.network.outputs(self.theta + change)
            for change in (retrained, further, 0 * further)
        )
        return {
            "parameters_apart": float((retrained - further).norm() / further.norm()),
            "outputs_apart": float((z_retrained - z_further).norm() / (z_further - z).norm()),
        }


def compare(model, weights):
    """Yield the relative error and the norms of predicted and exact changes, by way of training."""
    predicted, changes = model.predicted(weights), model.exact(weights)
    for name, actual in changes.items():
        yield {
            "model": name,
            "error": relative_error(predicted, actual),
            "predicted_norm": np.linalg.norm(predicted),
            "exact_norm": np.linalg.norm(actual),
        } | (model.apart(changes) if name == "deep" else {})


def path(model, left_out, points):
    """Yield exact and predicted changes while the weight of some examples falls to zero.

    Changes are in units of the prediction at strength 1, so an exact prediction gives 1 there.
    """
    n = len(left_out)
    uniform = np.full(n, 1 / n)
    end = np.where(left_out, 0.0, 1.0) / (~left_out).sum()
    whole = model.predicted(end)
    for strength in np.linspace(0, 1, points)[1:]:
        weights = (1 - strength) * uniform + strength * end
        predicted = model.predicted(weights)
        for name, actual in model.exact(weights).items():
            along = float(actual @ whole / (whole @ whole))
            yield {
                "model": name,
                "strength": strength,
                "predicted": float(predicted @ whole / (whole @ whole)),
                "along": along,
                "across": float(np.linalg.norm(actual - along * whole) / np.linalg.norm(whole)),
            }


def profile(model, weights):
    """Loss on the changed data along the line through two optima.

    Position 0 is the optimum of training further, position 1 that of retraining.
    """
    changes = {name: torch.from_numpy(change) for name, change in model.exact(weights).items()}
    start, step = model.theta + changes["deep_warm"], changes["deep"] - changes["deep_warm"]
    with torch.no_grad():
        values = [
            float(model.network.loss(start + s * step, torch.from_numpy(weights))) for s in LINE
        ]
    return pd.DataFrame({"place": LINE, "loss": values})


def main(smk):
    data, settings = load_arrays(smk.input[0]), smk.params.settings
    rng = np.random.default_rng(smk.params.seed)
    train, _ = sample(data["x"], data["y"], settings["n_train"], 0, rng)
    x, y = data["x"][train], data["y"][train]
    draws = [
        perturbed_weights(len(y), settings["share"], rng) for _ in range(settings["perturbations"])
    ]
    convex = Convex(x, y, smk.params.task["penalty"])
    rows = [row for weights in draws for row in compare(convex, weights)]
    # The case in which the outputs of retraining and training further differ most.
    farthest = (-1.0, None, None)
    with progress(settings["networks"], "robustness gap", "networks") as advance:
        for seed in range(settings["networks"]):
            deep = Deep(x, y, settings, seed)
            for draw, weights in enumerate(draws):
                new_rows = [row | {"network": seed, "draw": draw} for row in compare(deep, weights)]
                rows += new_rows
                apart = new_rows[0]["outputs_apart"]
                if apart > farthest[0]:
                    farthest = (apart, deep, weights)
            advance(1)
    _, jumped, weights = farthest
    left_out = weights == 0
    paths = [*path(convex, left_out, settings["points"])]
    paths += path(jumped, left_out, settings["points"])
    write_csv(smk.output.errors, pd.DataFrame(rows))
    write_csv(smk.output.paths, pd.DataFrame(paths))
    write_csv(smk.output.profile, profile(jumped, weights))


if __name__ == "__main__":
    run(main, snakemake)
