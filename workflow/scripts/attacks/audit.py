"""Attack certified pairs of one experiment, and set the cost found against every certificate."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import torch

from wtrak.attacks.perturbations import (
    coordinates,
    deletion_attack,
    move_attack,
    reweighting_attack,
    spread_attack,
)
from wtrak.certificates.lipschitz import natural
from wtrak.certificates.pairs import difference_norms
from wtrak.certificates.radii import Pairs, radii
from wtrak.certificates.wasserstein import deletion_distances, natural_mean_distances
from wtrak.errors import WtrakError
from wtrak.geometry.covariance import factorise
from wtrak.geometry.gram import inner_products
from wtrak.geometry.scores import whitened
from wtrak.job.experiment import load_geometry
from wtrak.job.io import load_arrays, read_json, write_csv
from wtrak.job.runtime import progress, run, select_device


def attacks(pair, radius, panel, gram, restarts):
    """Cost of each attack that moves mass, by kind."""
    return {
        "move": move_attack(pair, radius, restarts=restarts),
        "spread": spread_attack(pair, radius, panel, gram, restarts=restarts),
        "reweighting": reweighting_attack(pair, panel, gram),
    }


class Deletions:
    """Inner products of test points and a panel in the space where a deletion has rank one.

    There Q − (λ/n)·I is the identity: see `deletion_attack`.
    """

    def __init__(self, factor, ridge, train, test, panel, block_size):
        shifted = factor @ factor.T
        shifted.diagonal().sub_(ridge / len(train))
        of = factorise(shifted)
        points = whitened(train.take(panel), of, block_size=block_size)
        queries = whitened(test, of, block_size=block_size)
        self.x = (queries @ points.T).cpu().numpy()
        self.gram = (points @ points.T).cpu().numpy()
        self.n = len(train)

    def cost(self, sign, t, first, second, distances):
        """Least distance of a deletion that turns the pair (first, second) of the panel."""
        y = self.gram[first] - self.gram[second]
        gap = self.x[t, first] - self.x[t, second]
        return deletion_attack(sign, gap, self.x[t], y, np.diag(self.gram), self.n, distances)


def main(smk):
    device = select_device(smk.params.device)
    factor, train, test = load_geometry(
        smk.input.activations, smk.input.residuals, smk.input.factor, device
    )
    m = smk.params.n_test
    n = len(train)
    if m > len(test):
        raise WtrakError(f"{m} test points are to be audited, but there are {len(test)}")
    test = test.take(slice(0, m))
    block_size = smk.params.block_size
    s = load_arrays(smk.input.scores)
    si, si_test = s["self_influence_train"], s["self_influence_test"]
    radius = float(np.sqrt(si.max()))
    paper = natural(si_test, si)
    unit = read_json(smk.input.deletion)["one_deletion"]["natural"]["median"]

    rng = np.random.default_rng(smk.params.seed)
    n_points = min(smk.params.n_points, n)
    of_pairs = np.sort(rng.choice(n, size=n_points, replace=False))
    # Beside the points of the pairs, those that attacks may move: the most influential, and others.
    sources = np.argsort(-si, kind="stable")[: smk.params.n_sources // 2]
    others = rng.choice(n, size=min(smk.params.n_sources // 2, n), replace=False)
    panel = np.concatenate([of_pairs, np.setdiff1d(np.union1d(sources, others), of_pairs)])
    queries = whitened(test, factor, block_size=block_size)
    points = whitened(train.take(panel), factor, block_size=block_size)
    with progress(n, "inner products", "examples") as advance:
        products = inner_products(
            train,
            torch.cat([queries, points]),
            factor,
            block_size=block_size,
            advance=advance,
        )
    tau, inner = np.split(products, [m])
    gram = inner[:, panel]
    distances = deletion_distances(natural_mean_distances(inner, si, panel), n)
    deletions = Deletions(factor, smk.params.ridge, train, test, panel, block_size)

    def of_test_point(t, seed):
        norm_test = float(np.sqrt(si_test[t]))
        generator = np.random.default_rng(seed)
        chosen = generator.integers(n_points, size=(smk.params.pairs_per_test, 2))
        found = []
        for first, second in chosen[chosen[:, 0] != chosen[:, 1]]:
            i, j = panel[first], panel[second]
            y = inner[first] - inner[second]
            gap = float(tau[t, i] - tau[t, j])
            difference = float(difference_norms(si[i], si[j], inner[first, j], len(factor)))
            pair = coordinates(tau[t], y, si, norm_test, difference, gap)
            costs = attacks(pair, radius, panel, gram, smk.params.restarts)
            costs["deletion"] = deletions.cost(np.sign(gap), t, first, second, distances)
            row = {
                "test_index": test.index[t],
                "train_index_i": train.index[i],
                "train_index_j": train.index[j],
                "capped": bool(si_test[t] > 2 * si.max()),
                "attack": min(costs.values()),
            }
            row |= {f"attack_{kind}": cost for kind, cost in costs.items()}
            seen = Pairs(
                gaps=np.array(gap),
                inner=(tau[t, i], tau[t, j]),
                norms=(np.sqrt(si[i]), np.sqrt(si[j])),
                paper=(paper.test[t] * paper.train[i], paper.test[t] * paper.train[j]),
                differences=difference,
                norm_test=norm_test,
                radius=radius,
            )
            row |= {name: float(value) for name, value in radii("natural", seen).items()}
            found.append(row)
        return found

    rows = []
    with progress(m, "audit", "test points") as advance, ThreadPoolExecutor(smk.threads) as pool:
        for found in pool.map(of_test_point, range(m), rng.integers(2**63, size=m)):
            rows += found
            advance(1)
    frame = pd.DataFrame(rows)
    frame["one_deletion"] = unit
    write_csv(smk.output[0], frame)


if __name__ == "__main__":
    run(main, snakemake)
