"""Train networks on random subsets, and store their margins at the test points."""

import numpy as np
import torch

from wtrak.job.io import load_metadata, save_arrays
from wtrak.job.runtime import progress, run, select_device
from wtrak.removal.datamodels import random_subsets
from wtrak.removal.mlp import judge, train
from wtrak.removal.mlp_data import load_examples


def main(smk):
    device, params, recipe = select_device(smk.params.device), smk.params, smk.params.recipe
    x, y = load_examples(smk.input.dataset, "train", device)
    test = load_examples(smk.input.dataset, "test", device, params.n_test)
    classes = len(load_metadata(smk.input.dataset)["classes"])
    subsets = random_subsets(len(x), params.subsets, params.share, params.seed)
    indices = range(int(smk.wildcards.part), params.subsets, params.parts)
    jobs = [(k, repeat) for k in indices for repeat in range(params.repeats)]
    margins = []
    with progress(len(jobs) * recipe["epochs"], "subsets", "epochs") as advance:
        for start in range(0, len(jobs), params.stack):
            chosen = jobs[start : start + params.stack]
            members = torch.stack([torch.from_numpy(subsets[k].nonzero()[0]) for k, _ in chosen])
            # Every network has its own initial weights.
            seeds = [k * params.repeats + repeat for k, repeat in chosen]
            networks = train(x, y, members, seeds, recipe, classes, device, advance=advance)
            margins.append(judge(networks, *test)[1])
    margins = np.concatenate(margins).reshape(len(indices), params.repeats, -1)
    save_arrays(smk.output[0], {"subset": np.array(indices), "margins": margins})


if __name__ == "__main__":
    run(main, snakemake)
