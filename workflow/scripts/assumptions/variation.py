"""Compute the quantities of Table 1 for one variation, both test labels and every ridge."""

import numpy as np
import pandas as pd
import torch

from wtrak.assumptions.variations import constants, norms_and_products, one_deletion, pair_radii
from wtrak.errors import WtrakError
from wtrak.geometry.gradients import sums_to_zero
from wtrak.geometry.spectral import eigenbasis
from wtrak.job.experiment import load_head_gradients
from wtrak.job.io import read_json, write_csv
from wtrak.job.runtime import progress, run, select_device

LABELS = ("true_label", "predicted")


def sample_pairs(rng, m, n, pairs_per_test):
    """Sampled pairs, shape (3, P): a test point and two distinct training points i and j."""
    t = np.repeat(np.arange(m), pairs_per_test)
    i = rng.integers(n, size=len(t))
    j = (i + rng.integers(1, n, size=len(t))) % n
    return np.stack([t, i, j])


def share_beyond(radii, epsilon):
    """Share of pairs whose certified radius is above ε; NaN for NaN."""
    return float(np.mean(radii > epsilon)) if np.isfinite(epsilon) else np.nan


def main(smk):
    device, ridges = select_device(smk.params.device), smk.params.ridges
    block_size, m = smk.params.block_size, smk.params.n_test
    by_label = {
        label: load_head_gradients(
            smk.input.dataset, smk.input.activations, smk.input.head, smk.params.gradient, label
        )
        for label in LABELS
    }
    train = by_label["true_label"]["train"]
    tests = {label: gradients["test"] for label, gradients in by_label.items()}
    n = len(train)
    if m > len(tests["true_label"]):
        raise WtrakError(
            f"assumptions.n_test is {m}, but there are {len(tests['true_label'])} test points"
        )
    rng = np.random.default_rng(smk.params.seed)
    pairs = sample_pairs(rng, m, n, smk.params.pairs_per_test)
    anchors = np.sort(rng.choice(n, size=min(smk.params.n_wasserstein, n), replace=False))

    basis = eigenbasis(train, block_size=block_size, device=device)
    queries = [basis.coordinates(test, slice(0, m))[0] for test in tests.values()]
    queries.append(basis.coordinates(train.take(anchors), slice(None))[0])
    nothing = queries[0][:0]
    of_train, products = norms_and_products(
        basis, train, ridges, torch.cat(queries), block_size=block_size
    )
    # The smallest eigenvalue of Q is λ if the basis is incomplete or residuals sum to zero.
    full = len(basis.eigenvalues) == basis.dimension and not sums_to_zero(smk.params.gradient)
    largest, smallest = (float(basis.eigenvalues[k]) for k in (0, -1))
    frontier = read_json(smk.input.frontier)
    share = frontier["paper_share"]
    reference = frontier["at_paper_share"]["natural"] or {"epsilon": np.nan, "deletions": np.nan}

    rows = []
    with progress(len(LABELS) * len(ridges), "variation", "settings") as advance:
        for position, (label, test) in enumerate(tests.items()):
            of_test, _ = norms_and_products(basis, test, ridges, nothing, block_size=block_size)
            for k, ridge in enumerate(ridges):
                trak = products[k, position * m : (position + 1) * m]
                unit = one_deletion(products[k, 2 * m :], of_train.self_influence[k], anchors)
                smallest_of_q = ridge + (smallest if full else 0.0)
                row = {
                    "test_label": label,
                    "ridge": ridge,
                    "kappa": (largest + ridge) / smallest_of_q,
                    "one_deletion": unit,
                }
                lipschitz_constants = constants(of_train, of_test, k, smallest_of_q)
                for name, lipschitz in lipschitz_constants.items():
                    row |= {
                        f"{name}_max": lipschitz.maximum(),
                        f"{name}_median": lipschitz.median(),
                        f"{name}_mean": lipschitz.mean(),
                    }
                radii = pair_radii(trak, lipschitz_constants["natural"], pairs)
                row["epsilon_at_paper_share"] = float(np.quantile(radii, 1 - share))
                row["deletions_at_paper_share"] = row["epsilon_at_paper_share"] / unit
                euclidean = pair_radii(trak, lipschitz_constants["gradient"], pairs)
                # NaN if the frontier of the configured experiment misses the paper's share.
                epsilon, deletions = reference["epsilon"], reference["deletions"]
                row |= {
                    "natural_share": share_beyond(radii, epsilon),
                    "natural_share_in_deletions": share_beyond(radii, deletions * unit),
                    "euclidean_share": share_beyond(euclidean, epsilon),
                }
                rows.append(row)
                advance(1)
    frame = pd.DataFrame(rows)
    frame.insert(0, "experiment", smk.params.experiment)
    frame.insert(1, "variation", smk.params.variation)
    write_csv(smk.output[0], frame)


if __name__ == "__main__":
    run(main, snakemake)
