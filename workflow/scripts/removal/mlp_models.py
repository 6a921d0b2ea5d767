"""Train the networks whose predictions are attributed, and store them after every epoch."""

import torch

from wtrak.job.io import load_metadata, save_arrays
from wtrak.job.runtime import progress, run, say, select_device
from wtrak.removal.mlp import judge, train
from wtrak.removal.mlp_data import load_examples


def main(smk):
    device, recipe = select_device(smk.params.device), smk.params.recipe
    x, y = load_examples(smk.input.dataset, "train", device)
    classes = len(load_metadata(smk.input.dataset)["classes"])
    members = torch.arange(len(x)).expand(smk.params.models, -1)
    seeds, epochs = list(range(smk.params.models)), []
    with progress(len(seeds) * recipe["epochs"], "networks", "epochs") as advance:
        networks = train(
            x,
            y,
            members,
            seeds,
            recipe,
            classes,
            device,
            visit=lambda _, networks: epochs.append(networks),
            advance=advance,
        )
    losses, margins = judge(networks, *load_examples(smk.input.dataset, "test", device))
    say(f"test loss {losses.mean():.4f}, accuracy {(margins > 0).mean():.4f}")
    names = ("w1", "b1", "w2", "b2")
    parts = zip(names, zip(*(epoch.parameters for epoch in epochs), strict=True), strict=True)
    save_arrays(smk.output[0], {name: torch.stack(part).cpu().numpy() for name, part in parts})


if __name__ == "__main__":
    run(main, snakemake)
