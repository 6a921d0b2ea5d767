"""Train the last layer of one experiment on its training examples."""

import numpy as np

from wtrak.geometry.gradients import append_constant
from wtrak.geometry.head import evaluate, train_head
from wtrak.job.experiment import training_subset
from wtrak.job.io import load_arrays, load_metadata, save_arrays, write_csv, write_json
from wtrak.job.runtime import run, say, select_device
from wtrak.job.training_labels import load_training_labels


def main(smk):
    features = load_arrays(smk.input.activations, ["train", "test"])
    given = load_training_labels(smk.input.dataset, smk.input.corrections)
    test_labels = load_arrays(smk.input.dataset, ["test_labels"])["test_labels"]
    n_classes = len(load_metadata(smk.input.dataset)["classes"])
    rows = training_subset(
        len(features["train"]), smk.params.n_train, smk.params.subset_seed, given.kept
    )
    train = append_constant(features["train"][rows]), given.labels[rows]
    test = append_constant(features["test"]), test_labels.astype(int)
    # A user's folder of images may have no test set.
    sets = {"train": train} | ({"test": test} if len(test[1]) else {})
    weight, curve, record = train_head(
        *train, n_classes, smk.params.recipe, select_device(smk.params.device), evaluation=sets
    )
    record |= {"recipe": smk.params.recipe, "n_train": len(rows), "n_test": len(test[1])}
    for name, examples in sets.items():
        record[name] = evaluate(weight, *examples)
        say(f"{name}: accuracy {record[name]['accuracy']:.4f}")
    save_arrays(smk.output.head, {"weight": weight, "train_index": rows.astype(np.int64)})
    write_json(smk.output.record, record)
    write_csv(smk.output.curve, curve)


if __name__ == "__main__":
    run(main, snakemake)
