"""Compute self-influence of all points, TRAK scores, and the unit "one deletion"."""

import time

import numpy as np

from wtrak.certificates.wasserstein import (
    deletion_distances,
    euclidean_mean_distances,
    median_with_interval,
)
from wtrak.errors import WtrakError
from wtrak.geometry.scores import score, score_operations, whitened
from wtrak.job.experiment import load_geometry
from wtrak.job.io import save_arrays, write_json
from wtrak.job.runtime import matmul_rate, progress, run, say, select_device


def main(smk):
    device = select_device(smk.params.device)
    block_size = smk.params.block_size
    factor, train, test = load_geometry(
        smk.input.activations, smk.input.residuals, smk.input.factor, device
    )
    n_scored = smk.params.n_test_scored
    if n_scored > len(test):
        raise WtrakError(f"n_test_scored is {n_scored:,}, but there are {len(test):,} test points")

    rng = np.random.default_rng(smk.params.subset_seed)
    n_anchors = min(smk.params.n_wasserstein, len(train))
    anchors = np.sort(rng.choice(len(train), size=n_anchors, replace=False))
    rate = matmul_rate(device)
    start = time.perf_counter()
    queries = whitened(test.take(slice(0, n_scored)), factor, block_size=block_size)
    anchor_points = whitened(train.take(anchors), factor, block_size=block_size)
    none = queries[:0]
    with progress(len(train) + len(test), "scores", "examples") as advance:
        of_train = score(
            train, factor, queries, anchor_points, block_size=block_size, advance=advance
        )
        of_test = score(test, factor, none, none, block_size=block_size, advance=advance)
    seconds = time.perf_counter() - start
    operations = score_operations(len(train), train.dimension, n_scored, n_anchors)
    operations += score_operations(len(test), train.dimension, 0, 0)
    say(
        f"scores of {n_scored:,} test points and self-influence of {len(train) + len(test):,}: "
        f"{seconds:.1f} s, {seconds * rate / operations:.2f} times as long as a float64 matrix "
        f"product with as many operations ({rate / 1e9:.0f} GFLOP/s on this machine)"
    )
    distances = {
        "natural": of_train.mean_distances,
        "euclidean": euclidean_mean_distances(train, anchors, block_size=block_size),
    }
    unit = {}
    for metric, values in distances.items():
        median, low, high = median_with_interval(deletion_distances(values, len(train)))
        unit[metric] = {"median": median, "low": low, "high": high}
    save_arrays(
        smk.output.scores,
        {
            "train_index": train.index,
            "test_index": test.index,
            "self_influence_train": of_train.self_influence,
            "self_influence_test": of_test.self_influence,
            "inverse_norms_train": of_train.inverse_norms,
            "inverse_norms_test": of_test.inverse_norms,
            "norms_train": np.sqrt(train.squared_norms()),
            "norms_test": np.sqrt(test.squared_norms()),
            "trak_scores": of_train.trak,
        },
    )
    write_json(smk.output.deletion, {"n_anchors": int(n_anchors), "one_deletion": unit})


if __name__ == "__main__":
    run(main, snakemake)
