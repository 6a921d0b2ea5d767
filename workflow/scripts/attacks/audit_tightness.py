"""How close attacks come to each certificate, and what holding the features fixed hides.

Above, the distribution of certified radius over attack cost; below, the refit check.
"""

import matplotlib.pyplot as plt
import numpy as np

from wtrak.certificates.catalogue import of_metric
from wtrak.job.io import read_csv, read_json
from wtrak.job.runtime import run
from wtrak.reporting.palette import EUCLIDEAN, NEUTRAL
from wtrak.reporting.plotting import (
    WIDTH,
    provenance_line,
    save_figure,
    set_style,
)

REFITS = {
    "flipped_fixed": ("features fixed", NEUTRAL, -0.2),
    "flipped_refitted": ("head refitted", "#009E73", 0.2),
}


def draw_refits(axis, refits):
    """Share of pairs turned by deletions, and how many of those proved or stable to first order."""
    groups = refits.groupby(["removed", "kind"], sort=False)
    for position, (_, part) in enumerate(groups):
        for column, (label, color, offset) in REFITS.items():
            share = 100 * part[column].mean()
            proved, stable = (int((part[column] & part[of]).sum()) for of in ("proved", "stable"))
            axis.bar(
                position + offset,
                share,
                width=0.36,
                color=color,
                label=label if not position else "",
            )
            axis.annotate(
                f"{proved:,}/{stable:,}",
                (position + offset, share),
                xytext=(0, 1),
                textcoords="offset points",
                ha="center",
                fontsize=6.5,
            )
    axis.set_xticks(
        range(len(groups)), [f"{removed}\n{kind}" for (removed, kind), _ in groups], fontsize=7.5
    )
    axis.grid(axis="x", visible=False)
    axis.set_xlabel("points deleted for real: number and choice")


def main(smk):
    set_style()
    names = smk.params.experiments
    figure, (axes, below) = plt.subplots(
        2,
        len(names),
        figsize=(WIDTH, 5.6),
        sharey="row",
        squeeze=False,
        gridspec_kw={"height_ratios": [3, 2]},
    )
    for axis, refits in zip(below, smk.input.refits, strict=True):
        draw_refits(axis, read_csv(refits))
    below[0].set_ylabel("pairs turned (%)\nof these proved/stable", fontsize=8)
    below[0].legend(loc="upper left", fontsize=7.5)
    for axis, name, audit in zip(axes, names, smk.input.audits, strict=True):
        audit = read_csv(audit)
        share = 100 * np.arange(1, len(audit) + 1) / len(audit)
        for method, row in of_metric("natural").items():
            ratio = np.sort(audit[method] / audit["attack"])
            axis.plot(ratio, share, color=row.color, linestyle=row.line, label=row.title)
        axis.axvline(1.0, color="black", linewidth=1.0)
        axis.axvspan(1.0, 1e3, color=EUCLIDEAN, alpha=0.08, linewidth=0)
        axis.annotate(
            "broken",
            (1.0, 0.04),
            xycoords=("data", "axes fraction"),
            xytext=(5, 0),
            textcoords="offset points",
            fontsize=8,
        )
        axis.set_xscale("log")
        axis.set_xlim(0.03, 6)
        axis.set_ylim(0, 101)
        axis.set_title(smk.params.labels[name])
        axis.set_xlabel("certified radius / cost of the attack found")
    axes[0].set_ylabel("pairs up to this ratio (%)")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4)
    records = [read_json(path) for path in smk.input.provenance]
    save_figure(figure, *smk.output, provenance_line(records, smk.params.notice))


if __name__ == "__main__":
    run(main, snakemake)
