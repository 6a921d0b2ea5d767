"""Make training labels wrong, and fit a head to them, for every seed."""

import numpy as np
import pandas as pd

from wtrak.geometry.gradients import append_constant
from wtrak.geometry.head import logits, train_head
from wtrak.job.experiment import training_subset
from wtrak.job.io import load_arrays, load_metadata, save_arrays, write_csv
from wtrak.job.runtime import progress, run, say, select_device
from wtrak.labels.noise import flip_labels
from wtrak.labels.out_of_fold import out_of_fold_logits
from wtrak.labels.tracin import tracin


def fit_of(weight, activations, given, true):
    """Shares of the given, the true and the wrong labels that a head predicts."""
    predicted = logits(weight, activations).argmax(axis=1)
    wrong = given != true
    return {
        "n_train": len(given),
        "accuracy_as_given": (predicted == given).mean(),
        "accuracy_as_true": (predicted == true).mean(),
        "memorised": (predicted == given)[wrong].mean(),
    }


def main(smk):
    features = load_arrays(smk.input.activations, ["train"])["train"]
    labels_of_dataset = load_arrays(smk.input.dataset, ["train_labels"])["train_labels"]
    n_classes = len(load_metadata(smk.input.dataset)["classes"])
    rows = training_subset(len(features), smk.params.n_train, smk.params.subset_seed)
    activations, true = append_constant(features[rows]), labels_of_dataset[rows].astype(np.int64)
    device, noise = select_device(smk.params.device), smk.params.noise
    groups = load_arrays(smk.input.copies, ["groups"])["groups"]
    human = noise["kind"] == "human"
    if human:
        by_people = load_arrays(smk.input.human_labels[0], [noise["labels"]])[noise["labels"]]
    # Human labels do not depend on a seed.
    seeds = smk.params.seeds[:1] if human else smk.params.seeds
    given, weights, unseen, traced, fits = [], [], [], [], []
    with progress(len(seeds), "heads on wrong labels", "seeds") as advance:
        for seed in seeds:
            rng = np.random.default_rng(seed)
            if human:
                labels = by_people[rows].astype(np.int64)
            else:
                labels = flip_labels(true, noise["kind"], noise["rate"], n_classes, rng)
            weight, _, _ = train_head(activations, labels, n_classes, smk.params.recipe, device)
            fit = {"seed": seed} | fit_of(weight, activations, labels, true)
            say(", ".join(f"{name} {value:.4g}" for name, value in fit.items()))
            fits.append(fit)
            given.append(labels)
            weights.append(weight)
            fitting = (smk.params.folds, smk.params.recipe, device, rng, groups)
            unseen.append(out_of_fold_logits(weight, activations, labels, *fitting))
            traced.append(tracin(activations, labels, n_classes, smk.params.tracin, device))
            advance(1)
    save_arrays(
        smk.output.heads,
        {
            "train_index": rows.astype(np.int64),
            "seeds": np.array(seeds),
            "true": true,
            "given": np.stack(given),
            "weights": np.stack(weights),
            "out_of_fold": np.stack(unseen),
            "tracin": np.stack(traced),
        },
    )
    write_csv(smk.output.fits, pd.DataFrame(fits))


if __name__ == "__main__":
    run(main, snakemake)
