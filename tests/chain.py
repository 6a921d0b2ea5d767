"""Call scripts as their rules do, and run the chain of scripts from head to refits."""

import contextlib
from functools import partial
from types import SimpleNamespace
from unittest import mock

import numpy as np
from snakemake.iocontainers import Namedlist

import certificates as certificates_script
import covariance as covariance_script
import cross_leverage as cross_leverage_script
import deletions as deletions_script
import frontier as frontier_script
import head as head_script
import lipschitz as lipschitz_script
import residuals as residuals_script
import scores as scores_script
from wtrak.job.io import save_arrays
from wtrak.job.runtime import matmul_rate

RIDGE = 1e-3
RECIPE = {
    "optimizer": "lbfgs",
    "weight_decay": 1e-2,
    "gradient_norm": 1e-8,
    "max_iterations": 500,
}


def call(script, folder, outputs, *, inputs, threads=1, wildcards=None, **params):
    """Run a script's main as its rule does, with paths below `folder`."""

    def located(path):
        many = isinstance(path, list)
        return [str(folder / one) for one in path] if many else str(folder / path)

    files = {
        kind: Namedlist(fromdict={name: located(path) for name, path in paths.items()})
        for kind, paths in {"input": inputs, "output": outputs}.items()
    }
    # The machine is measured on a product so large that it takes seconds.
    quick = contextlib.nullcontext()
    if hasattr(script, "matmul_rate"):
        quick = mock.patch.object(script, "matmul_rate", partial(matmul_rate, size=64))
    with quick:
        script.main(
            SimpleNamespace(
                **files,
                params=SimpleNamespace(**params),
                threads=threads,
                wildcards=SimpleNamespace(**(wildcards or {})),
            )
        )


def write_data(folder):
    """Write 40 training and 12 test points of 3 classes with 5 features; and return them."""
    rng = np.random.default_rng(0)
    arrays, features = {}, {}
    for split, count in {"train": 40, "test": 12}.items():
        labels = rng.integers(3, size=count).astype(np.uint8)
        centres = np.eye(3, 5)[labels]
        features[split] = (centres + rng.standard_normal((count, 5))).astype(np.float32)
        arrays[f"{split}_labels"] = labels
    save_arrays(folder / "dataset", arrays, {"classes": ["a", "b", "c"]})
    save_arrays(folder / "activations", features)
    return folder, arrays, features


def run_chain(folder, gradient, test_label, n_test_scored=10):
    """Run the scripts from head to frontier and return the folder."""
    shared = {"dataset": "dataset", "activations": "activations"}
    call(
        head_script,
        folder,
        {"head": "head", "record": "head.json", "curve": "curve.csv"},
        inputs=shared | {"corrections": []},
        n_train=30,
        subset_seed=3,
        recipe=RECIPE,
        device="cpu",
    )
    call(
        residuals_script,
        folder,
        {"residuals": "residuals"},
        inputs=shared | {"head": "head"},
        gradient=gradient,
        test_label=test_label,
    )
    call(
        covariance_script,
        folder,
        {"factor": "factor", "spectrum": "spectrum.csv", "record": "spectrum.json"},
        inputs={"activations": "activations", "residuals": "residuals"},
        ridge=RIDGE,
        block_size=7,
        device="cpu",
    )
    call(
        scores_script,
        folder,
        {"scores": "scores", "deletion": "deletion.json"},
        inputs={"activations": "activations", "residuals": "residuals", "factor": "factor"},
        n_test_scored=n_test_scored,
        n_wasserstein=30,
        subset_seed=0,
        block_size=7,
        device="cpu",
    )
    call(
        lipschitz_script,
        folder,
        {"constants": "lipschitz.csv", "enlargement": "enlargement.csv"},
        inputs={"scores": "scores", "spectrum": "spectrum.json"},
    )
    call(
        frontier_script,
        folder,
        {"frontier": "frontier.csv", "record": "frontier.json"},
        inputs={"scores": "scores", "deletion": "deletion.json"},
        n_test_frontier=4,
        points=6,
        share_range=[0.05, 0.95],
        paper_share=0.687,
    )
    geometry = {
        "activations": "activations",
        "residuals": "residuals",
        "factor": "factor",
        "scores": "scores",
        "deletion": "deletion.json",
    }
    call(
        certificates_script,
        folder,
        {"curve": "certificates_curve.csv", "table": "certificates.csv"},
        inputs=geometry,
        n_test=4,
        seed=0,
        n_points=30,
        deletion_range=[1e-4, 10.0],
        points=5,
        reported_deletions=[0.02, 0.2],
        block_size=7,
        device="cpu",
    )
    call(
        cross_leverage_script,
        folder,
        {"bounds": "cross_leverage"},
        inputs=geometry,
        removals=[1, 3],
        block_size=7,
        device="cpu",
    )
    call(
        deletions_script,
        folder,
        {"pairs": "deletions.csv", "top_k": "top_k.csv"},
        inputs=geometry | {"cross_leverage": "cross_leverage"},
        n_test=4,
        seed=0,
        n_points=30,
        pairs_per_test=25,
        attacked_per_test=25,
        removals=[1, 3],
        top_k=[1, 5],
        block_size=7,
        device="cpu",
    )
