"""Draw the precision of detectors for heads that memorise few or many of the wrong labels."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.ticker import NullLocator

from wtrak.job.io import read_csv, read_json
from wtrak.job.runtime import run
from wtrak.labels.catalogue import DETECTORS
from wtrak.reporting.intervals import mean_with_interval
from wtrak.reporting.palette import EXPERIMENTS, NEUTRAL
from wtrak.reporting.plotting import WIDTH, provenance_line, save_figure, set_style

SHARES = {
    "memorised": ("wrong labels memorised", EXPERIMENTS[5], "-"),
    "accuracy_as_true": ("true labels predicted", EXPERIMENTS[0], "--"),
}


def draw(axis, frame, column, **style):
    """Draw the mean over seeds against n, with a 95 % interval if there are several seeds."""
    parts = list(frame.groupby("n_train"))
    summary = np.array([mean_with_interval(part[column]) for _, part in parts])
    axis.errorbar(
        [n for n, _ in parts],
        summary[:, 0],
        yerr=np.nan_to_num(summary[:, 1]),
        linewidth=1.1,
        markersize=3.5,
        elinewidth=0.7,
        **style,
    )


def main(smk):
    set_style()
    fits = [read_csv(path) for path in smk.input.fits]
    results = [
        read_csv(path).assign(n_train=fit["n_train"].iloc[0])
        for path, fit in zip(smk.input.metrics, fits, strict=True)
    ]
    heads = list(dict.fromkeys(smk.params.heads))
    figure, axes = plt.subplots(
        2,
        len(heads),
        figsize=(WIDTH, 4.6),
        sharex=True,
        sharey="row",
        squeeze=False,
        height_ratios=[2, 1],
    )
    for (top, bottom), head in zip(axes.T, heads, strict=True):
        chosen = [k for k, name in enumerate(smk.params.heads) if name == head]
        metrics = pd.concat(results[k] for k in chosen)
        fit = pd.concat(fits[k] for k in chosen)
        for name, detector in DETECTORS.items():
            if detector.style is None:
                continue
            color, marker, linestyle = detector.style
            draw(
                top,
                metrics[metrics["detector"] == name],
                "average_precision",
                label=detector.title,
                color=color,
                marker=marker,
                linestyle=linestyle,
            )
        for column, (label, color, linestyle) in SHARES.items():
            draw(bottom, fit, column, label=label, color=color, marker=".", linestyle=linestyle)
        sizes = sorted(fit["n_train"].unique())
        bottom.set_xscale("log")
        bottom.xaxis.set_minor_locator(NullLocator())
        bottom.set_xticks(sizes, [f"{n:,}" for n in sizes])
        bottom.set_xlabel("training examples n")
        top.set_title(f"head: {head}")
    chance = metrics.loc[metrics["detector"] == "random", "average_precision"].mean()
    for top in axes[0]:
        top.axhline(chance, color=NEUTRAL, linewidth=0.9, linestyle=":")
        top.set_ylim(0, 1)
    axes[1, 0].set_ylim(-0.03, 1.03)
    axes[0, 0].set_ylabel("average precision")
    axes[1, 0].set_ylabel("share")
    axes[1, 0].legend(loc="center left", fontsize=7)
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=4, fontsize=7.5
    )
    records = [read_json(path) for path in smk.input.provenance]
    seeds = metrics["seed"].nunique()
    line = provenance_line(records, smk.params.notice)
    save_figure(
        figure, *smk.output, f"{smk.params.noise}, {seeds} seeds. Dotted: random scores. {line}"
    )


if __name__ == "__main__":
    run(main, snakemake)
