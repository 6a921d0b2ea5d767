"""Draw figure 7: accuracy and loss without training points, and labels of the removed points."""

import matplotlib.pyplot as plt
import numpy as np

from wtrak.job.io import read_csv, read_json
from wtrak.job.runtime import run
from wtrak.removal.catalogue import ARMS
from wtrak.removal.curves import draw_curves
from wtrak.reporting.intervals import mean_with_interval
from wtrak.reporting.plotting import WIDTH, provenance_line, save_figure, set_style

METRICS = {"accuracy": ("test accuracy (%)", 100.0), "loss": ("test loss", 1.0)}
TRAITS = {
    "agreement": "neighbours with the same label",
    "people_differ": "people give another label",
}


def draw_traits(axis, removed, traits):
    """Draw how often the labels of the points that each arm removes first agree with others."""
    for k, (trait, label) in enumerate(traits.items()):
        for row, (name, arm) in enumerate(ARMS.items()):
            values = 100 * removed.loc[removed["arm"] == name, trait]
            mean, half = mean_with_interval(values)
            axis.errorbar(
                mean,
                -row + 0.15 - 0.3 * k,
                xerr=np.nan_to_num(half),
                color=arm.color,
                marker="os"[k],
                markerfacecolor=arm.color if k == 0 else "white",
                markersize=4,
                label=label if row == 0 else None,
            )
    titles = [arm.title for arm in ARMS.values()]
    axis.set_yticks(-np.arange(len(ARMS)), titles, fontsize=7)
    axis.set_xlim(-3, 103)
    # Leaves room for the legend below the last arm.
    axis.set_ylim(-len(ARMS) - 0.9, 0.6)
    axis.set_xlabel("share of the points removed first (%)")
    axis.legend(fontsize=6, loc="lower right")


def main(smk):
    set_style()
    names = smk.params.experiments
    figure, axes = plt.subplots(
        len(names), 3, figsize=(WIDTH, 2.7 * len(names) + 0.5), squeeze=False
    )
    inputs = zip(axes, names, smk.input.curves, smk.input.removed, strict=True)
    for row, name, curves, removed in inputs:
        curves, removed = read_csv(curves), read_csv(removed)
        for axis, (metric, (label, scale)) in zip(row[:2], METRICS.items(), strict=True):
            draw_curves(axis, curves, metric, scale)
            axis.set_ylabel(f"{smk.params.labels[name]}\n{label}" if axis is row[0] else label)
        draw_traits(row[2], removed, {k: v for k, v in TRAITS.items() if k in removed})
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=4, fontsize=7
    )
    records = [read_json(path) for path in smk.input.provenance]
    seeds = curves["seed"].nunique()
    line = provenance_line(records, smk.params.notice)
    save_figure(figure, *smk.output, f"{seeds} training samples. {line}")


if __name__ == "__main__":
    run(main, snakemake)
