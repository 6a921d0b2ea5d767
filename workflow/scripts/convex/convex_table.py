"""Write the table on robust influence intervals: orders, coverage, worst distributions and cost."""

import numpy as np
import pandas as pd

from wtrak.convex.error_orders import derivative_error, slopes_of
from wtrak.convex.wrif import LEAVE_ONE_OUT
from wtrak.job.io import read_csv, write_csv
from wtrak.job.runtime import run
from wtrak.reporting.cells import count, fixed, mean_cell, plain, with_decimals
from wtrak.reporting.intervals import (
    mean_share_with_interval,
    mean_with_interval,
    share_with_interval,
)
from wtrak.reporting.tables import write_documents

TITLE = "Robust influence intervals of convex models"
KERNELS = {"hessian_only": "Hessian only", "paper": "paper's", "corrected": "corrected"}
RADII = {"diameter": "diam/n", "own": "of each deletion"}
# Units of the sizes against which the time is measured.
UNITS = {"n": "points", "p": "features"}
# Column of a size, of the time by what it is for, and what that is.
SIZES = {"n": "n_train", "p": "n_features"}
TIMES = {"one": "one training point", "all": "all training points"}
# Shorter timings decide nothing: constant costs and other programs would rule them.
LEAST_SECONDS = 1.0
# An influence is outside its interval if it is so by more than this share of the half width. At the
# smallest radius terms of order ε² are far below it.
TOLERANCE = 0.01
# What a constant over pairs of training points does not promise, under every table that uses it.
SCOPE = (
    "A constant L over pairs of training points bounds first-order changes by distributions on "
    "these points. It bounds no exact change, and nothing beyond the points."
)


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
            title: share_cell(
                *mean_share_with_interval(group.loc[group["definition"] == name, "covered"])
            )
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


def share_cell(share, low, high):
    """A share in per cent with the ends of its interval, unless they are equal or missing."""
    if low < high:
        return with_decimals(100 * share, 100 * low, 100 * high, 1, "%")
    return fixed(100 * share, 1, "%")


def outside_cell(left):
    """The share of cases that left their interval, with its Wilson interval."""
    return share_cell(*share_with_interval(int(left.sum()), len(left)))


def radius_title(ratio):
    """A radius in units of diam/n."""
    return "ε = diam/n" if ratio == 1 else f"ε = {ratio:g}·diam/n"


def left_pairs(group, place):
    """Whether an influence left the interval of the constant over pairs, for each case."""
    return group[place] > (1 + TOLERANCE) * group["half_width_pairs"]


def equality_rows(support):
    """Yield the least first-order change over ε·L by task, kernel and radius."""
    for (task, kernel), group in support.groupby(["task", "kernel"], sort=False):
        share = (group["first_order"] / group["half_width_pairs"]).groupby(group["radius_ratio"])
        row = {"task": task, "kernel": KERNELS[kernel]}
        row["cases"] = count(share.size().iloc[0], "pairs")
        yield row | {
            radius_title(at): fixed(least, 3, "ratio") for at, least in share.min().items()
        }


def support_rows(support):
    """Yield how far the exact influence moves on the training points, by task, kernel, radius."""
    keys = ["task", "kernel", "radius_ratio"]
    for (task, kernel, ratio), group in support.groupby(keys, sort=False):
        share = group["on_support"] / group["half_width_pairs"]
        yield {
            "task": task,
            "kernel": KERNELS[kernel],
            "radius": radius_title(ratio),
            "outside (%)": outside_cell(left_pairs(group, "on_support")),
            "median/ε·L": fixed(share.median(), 3, "ratio"),
            "largest": fixed(share.max(), 3, "ratio"),
        }


def attack_rows(attacks):
    """Yield how far the influence moves if a training point may move to anywhere in the ball."""
    for (task, ratio), group in attacks.groupby(["task", "radius_ratio"], sort=False):
        share = group["beyond_support"] / group["half_width_pairs"]
        domain = group["beyond_support"] > group["half_width_domain"]
        row = {
            "task": task,
            "radius": radius_title(ratio),
            "outside, L of pairs (%)": outside_cell(left_pairs(group, "beyond_support")),
            "largest/ε·L of pairs": fixed(share.max(), 2, "ratio"),
            "outside, L of the domain (%)": outside_cell(domain),
        }
        for column, title in {
            "half_width_found": "steepest slope found / L of pairs",
            "half_width_domain": "L of the domain / of pairs",
        }.items():
            row[title] = plain((group[column] / group["half_width_pairs"]).median(), "ratio", 2)
        yield row


