"""Certification frontier of one experiment: share of all pairs certified, against ε."""

import numpy as np
import pandas as pd

from wtrak.certificates.frontier import certified_shares, epsilon_for_share, epsilon_grid
from wtrak.certificates.lipschitz import euclidean_gradient, natural
from wtrak.job.io import load_arrays, read_json, write_csv, write_json
from wtrak.job.runtime import progress, run

# Radius of a ball that is small beside any removal: the removal of a single point moves ten times
# as far.
TENTH = 0.1


def main(smk):
    s = load_arrays(smk.input.scores)
    m = smk.params.n_test_frontier
    one_deletion = {
        metric: unit["median"]
        for metric, unit in read_json(smk.input.deletion)["one_deletion"].items()
    }
    trak = s["trak_scores"][:m]
    constants = {
        "natural": natural(s["self_influence_test"], s["self_influence_train"]),
        "euclidean": euclidean_gradient(
            s["inverse_norms_test"], s["inverse_norms_train"], s["norms_train"].max()
        ),
    }
    target = smk.params.paper_share

    frames, grids = [], {}
    with progress(2 * m, "frontier", "test points") as advance:
        for metric, constant in constants.items():
            grids[metric] = epsilon_grid(trak, constant, smk.params.share_range, smk.params.points)
            shares = certified_shares(
                trak, constant, grids[metric], threads=smk.threads, advance=advance
            )
            low, high = np.quantile(shares, [0.1, 0.9], axis=1)
            frames.append(
                pd.DataFrame(
                    {
                        "metric": metric,
                        "epsilon": grids[metric],
                        "deletions": grids[metric] / one_deletion[metric],
                        "share": shares.mean(axis=1),
                        "share_p10": low,
                        "share_p90": high,
                    }
                )
            )
    frontier = pd.concat(frames)

    def share(metric, epsilon):
        counted = certified_shares(trak, constants[metric], [epsilon], threads=smk.threads)
        return float(counted.mean())

    def attained(metric):
        """Where a metric certifies the paper's share; None when the grid does not bracket it."""
        of_metric = frontier[frontier["metric"] == metric]
        above = of_metric["share"] >= target
        if above.all() or not above.any():
            return None
        low, high = of_metric["epsilon"][above].max(), of_metric["epsilon"][~above].min()
        epsilon = epsilon_for_share(lambda e: share(metric, e), target, low, high)
        return {"epsilon": epsilon, "deletions": epsilon / one_deletion[metric]}

    at_target = {metric: attained(metric) for metric in constants}
    same = at_target["natural"]
    # Both radii in deletions, and so in one unit.
    radii = [at_target[metric] and at_target[metric]["deletions"] for metric in constants]
    record = {
        "n_test": m,
        "n_train": trak.shape[1],
        "pairs_per_test_point": trak.shape[1] * (trak.shape[1] - 1) // 2,
        "one_deletion": one_deletion,
        "paper_share": target,
        "at_paper_share": at_target,
        "natural_over_euclidean_radius": radii[0] / radii[1] if all(radii) else None,
        # The paper's comparison, at one number ε in two units; and the fair one.
        "euclidean_share_at_same_epsilon": same and share("euclidean", same["epsilon"]),
        "euclidean_share_at_same_deletions": same
        and share("euclidean", same["deletions"] * one_deletion["euclidean"]),
        "share_at_one_deletion": {
            metric: share(metric, one_deletion[metric]) for metric in constants
        },
        "share_at_tenth_of_deletion": {
            metric: share(metric, TENTH * one_deletion[metric]) for metric in constants
        },
    }
    write_csv(smk.output.frontier, frontier)
    write_json(smk.output.record, record)


if __name__ == "__main__":
    run(main, snakemake)
