"""Attribute one network's predictions; predict networks of subsets, and rank training points."""

import numpy as np
import torch
from scipy.special import expit

from wtrak.certificates.lipschitz import natural
from wtrak.job.io import load_arrays, save_arrays
from wtrak.job.runtime import run, say, select_device
from wtrak.removal.attribution import dot_products, geometric, last_layer_influence
from wtrak.removal.datamodels import random_subsets
from wtrak.removal.mlp import Networks, judge
from wtrak.removal.mlp_data import load_examples
from wtrak.removal.mlp_gradients import draw_projection, inner_product_error
from wtrak.removal.orders import rankings

# Number of examples on whose pairs the error of projected inner products is measured.
LOOKED_AT = 500


def certain_at(trak, lipschitz, share):
    """ε at which the sign of `share` of the scores is certified, |τ_ti| > ε·L_ti.

    Scores of a point with a zero gradient are certified at no ε.
    """
    bounds = lipschitz.test[:, None] * lipschitz.train
    radii = np.divide(np.abs(trak), bounds, out=np.zeros(bounds.shape), where=bounds > 0)
    return float(np.quantile(radii, 1 - share))


def loaded(models, device):
    """The stored networks, as a list with one `Networks` for each epoch."""
    stored = load_arrays(models, ["w1", "b1", "w2", "b2"])
    parts = [torch.from_numpy(stored[name]).to(device) for name in ("w1", "b1", "w2", "b2")]
    return [Networks(*(part[epoch] for part in parts)) for epoch in range(len(parts[0]))]


def attributions(epochs, train, test, projection, params):
    """Scores of one network by every method, and the values by which arms rank training points.

    TRAK's scores lack the factor 1 − p, because that is averaged over networks.
    """
    last = epochs[-1]
    options = {"ridge": params.ridge, "block_size": params.block_size}
    loss = geometric(last, train, test, "loss", projection, **options)
    say("scores by loss gradients")
    losses, _ = judge(last, *train)
    lipschitz = natural(loss.of_test, loss.of_train)
    epsilon = certain_at(loss.whole, lipschitz, params.certified_share)
    arms = rankings(loss.whole, loss.of_train, losses[0].astype(np.float64), lipschitz, epsilon)
    margin = geometric(last, train, test, "margin", projection, **options)
    say("scores by margin gradients")
    scores = {"natural": loss.whole, "natural_last": loss.last}
    scores |= {"trak": margin.whole, "trak_last": margin.last}
    scores["influence"] = last_layer_influence(last, train, test, **options)
    say("influence functions of the last layer")
    products = [dot_products(epoch, train, test, params.block_size) for epoch in epochs]
    scores |= {"gradient_dot": products[-1], "tracin": sum(products)}
    say("gradient dot products")
    return scores, arms


def main(smk):
    device, params, k = select_device(smk.params.device), smk.params, int(smk.wildcards.network)
    train = load_examples(smk.input.dataset, "train", device)
    test = load_examples(smk.input.dataset, "test", device, params.n_test)
    epochs = loaded(smk.input.models, device)
    # TRAK weights each training point by 1 − p at its label, averaged over networks.
    wrong = expit(-judge(epochs[-1], *train)[1])
    this = [epoch.take(slice(k, k + 1)) for epoch in epochs]
    width, n_inputs = params.recipe["width"], train[0].shape[1]
    projection = draw_projection(width, n_inputs, params.projection, k, device)
    some = train[0][:LOOKED_AT], train[1][:LOOKED_AT]
    error = inner_product_error(this[-1], *some, "loss", projection)
    say(f"network {k}: relative error of projected inner products {error:.3f}")
    scores, arms = attributions(this, train, test, projection, params)
    rng = np.random.default_rng([params.seed, k])
    scores["random"] = rng.standard_normal(scores["natural"].shape).astype(np.float32)
    members = random_subsets(len(train[0]), params.subsets, params.share, params.seed)
    members = members.T.astype(np.float32)

    def predicted(name, values, count):
        """This network's contribution to the mean prediction of the first `count` networks."""
        if name.startswith("trak"):
            return (values * wrong[:count].mean(axis=0)) @ members
        return values @ members

    counts = range(1, len(wrong) + 1)
    save_arrays(
        smk.output[0],
        {
            f"predicted_{name}": np.stack([predicted(name, values, count) for count in counts])
            for name, values in scores.items()
        }
        | {f"arm_{name}": values for name, values in arms.items()}
        | {"projection_error": np.array([error])},
    )


if __name__ == "__main__":
    run(main, snakemake)
