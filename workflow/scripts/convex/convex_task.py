"""Prepare the features and labels of one task for convex models."""

import numpy as np

from wtrak.convex.data import TABLES, standardised, table, two_classes
from wtrak.job.io import load_arrays, save_arrays
from wtrak.job.runtime import run, say


def main(smk):
    task = smk.params.task
    if task["data"] in TABLES:
        x, y = table(task["data"])
    else:
        parts = load_arrays(smk.input.dataset[0])
        images = np.concatenate([parts["train_images"], parts["test_images"]])
        labels = np.concatenate([parts["train_labels"], parts["test_labels"]])
        x, y = two_classes(images, labels, task["classes"], task["pool"])
    x, y = standardised(x, y, task["model"])
    say(f"{len(x):,} examples with {x.shape[1]} features, the constant included")
    save_arrays(smk.output[0], {"x": x, "y": y})


if __name__ == "__main__":
    run(main, snakemake)
