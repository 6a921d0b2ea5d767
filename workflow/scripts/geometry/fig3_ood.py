"""Draw figure 3: self-influence of test points and foreign inputs against their distance."""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import spearmanr

from wtrak.geometry.ood import binned_medians
from wtrak.job.io import read_csv, read_json
from wtrak.job.runtime import run
from wtrak.reporting.palette import EXPERIMENTS, NEUTRAL
from wtrak.reporting.plotting import (
    WIDTH,
    provenance_line,
    save_figure,
    set_style,
)

# Columns of distance and self-influence of each panel.
PANELS = [
    ("distance", "si_predicted"),
    ("distance_of_directions", "si_predicted"),
    ("distance_of_directions", "si_true_label"),
]
# Columns of self-influence, and the label at which each is taken.
LABELS = {"si_true_label": "true label", "si_predicted": "predicted label"}
DISTANCES = {"distance": "distance", "distance_of_directions": "distance of directions"}
# Number of points drawn for each set. Correlations and medians use all points.
DRAWN = 400
# Background of text that lies over points.
LEGIBLE = {"facecolor": "white", "alpha": 0.8, "linewidth": 0, "pad": 1.0}


def correlations(test, distance):
    """Text with Spearman's ρ of the distance with self-influence of test points at each label."""
    rho = {
        label: spearmanr(test[distance], test[column]).statistic for column, label in LABELS.items()
    }
    return "test points:\n" + "\n".join(f"ρ = {value:.2f}, {at}" for at, value in rho.items())


def draw(axis, frame, distance, column, colors):
    """Draw the points of each set, the medians of the test points, and the cap."""
    for name, color in colors.items():
        part = frame[frame["set"] == name]
        part = part[part[column].notna() & (part[column] > 0)]
        if part.empty:
            continue
        shown = part.iloc[:: max(len(part) // DRAWN, 1)]
        axis.scatter(
            shown[distance],
            shown[column],
            s=4,
            color=color,
            alpha=0.35,
            linewidths=0,
            rasterized=True,
            label=name,
        )
    test = frame[(frame["set"] == "test") & frame[column].notna()]
    axis.plot(
        *binned_medians(test[distance].to_numpy(), test[column].to_numpy(), 20),
        color="black",
        linewidth=1.6,
        label="medians of test points",
    )
    axis.axhline(frame["cap"].iloc[0], color="black", linestyle="--", linewidth=1.0)
    axis.annotate(
        "cap, 2 max SI",
        (0.98, frame["cap"].iloc[0]),
        xycoords=("axes fraction", "data"),
        xytext=(0, 2),
        textcoords="offset points",
        ha="right",
        fontsize=7.5,
        bbox=LEGIBLE,
    )
    over = int((test[column] > test["cap"]).sum())
    axis.annotate(
        f"{correlations(test, distance)}\n{over:,} of {len(test):,} capped",
        (0.03, 0.03),
        xycoords="axes fraction",
        fontsize=7,
        color=NEUTRAL,
        bbox=LEGIBLE,
    )


def main(smk):
    set_style()
    names = smk.params.experiments
    figure, axes = plt.subplots(
        len(names),
        len(PANELS),
        figsize=(WIDTH, 2.7 * len(names) + 0.3),
        sharex="col",
        sharey="row",
        squeeze=False,
    )
    for row, name, ood in zip(axes, names, smk.input.ood, strict=True):
        frame = read_csv(ood)
        foreign = [name for name in frame["set"].unique() if name != "test"]
        colors = {"test": NEUTRAL} | dict(zip(foreign, EXPERIMENTS, strict=False))
        for axis, (distance, column) in zip(row, PANELS, strict=True):
            draw(axis, frame, distance, column, colors)
            axis.set_yscale("log")
            # Confident predictions have self-influences near zero, which would stretch the axis.
            values = frame["si_predicted"].dropna()
            axis.set_ylim(bottom=max(np.quantile(values, 0.02), 1e-6))
            axis.set_title(LABELS[column])
        row[0].set_ylabel(f"{smk.params.labels[name]}\nself-influence")
    for axis, (distance, _) in zip(axes[-1], PANELS, strict=True):
        axis.set_xlabel(f"{DISTANCES[distance]}\nto neighbour {smk.params.neighbours}")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    legend = figure.legend(handles, labels, loc="outside upper center", ncols=6, markerscale=3)
    for handle in legend.legend_handles:
        handle.set_alpha(1.0)
    records = [read_json(path) for path in smk.input.provenance]
    save_figure(figure, *smk.output, provenance_line(records, smk.params.notice))


if __name__ == "__main__":
    run(main, snakemake)
