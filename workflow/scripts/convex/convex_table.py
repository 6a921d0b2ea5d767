"""Write the table on robust influence intervals: orders, coverage, attacks and cost."""

import numpy as np
import pandas as pd

from wtrak.convex.error_orders import derivative_error, slopes_of
from wtrak.convex.wrif import LEAVE_ONE_OUT
from wtrak.job.io import read_csv, write_csv
from wtrak.job.runtime import run
from wtrak.reporting.cells import count, fixed, mean_cell, percentage, plain
from wtrak.reporting.intervals import mean_with_interval
from wtrak.reporting.tables import write_documents

TITLE = "Robust influence intervals of convex models"
KERNELS = {"hessian_only": "Hessian only", "paper": "paper's", "corrected": "corrected"}
RADII = {"diameter": "diam/n", "own": "of each deletion"}
# Units of the sizes against which the time is measured.
UNITS = {"n": "points", "p": "features"}


def order_rows(orders):
    """Yield the slope of the remainder and the error of the derivative by task and kernel."""
    for task, group in orders.groupby("task", sort=False):
        for name, title in KERNELS.items():
            part = group[group["kernel"] == name]
            slope = mean_cell(pd.Series(slopes_of(part)), 2, "1")
            error = plain(derivative_error(part), "ratio", 2)
            yield {"task": task, "kernel": title, "slope": slope, "error of dI/dt": error}


def coverage_rows(coverage, constant):
    """Yield coverage by definition, and widths, at the smallest and largest n of each task."""
    keys = ["task", "n_train", "kernel", "radius"]
    sizes = coverage.groupby("task")["n_train"]
    ends = [sizes.transform("min"), sizes.transform("max")]
    shown = (coverage["n_train"] == ends[0]) | (coverage["n_train"] == ends[1])
    chosen = coverage[shown & (coverage["constant"] == constant)]
    for (task, n, kernel, radius), group in chosen.groupby(keys, sort=False):
        cells = {
            title: mean_cell(100 * group.loc[group["definition"] == name, "covered"], 1, "%")
            for name, title in LEAVE_ONE_OUT.items()
        }
        # The widths are the same for every definition.
        first = group[group["definition"] == "influence"]
        widths = {
            "half width over I": plain(first["width_over_influence"].mean(), "ratio", 2),
            "half width over deviation": plain(first["width_over_deviation"].mean(), "ratio", 2),
        }
        about = {"task": task, "kernel": KERNELS[kernel], "radius": RADII[radius]}
        about["n"] = count(n, "points")
        yield about | cells | widths


def attack_rows(attacks):
    """Yield how far distributions in the ball move the influence, relative to the half width."""
    for task, group in attacks.groupby("task", sort=False):
        row = {"task": task, "pairs": count(len(group), "pairs")}
        for place, title in (("on_support", "on the data"), ("beyond_support", "beyond")):
            share = group[place] / group["half_width_pairs"]
            row[f"{title}: median/ε·L"] = fixed(share.median(), 2, "ratio")
            row[f"{title}: largest"] = fixed(share.max(), 2, "ratio")
            row[f"{title}: outside"] = percentage((share > 1).mean())
            row[f"{title}: outside, L of the domain"] = percentage(
                (group[place] > group["half_width_domain"]).mean()
            )
        for column, title in {
            "half_width_found": "steepest slope found / L of pairs",
            "half_width_domain": "L of the domain / of pairs",
        }.items():
            row[title] = plain((group[column] / group["half_width_pairs"]).median(), "ratio", 2)
        yield row


def cost_rows(cost):
    """Yield the exponents of the time in n and in p."""
    for (varied, form), group in cost.groupby(["varied", "form"], sort=False):
        size = group["n_train" if varied == "n" else "n_features"]
        largest = group.loc[size.idxmax()]
        yield {
            "form": {"printed": "line by line", "vectorised": "vectorised"}[form],
            "varied": varied,
            "from": count(size.min(), UNITS[varied]),
            "to": count(size.max(), UNITS[varied]),
            "exponent": fixed(exponent_of(varied, group), 2, "1"),
            "seconds at the largest": plain(largest["seconds"], "seconds", 2),
        }


def numbers(orders, coverage, attacks, cost):
    """Yield rows of the CSV file: one number each, what it describes, and its 95 % interval."""

    def row(quantity, values, **about):
        mean, half = mean_with_interval(values)
        return about | {
            "quantity": quantity,
            "value": mean,
            "low": mean - half,
            "high": mean + half,
        }

    for (task, kernel), group in orders.groupby(["task", "kernel"], sort=False):
        yield row("slope", slopes_of(group), task=task, kernel=kernel)
        error = derivative_error(group)
        yield {"quantity": "derivative_error", "task": task, "kernel": kernel, "value": error}
    keys = ["task", "n_train", "kernel", "constant", "radius", "definition"]
    for about, group in coverage.groupby(keys, sort=False):
        about = dict(zip(keys, about, strict=True))
        for quantity in ("covered", "width_over_influence", "width_over_deviation"):
            yield row(quantity, group[quantity], **about)
    for task, group in attacks.groupby("task", sort=False):
        for place in ("on_support", "beyond_support"):
            share = group[place] / group["half_width_pairs"]
            about = {"task": task, "definition": place}
            yield about | {"quantity": "attained_median", "value": share.median()}
            yield about | {"quantity": "attained_most", "value": share.max()}
            yield about | {"quantity": "left", "value": (share > 1).mean()}
            left = (group[place] > group["half_width_domain"]).mean()
            yield about | {"quantity": "left_domain", "value": left}
    for (varied, form), group in cost.groupby(["varied", "form"], sort=False):
        about = {"quantity": "exponent", "task": varied, "definition": form}
        yield about | {"value": exponent_of(varied, group)}


def exponent_of(varied, times):
    """Slope of the time against the varied size, on logarithmic axes."""
    size = times["n_train" if varied == "n" else "n_features"]
    return float(np.polyfit(np.log(size), np.log(times["seconds"]), 1)[0])


def as_text(rows, text_columns):
    frame = pd.DataFrame(rows)
    frame.attrs["text_columns"] = text_columns
    return frame


def main(smk):
    orders, coverage, attacks = (
        pd.concat(map(read_csv, paths), ignore_index=True)
        for paths in (smk.input.orders, smk.input.coverage, smk.input.attacks)
    )
    cost = read_csv(smk.input.cost)
    parts = {
        "Order of the remainder I(Q_t) − I(P) − tS, and error of S as the derivative": as_text(
            order_rows(orders), 2
        ),
        "Coverage of leave-one-out influences (%), with L over pairs of training points": as_text(
            coverage_rows(coverage, "pairs"), 3
        ),
        "Coverage (%), with L bounded over the ball that contains all inputs": as_text(
            coverage_rows(coverage, "domain"), 3
        ),
        "Change of the influence within ε = diam/n, relative to the corrected interval": as_text(
            attack_rows(attacks), 1
        ),
        "Computing time for all training points and one test point": as_text(cost_rows(cost), 2),
    }
    write_csv(smk.output.csv, pd.DataFrame(numbers(orders, coverage, attacks, cost)))
    footer = smk.params.notice or "Data: " + ", ".join(smk.params.tasks) + "."
    write_documents(smk.output, TITLE, parts, footer, "tab:wrif")


if __name__ == "__main__":
    run(main, snakemake)
