"""Shares certified by every certificate of one experiment, over all pairs of a panel of points."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd

from wtrak.certificates.lipschitz import Lipschitz, euclidean_gradient, natural
from wtrak.certificates.pairs import difference_norms
from wtrak.certificates.radii import Pairs, radii
from wtrak.errors import WtrakError
from wtrak.geometry.scores import unwhiten, whitened
from wtrak.job.experiment import load_geometry
from wtrak.job.io import load_arrays, read_json, write_csv
from wtrak.job.runtime import progress, run, select_device
from wtrak.reporting.panels import share_from_error


def metric_panel(queries, points, pairs, radius):
    """What certificates of one metric need of a panel: inner products, norms, differences, R."""
    i, j = pairs
    gram = (points @ points.T).cpu().numpy()
    squared = np.diag(gram)
    return {
        "inner": (queries @ points.T).cpu().numpy(),
        "norms": points.norm(dim=1).cpu().numpy(),
        "norms_test": queries.norm(dim=1).cpu().numpy(),
        "differences": difference_norms(squared[i], squared[j], gram[i, j], points.shape[1]),
        "radius": float(radius),
    }


def radii_of_test_point(t, pairs, panels, papers):
    """Certified radii of all pairs for test point t, by metric and certificate."""
    i, j = pairs
    tau = panels["natural"]["inner"][t]
    out = {}
    for metric, panel in panels.items():
        inner, paper = panel["inner"][t], papers[metric].test[t] * papers[metric].train
        seen = Pairs(
            gaps=tau[i] - tau[j],
            inner=(inner[i], inner[j]),
            norms=(panel["norms"][i], panel["norms"][j]),
            paper=(paper[i], paper[j]),
            differences=panel["differences"],
            norm_test=panel["norms_test"][t],
            radius=panel["radius"],
        )
        out |= {(metric, name): values for name, values in radii(metric, seen).items()}
    return out


def summarise(radii_of, n_test, pairs, n_points, deletions, reported, unit, threads, advance):
    """Certified shares by metric and method: a curve over deletions, and a table with intervals.

    The error of a share adds two variances: that over test points, and that of the panel, over
    whose points the share is a U-statistic (4·Var(share of a point's pairs)/s).
    """
    i, j = pairs

    def of_test_point(t):
        curves, shares, points = {}, {}, {}
        for key, radius in radii_of(t).items():
            ordered = np.sort(radius / unit[key[0]])
            curves[key] = 1 - np.searchsorted(ordered, deletions, side="right") / len(ordered)
            for count in reported:
                certified = radius > count * unit[key[0]]
                shares[*key, count] = certified.mean()
                per_point = np.bincount(i[certified], minlength=n_points)
                per_point += np.bincount(j[certified], minlength=n_points)
                points[*key, count] = per_point / (n_points - 1)
        advance(1)
        return curves, shares, points

    with ThreadPoolExecutor(threads) as pool:
        results = list(pool.map(of_test_point, range(n_test)))
    curve = pd.concat(
        pd.DataFrame(
            {
                "metric": metric,
                "method": method,
                "deletions": deletions,
                "epsilon": deletions * unit[metric],
                "share": np.mean([curves[metric, method] for curves, _, _ in results], axis=0),
            }
        )
        for metric, method in results[0][0]
    )
    rows = []
    for metric, method, count in results[0][1]:
        key = metric, method, count
        shares = [shares[key] for _, shares, _ in results]
        by_point = np.mean([points[key] for _, _, points in results], axis=0)
        variance = 4 * np.var(by_point, ddof=1) / n_points
        if n_test > 1:
            variance += np.var(shares, ddof=1) / n_test
        low, high = share_from_error(np.mean(shares), np.sqrt(variance), n_test)
        rows.append(
            {
                "metric": metric,
                "method": method,
                "deletions": count,
                "share": np.mean(shares),
                "low": low,
                "high": high,
            }
        )
    return curve, pd.DataFrame(rows)


def main(smk):
    device = select_device(smk.params.device)
    factor, train, test = load_geometry(
        smk.input.activations, smk.input.residuals, smk.input.factor, device
    )
    m = smk.params.n_test
    if m > len(test):
        raise WtrakError(f"{m} test points are to be certified, but there are {len(test)}")
    s = load_arrays(smk.input.scores)
    one_deletion = read_json(smk.input.deletion)["one_deletion"]
    unit = {metric: values["median"] for metric, values in one_deletion.items()}

    rng = np.random.default_rng(smk.params.seed)
    n_points = min(smk.params.n_points, len(train))
    rows = np.sort(rng.choice(len(train), size=n_points, replace=False))
    pairs = np.triu_indices(n_points, 1)
    block_size = smk.params.block_size
    queries = whitened(test.take(slice(0, m)), factor, block_size=block_size)
    points = whitened(train.take(rows), factor, block_size=block_size)
    largest_norm = s["norms_train"].max()
    natural_radius = np.sqrt(s["self_influence_train"].max())
    panels = {
        "euclidean": metric_panel(
            unwhiten(queries, factor), unwhiten(points, factor), pairs, largest_norm
        ),
        "natural": metric_panel(queries, points, pairs, natural_radius),
    }
    papers = {
        "euclidean": euclidean_gradient(
            s["inverse_norms_test"], s["inverse_norms_train"], largest_norm
        ),
        "natural": natural(s["self_influence_test"], s["self_influence_train"]),
    }
    papers = {metric: Lipschitz(p.test, p.train[rows]) for metric, p in papers.items()}
    with progress(m, "certificates", "test points") as advance:
        curve, table = summarise(
            lambda t: radii_of_test_point(t, pairs, panels, papers),
            m,
            pairs,
            n_points,
            np.geomspace(*smk.params.deletion_range, smk.params.points),
            smk.params.reported_deletions,
            unit,
            smk.threads,
            advance,
        )
    write_csv(smk.output.curve, curve)
    write_csv(smk.output.table, table)


if __name__ == "__main__":
    run(main, snakemake)
