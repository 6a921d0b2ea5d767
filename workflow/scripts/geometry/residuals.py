"""Compute the residuals e of training and test points, the first factor of φ = e ⊗ h."""

import numpy as np

from wtrak.job.experiment import residuals_of
from wtrak.job.io import load_arrays, save_arrays
from wtrak.job.runtime import run


def main(smk):
    features = load_arrays(smk.input.activations, ["train", "test"])
    labels = load_arrays(smk.input.dataset, ["train_labels", "test_labels"])
    head = load_arrays(smk.input.head)
    rows = {"train": head["train_index"], "test": np.arange(len(features["test"]))}
    out = {}
    for split, index in rows.items():
        out[f"{split}_residuals"], out[f"{split}_labels"] = residuals_of(
            features[split],
            index,
            labels[f"{split}_labels"],
            head["weight"],
            smk.params.gradient,
            smk.params.test_label if split == "test" else "true_label",
        )
        out[f"{split}_index"] = index.astype(np.int64)
    save_arrays(smk.output[0], out, {"gradient": smk.params.gradient})


if __name__ == "__main__":
    run(main, snakemake)
