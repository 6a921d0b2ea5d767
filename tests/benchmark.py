"""Time the heavy stages at the paper's size, and compare with the rates of this machine.

Run with ``make benchmark``. Needs no data: random activations of the paper's shape take as long.
"""

import argparse
import resource
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import torchvision

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "workflow" / "lib"))

from wtrak.certificates.frontier import certified_shares, epsilon_grid
from wtrak.certificates.lipschitz import natural
from wtrak.geometry.backbone import (
    backbone_state,
    build_backbone,
    forward_activations,
    untrained_state,
)
from wtrak.geometry.catalogue import Preprocessing
from wtrak.geometry.covariance import (
    add_ridge,
    eigenvalues,
    factorise,
    second_moment,
    second_moment_operations,
)
from wtrak.geometry.gradients import Gradients, reduce_to_sum_zero, residuals
from wtrak.geometry.preprocessing import preprocess
from wtrak.geometry.scores import score, score_operations, whitened
from wtrak.job.runtime import describe_device, matmul_rate, select_device
from wtrak.reporting.tables import markdown


def synchronised(device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


def random_gradients(n, seed):
    """Gradients with the paper's shape: non-negative activations, and a head of 85 % accuracy."""
    rng = np.random.default_rng(seed)
    mix = rng.standard_normal((512, 512), dtype=np.float32) / 23
    h = np.maximum(rng.standard_normal((n, 512), dtype=np.float32) @ mix + 0.5, 0)
    h = np.concatenate([h, np.ones((n, 1), np.float32)], axis=1)
    y = rng.integers(10, size=n)
    z = rng.standard_normal((n, 10))
    z[np.arange(n), y] += 3
    return reduce_to_sum_zero(Gradients(residuals(z, y, "loss"), h, np.arange(n)))


def geometry(device, n, n_test, n_scored, n_frontier):
    """Seconds of each stage from residuals to frontier, and operations where they are known."""
    train, test = random_gradients(n, 0), random_gradients(n_test, 1)
    d, p, reduced_classes = train.dimension, 513, 9
    rows = []

    def timed(stage, work, operations=None):
        start = synchronised(device)
        result = work()
        rows.append((stage, synchronised(device) - start, operations))
        return result

    q = timed(
        f"covariance, n = {n:,}, d = {d:,}",
        lambda: add_ridge(second_moment(train, block_size=2048, device=device), 1e-4),
        second_moment_operations(n, reduced_classes, p),
    )
    factor = timed("Cholesky factor", lambda: factorise(q), d**3 / 3)
    timed("eigenvalues", lambda: eigenvalues(q, 1e-4))

    def scores():
        queries = whitened(test.take(slice(0, n_scored)), factor, block_size=2048)
        of_train = score(train, factor, queries, queries[:0], block_size=2048)
        return of_train, score(test, factor, queries[:0], queries[:0], block_size=2048)

    operations = score_operations(n, d, n_scored, 0) + score_operations(n_test, d, 0, 0)
    stage = f"SI of {n + n_test:,} points, {n_scored:,} × {n:,} scores"
    of_train, of_test = timed(stage, scores, operations)
    constants = natural(of_test.self_influence[:n_frontier], of_train.self_influence)
    trak = of_train.trak[:n_frontier]
    grid = epsilon_grid(trak, constants, (0.001, 0.999), 25)
    timed(
        f"frontier, {n_frontier} test points × 25 ε, one metric",
        lambda: certified_shares(trak, constants, grid, threads=torch.get_num_threads()),
    )
    return rows


def forward(device, n_images, image_size, batch_size):
    """Images per second of a plain torchvision loop on prepared inputs, and of the workflow."""
    rng = np.random.default_rng(0)
    images = rng.integers(256, size=(n_images, 32, 32, 3), dtype=np.uint8)
    bare = torchvision.models.resnet18(weights=None).eval()
    bare = bare.to(device, memory_format=torch.channels_last)
    whole = Preprocessing(None, image_size)
    batches = [preprocess(torch.from_numpy(images[:batch_size]).to(device), whole)]
    model = build_backbone(
        "resnet18", backbone_state("resnet18", untrained_state("resnet18", 0)), device
    )

    def bare_loop():
        with torch.inference_mode():
            for _ in range(n_images // batch_size):
                bare(batches[0])

    def workflow_pass():
        forward_activations(model, images, whole, batch_size=batch_size)

    rates = {}
    for name, work in {"bare torchvision loop": bare_loop, "activations": workflow_pass}.items():
        work()
        start = synchronised(device)
        work()
        rates[name] = n_images / (synchronised(device) - start)
    return rates


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--n", type=int, default=50_000, help="training examples")
    parser.add_argument("--images", type=int, default=512, help="images of the forward pass")
    options = parser.parse_args()
    device = select_device(options.device)
    rate = matmul_rate(device)
    print(f"{describe_device(device)}; float64 matrix product {rate / 1e9:.0f} GFLOP/s\n")
    rows = geometry(device, options.n, 10_000, 1_000, 200)
    table = pd.DataFrame(
        (
            {
                "stage": stage,
                "seconds": f"{seconds:.1f}",
                "× matrix product": f"{seconds * rate / operations:.2f}" if operations else "–",
            }
            for stage, seconds, operations in rows
        )
    )
    print(markdown(table))
    print(f"All but the frontier: {sum(row[1] for row in rows[:-1]):.1f} s")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    print(f"Peak memory: {peak:.1f} GiB\n")
    rates = forward(device, options.images, 224, 64)
    for name, value in rates.items():
        print(f"{name}: {value:.1f} images/s at 224 px")
    bare, ours = rates.values()
    print(f"activations / bare loop: {100 * ours / bare:.0f} %")


if __name__ == "__main__":
    main()
