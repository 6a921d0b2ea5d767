"""Train networks without the points that each arm removes first, for one removed share."""

import numpy as np
import pandas as pd
import torch

from wtrak.job.io import load_arrays, load_metadata, write_csv
from wtrak.job.runtime import progress, run, select_device
from wtrak.removal.mlp import judge, train
from wtrak.removal.mlp_data import load_examples
from wtrak.removal.orders import kept, orders


def mean_rankings(paths):
    """The values by which each arm ranks points, averaged over networks."""
    scores = [load_arrays(path) for path in paths]
    names = [name for name in scores[0] if name.startswith("arm_")]
    return {
        name.removeprefix("arm_"): np.mean([network[name] for network in scores], 0)
        for name in names
    }


def main(smk):
    device, recipe = select_device(smk.params.device), smk.params.recipe
    x, y = load_examples(smk.input.dataset, "train", device)
    test = load_examples(smk.input.dataset, "test", device)
    classes = len(load_metadata(smk.input.dataset)["classes"])
    values, labels = mean_rankings(smk.input.scores), y.cpu().numpy()
    share, jobs = float(smk.wildcards.share), []
    for seed in smk.params.seeds:
        # The seed sets the initial weights and the random arms. Other arms do not depend on it.
        arms = orders(values, labels, np.random.default_rng(seed))
        if share == 0:
            arms = {"none": np.arange(len(labels))}
        jobs += [(seed, arm, kept(order, share)) for arm, order in arms.items()]
    rows = []
    with progress(len(jobs) * recipe["epochs"], "removal", "epochs") as advance:
        for start in range(0, len(jobs), smk.params.stack):
            part = jobs[start : start + smk.params.stack]
            members = torch.stack([torch.from_numpy(job[2]) for job in part])
            seeds = [job[0] for job in part]
            networks = train(x, y, members, seeds, recipe, classes, device, advance=advance)
            losses, margins = judge(networks, *test)
            rows += [
                {"seed": seed, "arm": arm, "share": share, "loss": loss, "accuracy": accuracy}
                for (seed, arm, _), loss, accuracy in zip(
                    part, losses.mean(axis=1), (margins > 0).mean(axis=1), strict=True
                )
            ]
    write_csv(smk.output[0], pd.DataFrame(rows))


if __name__ == "__main__":
    run(main, snakemake)
