"""Distributions of certified radii: of pairs by every certificate and attack, and of top sets."""

import matplotlib.pyplot as plt
import numpy as np

from wtrak.certificates.catalogue import of_metric
from wtrak.job.io import read_csv, read_json
from wtrak.job.runtime import run
from wtrak.reporting.palette import NEUTRAL
from wtrak.reporting.plotting import (
    WIDTH,
    provenance_line,
    save_figure,
    set_style,
)

ATTACK = "#009E73"


def main(smk):
    set_style()
    names = smk.params.experiments
    figure, axes = plt.subplots(
        1, len(names), figsize=(WIDTH, 3.4), sharex=True, sharey=True, squeeze=False
    )
    inputs = zip(axes[0], names, smk.input.audits, smk.input.top_k, strict=True)
    for axis, name, audit, top_k in inputs:
        audit, top_k = read_csv(audit), read_csv(top_k)
        rows = [
            (row.title, row.color, audit[name] / audit["one_deletion"])
            for name, row in of_metric("natural").items()
        ]
        rows.append(("cheapest attack found", ATTACK, audit["attack"] / audit["one_deletion"]))
        rows += [
            (f"top {k} set, direct", "#CC79A7", part["deletions"]) for k, part in top_k.groupby("k")
        ]
        for position, (_, color, values) in enumerate(rows):
            axis.boxplot(
                np.maximum(values, 1e-12),
                positions=[-position],
                orientation="horizontal",
                whis=(5, 95),
                widths=0.6,
                showfliers=False,
                medianprops={"color": color, "linewidth": 2.0},
                boxprops={"color": color},
                whiskerprops={"color": color},
                capprops={"color": color},
            )
        axis.set_ylim(-len(rows) + 0.4, 0.95)
        axis.set_yticks([-k for k in range(len(rows))], [label for label, _, _ in rows])
        axis.axvline(1.0, color=NEUTRAL, linewidth=0.9, linestyle=":")
        axis.annotate(
            "one deletion",
            (1.0, 0.98),
            xycoords=("data", "axes fraction"),
            xytext=(-3, 0),
            textcoords="offset points",
            ha="right",
            va="top",
            fontsize=7.5,
            color=NEUTRAL,
        )
        axis.set_xscale("log")
        axis.set_title(smk.params.labels[name])
        axis.set_xlabel("radius in deletions")
    records = [read_json(path) for path in smk.input.provenance]
    save_figure(figure, *smk.output, provenance_line(records, smk.params.notice))


if __name__ == "__main__":
    run(main, snakemake)
