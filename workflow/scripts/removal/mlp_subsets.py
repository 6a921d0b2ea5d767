"""Networks trained on random subsets, and what they say of the test points."""

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
    every = random_subsets(len(x), params.subsets, params.share, params.seed)
    own = range(int(smk.wildcards.part), params.subsets, params.parts)
    jobs = [(k, repeat) for k in own for repeat in range(params.repeats)]
    margins = []
    with progress(len(jobs) * recipe["epochs"], "subsets", "epochs") as advance:
        for start in range(0, len(jobs), params.stack):
            chosen = jobs[start : start + params.stack]
            members = torch.stack([torch.from_numpy(every[k].nonzero()[0]) for k, _ in chosen])
            # No two networks, of whatever subset, start alike.
            seeds = [k * params.repeats + repeat for k, repeat in chosen]
            networks = train(x, y, members, seeds, recipe, classes, device, advance=advance)
            margins.append(judge(networks, *test)[1])
    margins = np.concatenate(margins).reshape(len(own), params.repeats, -1)
    save_arrays(smk.output[0], {"subset": np.array(own), "margins": margins})


if __name__ == "__main__":
    run(main, snakemake)
