"""The paper's natural bound against the exact Lipschitz constant, and against training points."""

import numpy as np
import pandas as pd

from wtrak.certificates.lipschitz import natural
from wtrak.certificates.pairs import tight_constant
from wtrak.certificates.theorems import largest_slope
from wtrak.errors import WtrakError
from wtrak.geometry.scores import whitened
from wtrak.job.experiment import load_geometry
from wtrak.job.io import load_arrays, write_csv
from wtrak.job.runtime import progress, run, select_device


def main(smk):
    device, block_size = select_device(smk.params.device), smk.params.block_size
    factor, train, test = load_geometry(
        smk.input.activations, smk.input.residuals, smk.input.factor, device
    )
    m = smk.params.n_test
    if m > len(test):
        raise WtrakError(f"{m} test points are asked for, but there are {len(test)}")
    s = load_arrays(smk.input.scores)
    rng = np.random.default_rng(smk.params.seed)
    rows = rng.choice(len(train), size=min(smk.params.n_points, len(train)), replace=False)
    points = whitened(train.take(rows), factor, block_size=block_size)
    queries = whitened(test.take(slice(0, m)), factor, block_size=block_size)
    inner, gram = (x @ points.T for x in (queries, points))
    inner, gram = inner.cpu().numpy(), gram.cpu().numpy()
    norms, norms_test = points.norm(dim=1).cpu().numpy(), queries.norm(dim=1).cpu().numpy()
    radius = float(np.sqrt(s["self_influence_train"].max()))
    paper = natural(s["self_influence_test"], s["self_influence_train"])
    squared = norms[:, None] ** 2 + norms**2 - 2 * gram
    distances = np.sqrt(np.maximum(squared, 0.0))

    def examine(t, i):
        return {
            "test_index": test.index[t],
            "train_index": train.index[rows[i]],
            "si_test": norms_test[t] ** 2,
            "si_train": norms[i] ** 2,
            "paper_capped": paper.test[t] * paper.train[rows[i]],
            "paper": 2 * radius * norms_test[t] * norms[i],
            "exact": tight_constant(inner[t, i], norms[i], norms_test[t], radius),
            # S on the panel's points: what Algorithm 1 would estimate from data.
            "on_training_points": largest_slope(inner[t] * gram[i], distances),
        }

    found = []
    with progress(m, "constants", "test points") as advance:
        for t in range(m):
            chosen = rng.integers(len(rows), size=smk.params.pairs_per_test)
            found += [examine(t, i) for i in chosen]
            advance(1)
    write_csv(smk.output[0], pd.DataFrame(found))


if __name__ == "__main__":
    run(main, snakemake)
