"""Which pairs and top sets of one experiment survive the removal of training points, exactly."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import torch

from wtrak.certificates.pairs import (
    difference_norms,
    direct_radius,
    gap_without,
    harmful_order,
    holds_to_first_order,
    removal_bound,
    survives_removal,
    survives_replacement,
    tight_constant,
    top_k_radius,
)
from wtrak.errors import WtrakError
from wtrak.geometry.gram import inner_products
from wtrak.geometry.scores import whitened
from wtrak.job.experiment import load_geometry
from wtrak.job.io import load_arrays, read_json, write_csv
from wtrak.job.runtime import progress, run, select_device
from wtrak.reporting.panels import error_over_panels, share_from_error

# Kinds that are about sets of every size.
SETS = ("first_order", "proved", "attack")


def examine_pair(tau, y, gap, difference, slack, removals, *, norm_test, radius, bounds, attack):
    """What removing or replacing training points does to one pair's order.

    Parameters
    ----------
    bounds : numpy.ndarray, shape (n, len(removals))
        Of the cross-leverages, for `removal_bound`.
    attack : callable or None
        Maps rows to their inner products; without it sets are not attacked, nor bounded.

    Returns
    -------
    dict
        By kind: whether the pair survives each number in `removals` (for ``replacement``, one).
    """
    n = len(tau)
    rows, effects = harmful_order(gap, tau, y, slack, max(removals))
    out = {
        "exact": [survives_removal(gap, tau, y, slack)],
        "replacement": [
            survives_replacement(
                gap, tau, y, slack, norm_test=norm_test, difference=difference, radius=radius, n=n
            )
        ],
        "first_order": [bool(holds_to_first_order(gap, effects, m)) for m in removals],
    }
    if attack is not None:
        out["proved"] = [
            bool(abs(gap) > removal_bound(gap, tau, y, slack, bounds[:, k], m))
            for k, m in enumerate(removals)
        ]
        cross = attack(rows)
        held, survives = True, []
        for m in removals:
            k = rows[:m]
            after = gap_without(gap, tau[k], y[k], slack[k], cross[:m, :m])
            held = held and after * np.sign(gap) > 0
            survives.append(bool(held))
        out["attack"] = survives
    return out


def main(smk):
    device = select_device(smk.params.device)
    factor, train, test = load_geometry(
        smk.input.activations, smk.input.residuals, smk.input.factor, device
    )
    m = smk.params.n_test
    n, removals, block_size = len(train), smk.params.removals, smk.params.block_size
    if m > len(test) or max(removals) >= n or max(smk.params.top_k) >= n:
        raise WtrakError(
            f"{m} test points, {max(removals)} removals and a top {max(smk.params.top_k)} are "
            f"asked of {len(test)} test and {n} training points"
        )
    s = load_arrays(smk.input.scores)
    si = s["self_influence_train"]
    radius, slack = float(np.sqrt(si.max())), n - si
    unit = read_json(smk.input.deletion)["one_deletion"]["natural"]["median"]
    stored = load_arrays(smk.input.cross_leverage, ["bounds", "removals"])
    # Bounds of refits stand in the same file. The sizes of both lists rise.
    bounds = np.asfortranarray(stored["bounds"][:, np.isin(stored["removals"], removals)])

    rng = np.random.default_rng(smk.params.seed)
    n_points = min(smk.params.n_points, n)
    panel = np.sort(rng.choice(n, size=n_points, replace=False))
    queries = whitened(test.take(slice(0, m)), factor, block_size=block_size)
    largest_k = max(smk.params.top_k)
    top = np.argsort(-s["trak_scores"][:m], axis=1, kind="stable")[:, :largest_k]
    top_rows = np.unique(top)
    points = whitened(train.take(np.concatenate([panel, top_rows])), factor, block_size=block_size)
    with progress(n, "inner products", "examples") as advance:
        products = inner_products(
            train,
            torch.cat([queries, points]),
            factor,
            block_size=block_size,
            advance=advance,
        )
    tau, gram, top_gram = np.split(products, [m, m + n_points])
    norms_test = queries.norm(dim=1).cpu().numpy()

    def of_test_point(t, seed):
        generator = np.random.default_rng(seed)
        first, second = generator.integers(n_points, size=(2, smk.params.pairs_per_test))
        keep = first != second
        found = []
        for count, (a, b) in enumerate(zip(first[keep], second[keep], strict=True)):
            i, j = panel[a], panel[b]
            y = gram[a] - gram[b]
            gap = tau[t, i] - tau[t, j]
            difference = difference_norms(si[i], si[j], gram[a, j], len(factor))

            def cross(rows):
                psi = whitened(train.take(rows), factor, block_size=block_size)
                return (psi @ psi.T).cpu().numpy()

            attacked = count < smk.params.attacked_per_test
            survives = examine_pair(
                tau[t],
                y,
                gap,
                difference,
                slack,
                removals,
                norm_test=norms_test[t],
                radius=radius,
                bounds=bounds,
                attack=cross if attacked else None,
            )
            found.append(((t, a, b), survives))
        sets = []
        for k in smk.params.top_k:
            rows = top[t, :k]
            inner = top_gram[np.searchsorted(top_rows, rows)]
            differences = difference_norms(si[rows][:, None], si, inner, len(factor))
            gaps = tau[t, rows][:, None] - tau[t]
            radii = direct_radius(gaps, tight_constant(gaps, differences, norms_test[t], radius))
            sets.append({"test": t, "k": k, "epsilon": top_k_radius(tau[t], rows, radii)})
        return found, sets

    seeds = rng.integers(2**63, size=m)
    with (
        progress(m, "deletions", "test points") as advance,
        ThreadPoolExecutor(smk.threads) as pool,
    ):
        results = []
        for result in pool.map(of_test_point, range(m), seeds):
            results.append(result)
            advance(1)

    examined = [pair for found, _ in results for pair in found]
    rows = []
    for kind in ("exact", "replacement", "first_order", "proved", "attack"):
        of_kind = [(points, survives[kind]) for points, survives in examined if kind in survives]
        tests, first, second = np.array([points for points, _ in of_kind]).T
        # Every test point counts alike.
        _, groups, sizes = np.unique(tests, return_inverse=True, return_counts=True)
        weights = 1 / sizes[groups] / len(sizes)
        for position, count in enumerate(removals if kind in SETS else [1]):
            survived = np.array([survives[position] for _, survives in of_kind])
            # Exactly 1 if all survive, unlike the sum of the weights.
            share = float((np.bincount(groups, survived) / sizes).mean())
            error = error_over_panels(survived, tests, first, second, weights)
            low, high = share_from_error(share, error, m)
            about = {"kind": kind, "removals": count, "pairs": len(of_kind)}
            rows.append(about | {"share": share, "low": low, "high": high})
    write_csv(smk.output.pairs, pd.DataFrame(rows))
    sets = pd.DataFrame(row for _, found in results for row in found)
    sets["deletions"] = sets["epsilon"] / unit
    write_csv(smk.output.top_k, sets)


if __name__ == "__main__":
    run(main, snakemake)
