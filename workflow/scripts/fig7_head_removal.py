"""Figure 7: accuracy and loss after removing training points, and what the removed points are."""

import matplotlib.pyplot as plt
import numpy as np

from wtrak.intervals import mean_with_interval
from wtrak.io import read_csv, read_json
from wtrak.plotting import (
    EXPERIMENTS,
    NEUTRAL,
    WIDTH,
    provenance_line,
    save_figure,
    set_style,
)
from wtrak.removal_arms import ARMS
from wtrak.runtime import run

STYLES = {
    "helpful": (EXPERIMENTS[0], "o", "-"),
    "harmful": (EXPERIMENTS[1], "s", "-"),
    "magnitude": (EXPERIMENTS[2], "^", "-"),
    "certified": (EXPERIMENTS[4], "v", "--"),
    "self_influence": (EXPERIMENTS[5], "D", "-"),
    "loss": (EXPERIMENTS[3], "P", "--"),
    "random": (NEUTRAL, "x", ":"),
    "balanced": ("black", "+", ":"),
}
METRICS = {"accuracy": ("test accuracy (%)", 100.0), "loss": ("test loss", 1.0)}
TRAITS = {
    "agreement": "neighbours with the same label (%)",
    "people_differ": "people give another label (%)",
}


def draw_curves(axis, curves, metric, scale):
    """Mean over samples against the removed share, with 95 % bands."""
    start = scale * mean_with_interval(curves.loc[curves["arm"] == "none", metric])[0]
    means = scale * curves.groupby(["arm", "share"])[metric].mean()
    room = 0.15 * (means.max() - means.min())
    for arm, (color, marker, linestyle) in STYLES.items():
        part = curves[curves["arm"] == arm]
        groups = list(part.groupby("share"))
        summary = scale * np.array([mean_with_interval(of[metric]) for _, of in groups])
        shares = np.array([0.0, *(100 * share for share, _ in groups)])
        mean = np.append(start, summary[:, 0])
        half = np.append(0.0, np.nan_to_num(summary[:, 1]))
        style = {"color": color, "linestyle": linestyle, "marker": marker}
        axis.plot(shares, mean, markersize=3, label=ARMS[arm], **style)
        axis.fill_between(shares, mean - half, mean + half, color=color, alpha=0.15, linewidth=0)
    # Bands of few samples would stretch the scale far beyond the curves.
    axis.set_ylim(means.min() - room, means.max() + room)
    axis.set_xlabel("removed (%)")


def draw_traits(axis, removed, traits):
    """What the points that each arm removes first are like."""
    for k, (trait, label) in enumerate(traits.items()):
        for row, arm in enumerate(STYLES):
            values = 100 * removed.loc[removed["arm"] == arm, trait]
            mean, half = mean_with_interval(values)
            axis.errorbar(
                mean,
                -row + 0.15 - 0.3 * k,
                xerr=np.nan_to_num(half),
                color=STYLES[arm][0],
                marker="os"[k],
                markerfacecolor=STYLES[arm][0] if k == 0 else "white",
                markersize=4,
                label=label if row == 0 else None,
            )
    axis.set_yticks(-np.arange(len(STYLES)), [ARMS[arm] for arm in STYLES], fontsize=7)
    axis.set_xlim(-3, 103)
    # Room for the legend below the last arm.
    axis.set_ylim(-len(STYLES) - 0.9, 0.6)
    axis.set_xlabel("of the points removed first (%)")
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
            axis.set_ylabel(f"{name}\n{label}" if axis is row[0] else label)
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
