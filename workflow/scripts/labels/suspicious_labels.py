"""Rank the original labels of a dataset by suspicion."""

import numpy as np

from wtrak.geometry.gradients import append_constant
from wtrak.geometry.head import logits
from wtrak.job.io import load_arrays, load_metadata, write_csv
from wtrak.job.runtime import run, say, select_device
from wtrak.job.shown import shown_columns
from wtrak.labels.detectors import self_influence
from wtrak.labels.duplicates import Copies
from wtrak.labels.head_scores import cross_entropy, gradients_at
from wtrak.labels.out_of_fold import out_of_fold_logits
from wtrak.labels.ranking import suspects


def main(smk):
    device, about = select_device(smk.params.device), load_metadata(smk.input.dataset)
    head = load_arrays(smk.input.head)
    weight, rows = head["weight"], head["train_index"]
    activations = append_constant(load_arrays(smk.input.activations, ["train"])["train"][rows])
    labels = load_arrays(smk.input.dataset, ["train_labels"])["train_labels"][rows].astype(np.int64)
    z = logits(weight, activations)
    g = gradients_at(z, labels, activations, smk.params.gradient)
    si = self_influence(g, smk.params.ridge, block_size=smk.params.block_size, device=device)
    folds = min(smk.params.folds, len(labels))
    rng = np.random.default_rng(smk.params.seed)
    copies = Copies.of(load_arrays(smk.input.copies, ["groups"])["groups"])
    unseen = out_of_fold_logits(
        weight, activations, labels, folds, smk.params.recipe, device, rng, copies.groups
    ).astype(np.float64)
    also = shown_columns(smk.input.dataset, rows)
    if smk.input.human_labels:
        people = load_arrays(smk.input.human_labels[0], ["aggre"])["aggre"][rows]
        also["people_label"] = np.array(about["classes"], dtype=object)[people]
    also |= {"copies": copies.sizes - 1, "copies_differ": copies.conflicts(labels)}
    frame = suspects(
        rows,
        labels,
        {
            "self_influence": si,
            "loss": cross_entropy(z, labels),
            "out_of_fold_loss": cross_entropy(unseen, labels),
        },
        unseen,
        about["classes"],
        smk.params.rank_by,
        **also,
    )
    differ = (frame["given_label"] != frame["suggested_label"]).sum()
    say(f"another label is suggested for {differ:,} of {len(frame):,} examples")
    write_csv(smk.output[0], frame)


if __name__ == "__main__":
    run(main, snakemake)
