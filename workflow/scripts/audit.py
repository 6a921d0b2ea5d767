"""Attack certified pairs of one experiment, and set the cost found against every certificate."""

import numpy as np
import pandas as pd
import torch

from wtrak.audit import attack_radius, coordinates
from wtrak.errors import WtrakError
from wtrak.experiment import load_gradients
from wtrak.gram import inner_products
from wtrak.io import load_arrays, read_json, write_csv
from wtrak.lipschitz import natural
from wtrak.pair_certificates import (
    direct_radius,
    interval_radius,
    rigorous_radius,
    tight_constant,
)
from wtrak.runtime import progress, run, select_device
from wtrak.scores import whitened


def certified_radii(i, j, gap, difference, tau, si, paper, norm_test, radius):
    """Radius that each certificate in the natural metric gives one pair, by method."""
    constants = tight_constant(tau[[i, j]], np.sqrt(si[[i, j]]), norm_test, radius)
    direct = tight_constant(gap, difference, norm_test, radius)
    gap = np.array(gap)
    return {
        "paper": float(interval_radius(gap, paper[i], paper[j])),
        "tight": float(interval_radius(gap, *constants)),
        "direct": float(direct_radius(gap, np.array(direct))),
        "rigorous": float(rigorous_radius(gap, np.array(difference), norm_test, radius)),
    }


def main(smk):
    device = select_device(smk.params.device)
    factor = torch.from_numpy(load_arrays(smk.input.factor, ["factor"])["factor"]).to(device)
    gradients = load_gradients(smk.input.activations, smk.input.residuals, smk.input.factor)
    train, test, m = gradients["train"], gradients["test"], smk.params.n_test
    if m > len(test):
        raise WtrakError(f"{m} test points are to be audited, but there are {len(test)}")
    block_size = smk.params.block_size
    s = load_arrays(smk.input.scores)
    si, si_test = s["self_influence_train"], s["self_influence_test"][:m]
    radius = float(np.sqrt(si.max()))
    paper = natural(si_test, si)
    unit = read_json(smk.input.deletion)["one_deletion"]["natural"]["median"]

    rng = np.random.default_rng(smk.params.seed)
    panel = np.sort(
        rng.choice(len(train), size=min(smk.params.n_points, len(train)), replace=False)
    )
    queries = whitened(test.take(slice(0, m)), factor, block_size=block_size)
    points = whitened(train.take(panel), factor, block_size=block_size)
    with progress(len(train), "inner products", "examples") as advance:
        products = inner_products(
            train,
            torch.cat([queries, points]),
            factor,
            block_size=block_size,
            advance=advance,
        )
    tau, gram = products[:m], products[m:]
    rows = []
    with progress(m, "audit", "test points") as advance:
        for t in range(m):
            norm_test = float(np.sqrt(si_test[t]))
            chosen = rng.integers(len(panel), size=(smk.params.pairs_per_test, 2))
            for first, second in chosen[chosen[:, 0] != chosen[:, 1]]:
                i, j = panel[first], panel[second]
                y = gram[first] - gram[second]
                gap = float(tau[t, i] - tau[t, j])
                difference = float(np.sqrt(max(y[i] - y[j], 0.0)))
                pair = coordinates(tau[t], y, si, norm_test, difference, gap)
                certified = certified_radii(
                    i,
                    j,
                    gap,
                    difference,
                    tau[t],
                    si,
                    paper.test[t] * paper.train,
                    norm_test,
                    radius,
                )
                rows.append(
                    {
                        "test_index": test.index[t],
                        "train_index_i": train.index[i],
                        "train_index_j": train.index[j],
                        "capped": bool(si_test[t] > 2 * si.max()),
                        "attack": attack_radius(pair, radius),
                    }
                    | certified
                )
            advance(1)
    frame = pd.DataFrame(rows)
    frame["one_deletion"] = unit
    write_csv(smk.output[0], frame)


if __name__ == "__main__":
    run(main, snakemake)
