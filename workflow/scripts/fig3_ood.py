"""Figure 3: self-influence of test points and foreign inputs against their distance."""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import spearmanr

from wtrak.io import read_csv, read_json
from wtrak.ood import binned_medians
from wtrak.plotting import (
    EXPERIMENTS,
    NEUTRAL,
    WIDTH,
    experiment_label,
    provenance_line,
    save_figure,
    set_style,
)
from wtrak.runtime import run

COLUMNS = {
    "si_true_label": "SI at the true label",
    "si_predicted": "SI at the predicted label",
}
# Of each set; all of them are in the correlations and medians.
DRAWN = 400
# Behind words that points may cover.
LEGIBLE = {"facecolor": "white", "alpha": 0.8, "linewidth": 0, "pad": 1.0}


def draw(axis, frame, column, colors):
    for name, color in colors.items():
        part = frame[frame["set"] == name]
        part = part[part[column].notna() & (part[column] > 0)]
        if part.empty:
            continue
        shown = part.iloc[:: max(len(part) // DRAWN, 1)]
        axis.scatter(
            shown["distance"],
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
        *binned_medians(test["distance"].to_numpy(), test[column].to_numpy(), 20),
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
    rho = spearmanr(test["distance"], test[column]).statistic
    over = int((test[column] > test["cap"]).sum())
    axis.annotate(
        f"test points: Spearman ρ = {rho:.2f}, {over:,} of {len(test):,} capped",
        (0.02, 0.03),
        xycoords="axes fraction",
        fontsize=7.5,
        color=NEUTRAL,
        bbox=LEGIBLE,
    )


def main(smk):
    set_style()
    names = smk.params.experiments
    figure, axes = plt.subplots(
        len(names),
        2,
        figsize=(WIDTH, 2.9 * len(names) + 0.3),
        sharex="row",
        sharey="row",
        squeeze=False,
    )
    inputs = zip(axes, names, smk.input.ood, smk.input.records, strict=True)
    for row, name, ood, record in inputs:
        frame = read_csv(ood)
        colors = dict(zip(frame["set"].unique(), EXPERIMENTS, strict=False))
        for axis, (column, title) in zip(row, COLUMNS.items(), strict=True):
            draw(axis, frame, column, colors)
            axis.set_yscale("log")
            # Confident predictions go down to nothing; what lies below says no more.
            values = frame[column].dropna()
            axis.set_ylim(bottom=max(np.quantile(values, 0.02), 1e-6))
            axis.set_title(title)
        row[0].set_ylabel(f"{experiment_label(name, read_json(record)['n_train'])}\nself-influence")
    for axis in axes[-1]:
        axis.set_xlabel(f"distance to nearest training activation, k = {smk.params.neighbours}")
    handles, labels = axes[0, 1].get_legend_handles_labels()
    legend = figure.legend(handles, labels, loc="outside upper center", ncols=6, markerscale=3)
    for handle in legend.legend_handles:
        handle.set_alpha(1.0)
    records = [read_json(path) for path in smk.input.provenance]
    save_figure(figure, *smk.output, provenance_line(records, smk.params.notice))


if __name__ == "__main__":
    run(main, snakemake)
