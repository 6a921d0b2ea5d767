"""Draw figure 5: wrong labels found by self-influence, and by the loss of the same head."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from wtrak.job.io import load_arrays, read_csv, read_json, write_csv
from wtrak.job.runtime import run
from wtrak.labels.catalogue import DETECTORS
from wtrak.reporting.intervals import mean_with_interval
from wtrak.reporting.palette import EUCLIDEAN, NATURAL
from wtrak.reporting.plotting import WIDTH, provenance_line, save_figure, set_style


def draw_curve(axis, curves, metrics, curve, metric):
    """Draw the mean over seeds with a 95 % band; the legend gives the area under the curve."""
    for name, detector in DETECTORS.items():
        if detector.curve is None:
            continue
        color, linestyle = detector.curve
        part = curves[(curves["detector"] == name) & (curves["curve"] == curve)]
        values = part.pivot_table(index="x", columns="seed", values="y")
        summary = np.array([mean_with_interval(row) for row in values.to_numpy()])
        mean, half = summary[:, 0], np.nan_to_num(summary[:, 1])
        area = metrics.loc[metrics["detector"] == name, metric].mean()
        axis.plot(
            100 * values.index,
            100 * mean,
            color=color,
            linestyle=linestyle,
            label=f"{detector.title} ({area:.3f})",
        )
        axis.fill_between(
            100 * values.index,
            100 * (mean - half),
            100 * (mean + half),
            color=color,
            alpha=0.2,
            linewidth=0,
        )
    axis.legend(loc="lower right" if curve == "roc" else "lower left", fontsize=7)


def draw_densities(axis, scores):
    """Draw the distribution of self-influence for right and wrong labels, over all seeds.

    Returns the two means, which the legend shows.
    """
    means = {}
    si, wrong = scores["self_influence"], scores["wrong"]
    low = max(np.quantile(si, 0.01), si.max() * 1e-8)
    bins = np.geomspace(low, si.max(), 60)
    for label, mask, color in (("right", ~wrong, NATURAL), ("wrong", wrong, EUCLIDEAN)):
        means[label] = si[mask].mean()
        weights = np.full(mask.sum(), 100 / mask.sum())
        axis.hist(
            np.maximum(si[mask], low),
            bins=bins,
            weights=weights,
            color=color,
            alpha=0.55,
            label=f"{label} (mean {means[label]:,.0f})",
        )
    axis.set_xscale("log")
    axis.legend(loc="upper left", fontsize=7)
    return means


def main(smk):
    set_style()
    names, printed = smk.params.experiments, []
    figure, axes = plt.subplots(
        len(names), 3, figsize=(WIDTH, 2.6 * len(names) + 0.2), squeeze=False
    )
    inputs = zip(axes, names, smk.input.curves, smk.input.metrics, smk.input.scores, strict=True)
    for row, name, curves, metrics, scores in inputs:
        curves, metrics, scores = read_csv(curves), read_csv(metrics), load_arrays(scores)
        draw_curve(row[0], curves, metrics, "roc", "auroc")
        draw_curve(row[1], curves, metrics, "precision", "average_precision")
        means = draw_densities(row[2], scores)
        seeds = len(scores["wrong"])
        wrong = scores["wrong"].mean()
        printed += [
            {"experiment": name, "what": f"mean self-influence, {label} labels"}
            | {"value": mean, "unit": "1"}
            for label, mean in means.items()
        ]
        about = {"experiment": name, "what": "wrong labels", "value": 100 * wrong, "unit": "%"}
        printed.append(about)
        row[0].set_ylabel(f"{smk.params.labels[name]}\nwrong labels found (%)")
        row[1].set_ylabel("precision (%)")
        row[2].set_ylabel("labels (%)")
        row[0].set_xlabel("right labels flagged (%)")
        row[1].set_xlabel("wrong labels found (%)")
        row[2].set_xlabel("self-influence")
        for axis in row[:2]:
            axis.set_xlim(0, 100)
            axis.set_ylim(0, 102)
    for axis, title in zip(
        axes[0], ("ROC (area)", "Precision and recall (area)", "Distributions"), strict=True
    ):
        axis.set_title(title)
    records = [read_json(path) for path in smk.input.provenance]
    line = provenance_line(records, smk.params.notice)
    noise = f"{smk.params.noise}: {100 * wrong:.3g} % of labels wrong, {seeds} seeds."
    save_figure(figure, smk.output.svg, smk.output.pdf, f"{noise} {line}")
    write_csv(smk.output.numbers, pd.DataFrame(printed))


if __name__ == "__main__":
    run(main, snakemake)
