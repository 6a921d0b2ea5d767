"""Every stage on the CPU and on a card: differences against stated tolerances, and times.

Prints a Markdown table and ends with status 1 if a difference is beyond its tolerance.
"""

import argparse
import contextlib
import io
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "workflow" / "lib"))

from wtrak.geometry.backbone import (
    backbone_state,
    build_backbone,
    forward_activations,
    untrained_state,
)
from wtrak.geometry.catalogue import Preprocessing
from wtrak.geometry.covariance import add_ridge, factorise, second_moment
from wtrak.geometry.gradients import Gradients, append_constant, reduce_to_sum_zero, residuals
from wtrak.geometry.head import logits, train_head
from wtrak.geometry.leave_one_out import leave_one_out
from wtrak.geometry.scores import score, whitened
from wtrak.job.runtime import describe_device
from wtrak.removal.attribution import geometric
from wtrak.removal.mlp import judge, train
from wtrak.removal.mlp_gradients import draw_projection
from wtrak.reporting.tables import markdown, number

HEAD = {"optimizer": "lbfgs", "weight_decay": 1e-3, "gradient_norm": 1e-8, "max_iterations": 2000}
MLP = {"width": 128, "epochs": 1, "batch_size": 128, "learning_rate": 1e-3}


def stages(n, n_images, n_mlp, networks):
    """Name, relative tolerance, and a function from a device to an array, of every stage."""
    rng = np.random.default_rng(0)
    images = rng.integers(256, size=(n_images, 32, 32, 3), dtype=np.uint8)
    state = backbone_state("resnet18", untrained_state("resnet18", 0))
    h = append_constant(np.maximum(rng.standard_normal((n, 512), dtype=np.float32), 0))
    y = rng.integers(10, size=n)
    z = rng.standard_normal((n, 10))
    gradients = reduce_to_sum_zero(Gradients(residuals(z, y, "loss"), h, np.arange(n)))
    x = torch.from_numpy(rng.random((n_mlp, 784), dtype=np.float32))
    labels = torch.from_numpy(rng.integers(10, size=n_mlp))
    members = torch.arange(n_mlp).expand(networks, -1)

    def activations(device):
        model = build_backbone("resnet18", state, device)
        return np.asarray(
            forward_activations(model, images, Preprocessing(None, 224), batch_size=64)
        )

    def head(device):
        return train_head(h, y, 10, HEAD, device)[0]

    def covariance(device):
        return second_moment(gradients, block_size=2048, device=device).cpu().numpy()

    def scores(device):
        q = add_ridge(second_moment(gradients, block_size=2048, device=device), 1e-4)
        factor = factorise(q)
        queries = whitened(gradients.take(slice(0, 100)), factor, block_size=2048)
        found = score(gradients, factor, queries, queries[:0], block_size=2048)
        return np.append(found.trak.ravel(), found.self_influence)

    def without(device):
        weight = train_head(h, y, 10, HEAD, torch.device("cpu"))[0]
        found = leave_one_out(logits(weight, h), h, y, 1e-3, block_size=2048, device=device)
        return np.asarray(found.logits)

    def network(device):
        return train(x.to(device), labels.to(device), members, range(networks), MLP, 10, device)

    def networks_trained(device):
        return judge(network(device), x.to(device), labels.to(device))[0]

    def attributed(device):
        # The same network on both, so that the difference is of the attribution alone.
        one = network(torch.device("cpu")).take(slice(0, 1))
        one = type(one)(*(part.to(device) for part in one.parameters))
        projection = draw_projection(128, 784, (16, 32), 0, device)
        pair = x.to(device), labels.to(device)
        some = pair[0][:100], pair[1][:100]
        return geometric(one, pair, some, "loss", projection, 1e-4, 8192).whole

    return [
        ("activations, 224 px, float32", 1e-3, activations),
        ("head, L-BFGS to its optimum", 1e-5, head),
        ("covariance, float64", 1e-11, covariance),
        ("scores and self-influence", 1e-4, scores),
        ("leave-one-out logits", 1e-7, without),
        (f"{networks} networks, one epoch", 1e-2, networks_trained),
        ("attribution of a network", 1e-3, attributed),
    ]


def timed(work, device):
    """Result and seconds of a second call, so that what is set up once is not counted."""
    work(device)
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    start = time.perf_counter()
    result = work(device)
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return result, time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--device", default="cuda:0")
    options = parser.parse_args()
    device, cpu = torch.device(options.device), torch.device("cpu")
    if device.type == "cuda" and not torch.cuda.is_available():
        sys.exit("torch finds no usable CUDA card here")
    sizes = (2000, 64, 2000, 4) if options.quick else (20_000, 512, 20_000, 10)
    print(f"{describe_device(cpu)} against {describe_device(device)}\n")
    rows, failed = [], []
    for name, tolerance, work in stages(*sizes):
        with contextlib.redirect_stdout(io.StringIO()):
            (expected, before), (found, after) = timed(work, cpu), timed(work, device)
        difference = np.abs(found - expected).max() / np.abs(expected).max()
        if not difference <= tolerance:
            failed.append(name)
        rows.append(
            {
                "stage": name,
                "largest difference": number(float(difference), 2),
                "tolerance": number(tolerance, 2),
                "CPU s": number(before, 3),
                "card s": number(after, 3),
                "times faster": number(before / after, 2),
            }
        )
    print(markdown(pd.DataFrame(rows)))
    if failed:
        sys.exit(f"beyond the tolerance: {', '.join(failed)}")


if __name__ == "__main__":
    main()