def cost_rows(cost):
    """Yield the exponents of the time between the two largest sizes of n and of p."""
    for varied, group in cost.groupby("varied", sort=False):
        size = group[SIZES[varied]]
        two = sorted(size.unique())[-2:]
        largest = group[size == two[1]]
        for name, title in TIMES.items():
            yield {
                "time for": title,
                "varied": varied,
                "from": count(two[0], UNITS[varied]),
                "to": count(two[1], UNITS[varied]),
                "exponent": mean_cell(pd.Series(exponents_of(varied, name, group)), 2, "1"),
                "seconds at the largest": plain(largest[f"seconds_{name}"].mean(), "seconds", 2),
            }


def with_mean(about, values):
    """A row of the CSV file: a mean over samples, and its 95 % interval."""
    mean, half = mean_with_interval(values)
    return about | {"value": mean, "low": mean - half, "high": mean + half}


def with_ends(about, value, low, high):
    """A row of the CSV file: a share, and its 95 % interval."""
    return about | {"value": value, "low": low, "high": high}


def order_numbers(orders):
    """Yield the order of the remainder and the error of the derivative."""
    for (task, kernel), group in orders.groupby(["task", "kernel"], sort=False):
        about = {"task": task, "kernel": kernel}
        yield with_mean(about | {"quantity": "slope"}, slopes_of(group))
        yield about | {"quantity": "derivative_error", "value": derivative_error(group)}


def coverage_numbers(coverage):
    """Yield coverage and widths in every cell, and the least coverage at the largest sizes."""
    shape = ["kernel", "constant", "radius", "definition"]
    largest = coverage["n_train"] == coverage.groupby("task")["n_train"].transform("max")
    for keys, group in coverage.groupby(["task", "n_train", *shape], sort=False):
        about = dict(zip(["task", "n_train", *shape], keys, strict=True))
        share = mean_share_with_interval(group["covered"])
        yield with_ends(about | {"quantity": "covered"}, *share)
        for quantity in ("width_over_influence", "width_over_deviation"):
            yield with_mean(about | {"quantity": quantity}, group[quantity])
    # The theorem asks for an ε = diam/n so small that terms of order ε² do not count.
    for keys, group in coverage[largest].groupby(shape, sort=False):
        about = {"quantity": "covered_least"} | dict(zip(shape, keys, strict=True))
        task = group.groupby("task", sort=False)["covered"].mean().idxmin()
        own = group[group["task"] == task]
        about |= {"task": task, "n_train": own["n_train"].iloc[0]}
        yield with_ends(about, *mean_share_with_interval(own["covered"]))


def support_numbers(support):
    """Yield first-order and exact changes on the training points, and the worst of all tasks."""
    keys = ["task", "kernel", "radius_ratio"]
    ratio = support["first_order"] / support["half_width_pairs"]
    for names, group in support.groupby(keys, sort=False):
        about = dict(zip(keys, names, strict=True)) | {"definition": "on_support"}
        yield about | {"quantity": "first_order_least", "value": ratio[group.index].min()}
        yield from change_numbers(about, group, "on_support")
    # At the smallest radius, where terms of order ε² do not count.
    smallest = support["radius_ratio"].min()
    for kernel, group in support[support["radius_ratio"] == smallest].groupby("kernel"):
        about = {"kernel": kernel, "radius_ratio": smallest, "definition": "on_support"}
        task = group.loc[ratio[group.index].idxmin(), "task"]
        least = {"quantity": "equality", "task": task, "value": ratio[group.index].min()}
        yield about | least
        left = left_pairs(group, "on_support").groupby(group["task"], sort=False)
        task = left.mean().idxmax()
        found = share_with_interval(int(left.sum()[task]), int(left.size()[task]))
        yield with_ends(about | {"quantity": "left_first_order", "task": task}, *found)


