"""Figure 4: share of certified pairs against ε as a bare number, and in deletions."""

import math

import matplotlib.pyplot as plt

from wtrak.job.io import read_csv, read_json
from wtrak.job.runtime import run
from wtrak.reporting.palette import EUCLIDEAN, NATURAL, NEUTRAL
from wtrak.reporting.plotting import (
    WIDTH,
    provenance_line,
    save_figure,
    set_style,
)
from wtrak.reporting.tables import number

ARROW = {"arrowstyle": "<->", "color": NEUTRAL, "linewidth": 0.8, "shrinkA": 0, "shrinkB": 0}
METRICS = {"euclidean": (EUCLIDEAN, "--", "s"), "natural": (NATURAL, "-", "o")}


def draw(axis, frontier, column):
    for metric, (color, linestyle, marker) in METRICS.items():
        part = frontier[frontier["metric"] == metric]
        axis.fill_between(
            part[column],
            100 * part["share_p10"],
            100 * part["share_p90"],
            color=color,
            alpha=0.15,
            linewidth=0,
        )
        axis.plot(
            part[column],
            100 * part["share"],
            color=color,
            linestyle=linestyle,
            marker=marker,
            markersize=3,
            label=f"{metric.capitalize()} W-TRAK",
        )


def mark_radius(axis, deletions, color):
    """Mark the radius at which a metric certifies the paper's share, with its number."""
    axis.axvline(deletions, color=color, linewidth=0.8, linestyle=":")
    axis.annotate(
        number(deletions, 2),
        (deletions, 0.12),
        xycoords=("data", "axes fraction"),
        xytext=(-3, 0),
        textcoords="offset points",
        rotation=90,
        ha="right",
        va="bottom",
        fontsize=7.5,
        color=color,
    )


def main(smk):
    set_style()
    names = smk.params.experiments
    figure, axes = plt.subplots(
        len(names), 2, figsize=(WIDTH, 2.75 * len(names)), sharey=True, squeeze=False
    )
    inputs = zip(axes, names, smk.input.frontiers, smk.input.records, strict=True)
    for (left, right), name, frontier, record in inputs:
        frontier, record = read_csv(frontier), read_json(record)
        draw(left, frontier, "epsilon")
        draw(right, frontier, "deletions")
        target, attained = 100 * record["paper_share"], record["at_paper_share"]["natural"]
        for axis in (left, right):
            axis.set_xscale("log")
            axis.set_ylim(-2, 102)
            axis.axhline(target, color=NEUTRAL, linewidth=0.8, linestyle=":")
            axis.annotate(
                f"paper: {target:g} %",
                (0.02, target),
                xycoords=("axes fraction", "data"),
                xytext=(0, -2),
                textcoords="offset points",
                va="top",
                fontsize=7.5,
                color=NEUTRAL,
            )
        if attained:
            left.axvline(attained["epsilon"], color=NEUTRAL, linewidth=0.8, linestyle=":")
            left.annotate(
                f"ε = {number(attained['epsilon'], 2)}",
                (attained["epsilon"], 0.04),
                xycoords=("data", "axes fraction"),
                xytext=(-3, 0),
                textcoords="offset points",
                rotation=90,
                ha="right",
                va="bottom",
                fontsize=7.5,
                color=NEUTRAL,
            )
        for metric, at in record["at_paper_share"].items():
            if at:
                mark_radius(right, at["deletions"], METRICS[metric][0])
        if record["natural_over_euclidean_radius"]:
            ends = [at["deletions"] for at in record["at_paper_share"].values()]
            right.annotate("", (ends[0], target), (ends[1], target), arrowprops=ARROW)
            right.annotate(
                f"{number(record['natural_over_euclidean_radius'], 2)} times",
                (math.sqrt(ends[0] * ends[1]), target),
                xytext=(0, 3),
                textcoords="offset points",
                ha="center",
                fontsize=7.5,
                color=NEUTRAL,
            )
        right.axvline(1.0, color="black", linewidth=0.8)
        right.annotate(
            "1 deletion",
            (1.0, 0.97),
            xycoords=("data", "axes fraction"),
            xytext=(-3, 0),
            textcoords="offset points",
            rotation=90,
            ha="right",
            va="top",
            fontsize=7.5,
        )
        left.set_ylabel(f"{smk.params.labels[name]}\ncertified pairs (%)")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2)
    axes[0, 0].set_title("Same number ε, two different units (as in the paper)")
    axes[0, 1].set_title("Same unit: ε in deletions")
    axes[-1, 0].set_xlabel("radius ε, in each metric's own unit")
    axes[-1, 1].set_xlabel("radius ε, in median one-point deletions")
    records = [read_json(path) for path in smk.input.provenance]
    save_figure(figure, *smk.output, provenance_line(records, smk.params.notice))


if __name__ == "__main__":
    run(main, snakemake)
