"""Residuals e of one experiment's training and test points: one factor of φ = e ⊗ h."""

import numpy as np

from wtrak.gradients import append_constant, residuals
from wtrak.head import logits
from wtrak.io import load_arrays, save_arrays
from wtrak.runtime import run


def main(smk):
    features = load_arrays(smk.input.activations, ["train", "test"])
    labels = load_arrays(smk.input.dataset, ["train_labels", "test_labels"])
    head = load_arrays(smk.input.head)
    rows = {"train": head["train_index"], "test": np.arange(len(features["test"]))}
    out = {}
    for split, index in rows.items():
        z = logits(head["weight"], append_constant(features[split][index]))
        label = labels[f"{split}_labels"][index].astype(np.int64)
        if split == "test" and smk.params.test_label == "predicted":
            label = z.argmax(axis=1)
        out[f"{split}_residuals"] = residuals(z, label, smk.params.gradient)
        out[f"{split}_labels"] = label
        out[f"{split}_index"] = index.astype(np.int64)
    save_arrays(smk.output[0], out, {"gradient": smk.params.gradient})


if __name__ == "__main__":
    run(main, snakemake)