def change_numbers(about, group, place):
    """Yield how far influences move over ε·L of pairs, and how many leave their intervals."""
    share = group[place] / group["half_width_pairs"]
    yield about | {"quantity": "attained_median", "value": share.median()}
    yield about | {"quantity": "attained_most", "value": share.max()}
    domain = group[place] > group["half_width_domain"]
    for quantity, left in (("left", left_pairs(group, place)), ("left_domain", domain)):
        found = share_with_interval(int(left.sum()), len(left))
        yield with_ends(about | {"quantity": quantity}, *found)


def attack_numbers(attacks):
    """Yield changes beyond the training points, and how often any task's domain constant failed."""
    for (task, ratio), group in attacks.groupby(["task", "radius_ratio"], sort=False):
        about = {"task": task, "radius_ratio": ratio, "definition": "beyond_support"}
        yield from change_numbers(about, group, "beyond_support")
    # Slopes are the same at every radius.
    smallest = attacks[attacks["radius_ratio"] == attacks["radius_ratio"].min()]
    for task, group in smallest.groupby("task", sort=False):
        for column in ("found", "domain"):
            share = group[f"half_width_{column}"] / group["half_width_pairs"]
            yield {"quantity": f"{column}_over_pairs", "task": task, "value": share.median()}
    left = attacks["beyond_support"] > attacks["half_width_domain"]
    case = [attacks[name] for name in ("task", "test_index", "train_index")]
    ever = left.groupby(case).any()
    found = share_with_interval(int(ever.sum()), len(ever))
    about = {"quantity": "left_domain_ever", "definition": "beyond_support"}
    yield with_ends(about, *found)


def cost_numbers(cost):
    """Yield the exponents of the time in n and in p, over repeats."""
    for varied, group in cost.groupby("varied", sort=False):
        for name in TIMES:
            about = {"quantity": "exponent", "task": varied, "definition": name}
            yield with_mean(about, exponents_of(varied, name, group))


def exponents_of(varied, name, times):
    """Slope of log time against log size between the two largest sizes, shape (repeats,).

    NaN if any of these timings took less than `LEAST_SECONDS`.
    """
    column = SIZES[varied]
    two = sorted(times[column].unique())[-2:]
    chosen = times[times[column].isin(two)].sort_values([column, "repeat"])
    if (chosen["timed_seconds"] < LEAST_SECONDS).any():
        return np.full(chosen["repeat"].nunique(), np.nan)
    before, after = chosen[f"seconds_{name}"].to_numpy().reshape(2, -1)
    return np.log(after / before) / np.log(two[1] / two[0])


def as_text(rows, text_columns):
    frame = pd.DataFrame(rows)
    frame.attrs["text_columns"] = text_columns
    return frame


def main(smk):
    orders, coverage, support, attacks = (
        pd.concat(map(read_csv, paths), ignore_index=True)
        for paths in (smk.input.orders, smk.input.coverage, smk.input.support, smk.input.attacks)
    )
    cost = read_csv(smk.input.cost)
    ends = support["radius_ratio"].isin(support["radius_ratio"].agg(["min", "max"]))
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
        "Largest first-order change on the training points over ε·L of pairs: the least": as_text(
            equality_rows(support), 2
        ),
        "Exact change on the training points over ε·L of pairs, by kernel": as_text(
            support_rows(support[ends]), 3
        ),
        "Exact change if mass moves anywhere in the ball, corrected kernel": as_text(
            attack_rows(attacks), 2
        ),
        "CPU time of Algorithm 1 for one test point": as_text(cost_rows(cost), 2),
    }
    rows = [
        *order_numbers(orders),
        *coverage_numbers(coverage),
        *support_numbers(support),
        *attack_numbers(attacks),
        *cost_numbers(cost),
    ]
    write_csv(smk.output.csv, pd.DataFrame(rows))
    footer = smk.params.notice or "Data: " + ", ".join(smk.params.tasks) + "."
    write_documents(smk.output, TITLE, parts, f"{SCOPE} {footer}", "tab:wrif")


if __name__ == "__main__":
    run(main, snakemake)
