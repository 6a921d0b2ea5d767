"""Rank the original labels of a dataset by suspicion, and estimate how many are wrong."""

import numpy as np

from wtrak.geometry.gradients import append_constant
from wtrak.geometry.head import logits
from wtrak.job.io import load_arrays, load_metadata, write_csv
from wtrak.job.runtime import run, say, select_device
from wtrak.job.shown import WITH_PICTURE, shown_columns
from wtrak.job.training_labels import load_training_labels
from wtrak.labels.confident import estimate_errors, precision_at
from wtrak.labels.detectors import cleanlab_issues, self_influence
from wtrak.labels.duplicates import Copies
from wtrak.labels.head_scores import cross_entropy, gradients_at
from wtrak.labels.out_of_fold import out_of_fold_logits
from wtrak.labels.ranking import flag, suspects
from wtrak.labels.summaries import by_class, by_pair, estimates


def main(smk):
    device, about = select_device(smk.params.device), load_metadata(smk.input.dataset)
    head = load_arrays(smk.input.head)
    weight, rows = head["weight"], head["train_index"]
    activations = append_constant(load_arrays(smk.input.activations, ["train"])["train"][rows])
    given = load_training_labels(smk.input.dataset, smk.input.corrections)
    labels = given.labels[rows]
    z = logits(weight, activations)
    rng = np.random.default_rng(smk.params.seed)
    copies = Copies.of(load_arrays(smk.input.copies, ["groups"])["groups"])
    folds = min(smk.params.folds, len(labels))
    classes = about["classes"]
    fitting = (folds, smk.params.recipe, device, rng, copies.groups, classes)
    unseen = out_of_fold_logits(weight, activations, labels, *fitting).astype(np.float64)
    scores = {"loss": cross_entropy(z, labels), "out_of_fold_loss": cross_entropy(unseen, labels)}
    # Of a head that is not at its optimum, gradients say how far its training went.
    if smk.params.recipe["optimizer"] == "lbfgs" or smk.params.rank_by == "self_influence":
        g = gradients_at(z, labels, activations, smk.params.gradient)
        scores["self_influence"] = self_influence(
            g, smk.params.ridge, block_size=smk.params.block_size, device=device
        )
    also = shown_columns(smk.input.dataset, rows, WITH_PICTURE)
    confirmed = np.zeros(len(rows), bool)
    if given.decisions is not None:
        decided = given.decisions[rows]
        confirmed = decided == "keep"
        also["decision"] = np.where(decided == "skip", "", decided)
        also["original_label"] = np.array(classes, dtype=object)[given.given[rows]]
    if smk.input.human_labels:
        people = load_arrays(smk.input.human_labels[0], ["aggre"])["aggre"][rows]
        also["people_label"] = np.array(about["classes"], dtype=object)[people]
    also |= {"copies": copies.sizes - 1, "copies_differ": copies.conflicts(labels)}
    also |= {"cleanlab": cleanlab_issues(unseen, labels)}
    frame = suspects(
        rows, labels, scores, unseen, classes, smk.params.rank_by, last=confirmed, **also
    )
    # Nothing is left to estimate about labels that a person has confirmed. They are listed last.
    open_rows, open_unseen, open_labels = (part[~confirmed] for part in (rows, unseen, labels))
    errors = estimate_errors(open_unseen, open_labels, smk.params.resamples, rng)
    frame = flag(frame, errors.errors)
    wanted = (*smk.params.top, int(frame["flagged"].sum()))
    tops = sorted({k for k in wanted if 0 < k <= len(open_rows)})
    order = np.searchsorted(open_rows, frame["index"][: len(open_rows)])
    precisions = precision_at(order, tops, open_unseen, open_labels, errors)
    say(
        f"about {errors.errors:,.0f} of {len(frame):,} labels are wrong "
        f"({errors.low:,.0f} to {errors.high:,.0f}); {frame['flagged'].sum():,} are flagged"
    )
    write_csv(smk.output.suspects, frame)
    write_csv(smk.output.by_class, by_class(frame, classes, errors))
    write_csv(smk.output.by_pair, by_pair(frame, classes, errors))
    write_csv(smk.output.estimates, estimates(errors, precisions, tops, len(open_rows)))


if __name__ == "__main__":
    run(main, snakemake)
