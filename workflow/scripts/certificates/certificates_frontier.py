"""Share of pairs under every certificate, against the radius in deletions."""

import matplotlib.pyplot as plt

from wtrak.certificates.catalogue import CERTIFICATES, full_title
from wtrak.job.io import read_csv, read_json
from wtrak.job.runtime import run
from wtrak.reporting.palette import NEUTRAL
from wtrak.reporting.plotting import (
    WIDTH,
    provenance_line,
    save_figure,
    set_style,
)

REMOVED = {
    "attack": ("removed sets, attacked", "#009E73", "v"),
    "first_order": ("removed sets, first-order", "#CC79A7", "^"),
    "proved": ("any set removed: proved", "black", "o"),
    "exact": ("any one point removed: exact", "#009E73", "D"),
    "replacement": ("any one point replaced: proved", "black", "s"),
}


def draw(axis, curve, deletions):
    for (metric, method), certificate in CERTIFICATES.items():
        part = curve[(curve["metric"] == metric) & (curve["method"] == method)]
        axis.plot(
            part["deletions"],
            100 * part["share"],
            color=certificate.color,
            linestyle=certificate.line,
            label=full_title(metric, method),
        )
    for kind, (label, color, marker) in REMOVED.items():
        part = deletions[deletions["kind"] == kind]
        axis.errorbar(
            part["removals"],
            100 * part["share"],
            yerr=[100 * (part["share"] - part["low"]), 100 * (part["high"] - part["share"])],
            color=color,
            marker=marker,
            markersize=4.5,
            linewidth=1.0,
            capsize=2,
            label=label,
        )
    ends = deletions.set_index(["kind", "removals"])["share"]
    axis.fill_between(
        ends["proved"].index,
        100 * ends["proved"],
        100 * ends["attack"],
        color="#009E73",
        alpha=0.15,
        linewidth=0,
        label="sets removed: the truth lies here",
    )
    axis.set_xscale("log")
    axis.set_ylim(-2, 102)
    axis.axvline(1.0, color=NEUTRAL, linewidth=0.8, linestyle=":")


def main(smk):
    set_style()
    names = smk.params.experiments
    figure, axes = plt.subplots(
        len(names), 1, figsize=(WIDTH, 2.9 * len(names)), sharex=True, squeeze=False
    )
    inputs = zip(axes[:, 0], names, smk.input.curves, smk.input.deletions, strict=True)
    for axis, name, curve, deletions in inputs:
        draw(axis, read_csv(curve), read_csv(deletions))
        axis.set_ylabel(f"{smk.params.labels[name]}\npairs certified (%)")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", fontsize=7.5)
    axes[-1, 0].set_xlabel("radius ε in median one-point deletions; points removed")
    records = [read_json(path) for path in smk.input.provenance]
    save_figure(figure, *smk.output, provenance_line(records, smk.params.notice))


if __name__ == "__main__":
    run(main, snakemake)
