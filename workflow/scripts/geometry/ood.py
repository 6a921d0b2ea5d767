"""Compute self-influence and distance to the training data of test points and foreign inputs."""

import numpy as np
import pandas as pd
import torch

from wtrak.errors import WtrakError
from wtrak.geometry.gradients import append_constant, assemble, reduce_to_sum_zero
from wtrak.geometry.ood import label_free_leverage, neighbour_distances
from wtrak.geometry.scores import score
from wtrak.job.experiment import load_factor, residuals_of
from wtrak.job.io import load_arrays, load_metadata, write_csv
from wtrak.job.runtime import progress, run, select_device

# Sets with true labels: test images, and the images made from the first of them.
LABELLED = ("test", "blurred", "inverted")


def main(smk):
    device, block_size = select_device(smk.params.device), smk.params.block_size
    factor = load_factor(smk.input.factor, device)
    reduced = load_metadata(smk.input.factor)["sum_zero"]
    head = load_arrays(smk.input.head)
    features = load_arrays(smk.input.activations, ["train", "test"])
    train = features["train"][head["train_index"]]
    if smk.params.neighbours > len(train):
        raise WtrakError(
            f"ood.neighbours is {smk.params.neighbours}, but there are {len(train)} training points"
        )
    labels = load_arrays(smk.input.dataset, ["test_labels"])["test_labels"]
    sets = {"test": features["test"], **load_arrays(smk.input.foreign)}

    def self_influence(points, label, labels_of):
        index = np.arange(len(points))
        e, _ = residuals_of(points, index, labels_of, head["weight"], smk.params.gradient, label)
        g = assemble(points, e, index)
        none = torch.empty(0, factor.shape[0], dtype=factor.dtype, device=device)
        scored = score(
            reduce_to_sum_zero(g) if reduced else g, factor, none, none, block_size=block_size
        )
        return scored.self_influence

    frames = []
    with progress(sum(map(len, sets.values())), "distances", "inputs") as advance:
        for name, points in sets.items():
            known = name in LABELLED
            true = self_influence(points, "true_label", labels) if known else np.nan
            frames.append(
                pd.DataFrame(
                    {
                        "set": name,
                        "row": np.arange(len(points)),
                        "distance": neighbour_distances(train, points, smk.params.neighbours),
                        "distance_of_directions": neighbour_distances(
                            train, points, smk.params.neighbours, unit_length=True
                        ),
                        "leverage": label_free_leverage(
                            append_constant(train), append_constant(points), smk.params.ridge
                        ),
                        "si_true_label": true,
                        "si_predicted": self_influence(points, "predicted", labels),
                    }
                )
            )
            advance(len(points))
    frame = pd.concat(frames)
    si = load_arrays(smk.input.scores, ["self_influence_train"])["self_influence_train"]
    frame["cap"] = 2 * si.max()
    write_csv(smk.output[0], frame)


if __name__ == "__main__":
    run(main, snakemake)
