"""Refit heads without the points that each arm removes first; record test loss and accuracy."""

import numpy as np
import pandas as pd

from wtrak.certificates.lipschitz import natural
from wtrak.errors import WtrakError
from wtrak.geometry.covariance import add_ridge, factorise, second_moment
from wtrak.geometry.gradients import append_constant
from wtrak.geometry.head import evaluate, logits, train_head
from wtrak.geometry.scores import score, whitened
from wtrak.job.experiment import training_subset
from wtrak.job.io import load_arrays, load_metadata, read_json, write_csv
from wtrak.job.runtime import progress, run, select_device
from wtrak.labels.head_scores import gradients_at, head_scores
from wtrak.removal.orders import kept, neighbour_agreement, orders, rankings


def one_sample(train, test, n_classes, epsilon, params, device, rng):
    """Removal curves, orders of removal and traits of the points of one training sample."""
    (h, y), (h_test, y_test) = train, test
    options = {"block_size": params.block_size}
    weight, _, _ = train_head(h, y, n_classes, params.recipe, device)
    z = logits(weight, h)
    g = gradients_at(z, y, h, params.gradient)
    scored = slice(0, params.n_test_scored)
    z_test = logits(weight, h_test[scored])
    g_test = gradients_at(z_test, y_test[scored], h_test[scored], params.gradient)
    factor = factorise(add_ridge(second_moment(g, device=device, **options), params.ridge))
    queries = whitened(g_test, factor, **options)
    scores = score(g, factor, queries, queries[:0], **options)
    si_test = (queries * queries).sum(dim=1).cpu().numpy()
    by_head = head_scores(z, y, h)
    lipschitz = natural(si_test, scores.self_influence)
    values = rankings(scores.trak, scores.self_influence, by_head["loss"], lipschitz, epsilon)
    arms = orders(values, y, rng)
    curves = [{"arm": "none", "share": 0.0} | evaluate(weight, h_test, y_test)]
    for share in params.shares:
        for arm, order in arms.items():
            rows = kept(order, share)
            refitted, _, _ = train_head(
                h[rows], y[rows], n_classes, params.recipe, device, initial=weight
            )
            curves.append({"arm": arm, "share": share} | evaluate(refitted, h_test, y_test))
    agreement = neighbour_agreement(h[:, :-1], y, params.neighbours)
    traits = {"loss": by_head["loss"], "margin": by_head["margin"], "agreement": agreement}
    return curves, arms, traits


def main(smk):
    device, params = select_device(smk.params.device), smk.params
    features = load_arrays(smk.input.activations, ["train", "test"])
    labels = load_arrays(smk.input.dataset, ["train_labels", "test_labels"])
    n_classes = len(load_metadata(smk.input.dataset)["classes"])
    frontier = read_json(smk.input.frontier)
    if frontier["at_paper_share"]["natural"] is None:
        raise WtrakError(
            f"no radius of the frontier certifies the paper's share, {frontier['paper_share']:g}, "
            "which the ranking of points needs; widen frontier.share_range, or leave the "
            "experiment out of removal.experiments"
        )
    epsilon = frontier["at_paper_share"]["natural"]["epsilon"]
    people = None
    if smk.input.human_labels:
        people = load_arrays(smk.input.human_labels[0], ["aggre"])["aggre"]
    test = append_constant(features["test"]), labels["test_labels"].astype(np.int64)
    curves, removed = [], []
    with progress(len(params.seeds), "removal", "samples") as advance:
        for seed in params.seeds:
            rows = training_subset(len(features["train"]), params.n_train, seed)
            train = (
                append_constant(features["train"][rows]),
                labels["train_labels"][rows].astype(np.int64),
            )
            sample_curves, arms, traits = one_sample(
                train, test, n_classes, epsilon, params, device, np.random.default_rng(seed)
            )
            curves += [{"seed": seed} | row for row in sample_curves]
            if people is not None:
                traits["people_differ"] = (people[rows] != train[1]).astype(float)
            first = round(params.looked_at * len(rows))
            for arm, order in arms.items():
                means = {name: values[order[:first]].mean() for name, values in traits.items()}
                removed.append({"seed": seed, "arm": arm} | means)
            advance(1)
    write_csv(smk.output.curves, pd.DataFrame(curves))
    write_csv(smk.output.removed, pd.DataFrame(removed))


if __name__ == "__main__":
    run(main, snakemake)
