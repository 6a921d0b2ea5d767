"""Draw AUROC and average precision of every detector, for every kind of label noise."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from wtrak.job.io import read_csv, read_json
from wtrak.job.runtime import run
from wtrak.labels.catalogue import DETECTORS
from wtrak.reporting.intervals import mean_with_interval
from wtrak.reporting.palette import EXPERIMENTS, NEUTRAL
from wtrak.reporting.plotting import WIDTH, provenance_line, save_figure, set_style

METRICS = {"auroc": "AUROC", "average_precision": "average precision"}


def main(smk):
    set_style()
    metrics = pd.concat(map(read_csv, smk.input.metrics))
    settings = list(dict.fromkeys(zip(metrics["experiment"], metrics["noise"], strict=True)))
    order = [name for name in DETECTORS if name in set(metrics["detector"])]
    figure, axes = plt.subplots(
        1, 2, figsize=(WIDTH, 0.36 * len(order) + 0.9 + 0.16 * len(settings)), sharey=True
    )
    means = metrics.groupby(["experiment", "noise", "detector"])[list(METRICS)].mean()
    offsets = np.linspace(0.3, -0.3, len(settings)) if len(settings) > 1 else [0.0]
    for k, (experiment, noise) in enumerate(settings):
        part = metrics[(metrics["experiment"] == experiment) & (metrics["noise"] == noise)]
        for axis, metric in zip(axes, METRICS, strict=True):
            summary = np.array(
                [mean_with_interval(part.loc[part["detector"] == name, metric]) for name in order]
            )
            axis.errorbar(
                summary[:, 0],
                offsets[k] - np.arange(len(order)),
                xerr=np.nan_to_num(summary[:, 1]),
                color=EXPERIMENTS[k % len(EXPERIMENTS)],
                marker="os^Dv<>P"[k % 8],
                markersize=3.5,
                linestyle="none",
                linewidth=1.0,
                label=f"{smk.params.labels[experiment]}: {smk.params.noise_labels[noise]}",
            )
    axes[0].set_yticks(-np.arange(len(order)), [DETECTORS[name].title for name in order])
    axes[0].axvline(0.5, color=NEUTRAL, linewidth=0.9, linestyle=":")
    for axis, (metric, title) in zip(axes, METRICS.items(), strict=True):
        axis.set_xlabel(title)
        # Intervals over few seeds may reach far beyond the possible values.
        axis.set_xlim(max(means[metric].min() - 0.05, 0), min(means[metric].max() + 0.05, 1))
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2, fontsize=7.5)
    records = [read_json(path) for path in smk.input.provenance]
    save_figure(figure, *smk.output, provenance_line(records, smk.params.notice))


if __name__ == "__main__":
    run(main, snakemake)
