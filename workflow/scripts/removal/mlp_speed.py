"""Measure the time of one epoch for networks trained one after the other and side by side."""

import time

import pandas as pd
import torch

from wtrak.job.io import load_metadata, write_csv
from wtrak.job.runtime import run, say, select_device
from wtrak.removal.mlp import train
from wtrak.removal.mlp_data import load_examples


def one_by_one(x, y, seeds, recipe, n_classes):
    """Train torch.nn networks in a plain loop, one after the other."""
    width, rate, size = recipe["width"], recipe["learning_rate"], recipe["batch_size"]
    for seed in seeds:
        torch.manual_seed(seed)
        network = torch.nn.Sequential(
            torch.nn.Linear(x.shape[1], width),
            torch.nn.ReLU(),
            torch.nn.Linear(width, n_classes),
        ).to(x.device)
        optimizer = torch.optim.Adam(network.parameters(), lr=rate)
        for rows in torch.randperm(len(x)).to(x.device).split(size):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(network(x[rows]), y[rows]).backward()
            optimizer.step()


def timed(work, device):
    """Seconds that a call takes."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    start = time.perf_counter()
    work()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter() - start


def main(smk):
    device, recipe = select_device(smk.params.device), smk.params.recipe | {"epochs": 1}
    x, y = load_examples(smk.input.dataset, "train", device)
    classes = len(load_metadata(smk.input.dataset)["classes"])
    seeds = list(range(smk.params.stack))
    members = torch.arange(len(x)).expand(len(seeds), -1)
    ways = {
        "loop": lambda k: one_by_one(x[:k], y[:k], seeds, recipe, classes),
        "stack": lambda k: train(x, y, members[:, :k], seeds, recipe, classes, device),
    }
    for work in ways.values():
        # A first step, so that the times contain no set-up.
        work(recipe["batch_size"])
    rows = []
    # The two ways alternate, so that other load on the machine affects both.
    for repeat in range(smk.params.repeats):
        for way, work in ways.items():
            seconds = timed(lambda work=work: work(len(x)), device) / len(seeds)
            say(f"{way}: {seconds:.3f} s for each network and epoch")
            rows.append({"way": way, "repeat": repeat, "seconds": seconds})
    write_csv(smk.output[0], pd.DataFrame(rows))


if __name__ == "__main__":
    run(main, snakemake)
