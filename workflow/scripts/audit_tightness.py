"""How close attacks come to each certificate: distribution of certified radius over attack cost."""

import matplotlib.pyplot as plt
import numpy as np

from wtrak.io import read_csv, read_json
from wtrak.plotting import (
    EUCLIDEAN,
    NATURAL,
    WIDTH,
    experiment_label,
    provenance_line,
    save_figure,
    set_style,
)
from wtrak.runtime import run

METHODS = {
    "paper": ("paper's intervals, capped", EUCLIDEAN, ":"),
    "tight": ("tight intervals", NATURAL, "--"),
    "direct": ("direct", NATURAL, "-"),
    "rigorous": ("rigorous", "black", "-."),
}


def main(smk):
    set_style()
    names = smk.params.experiments
    figure, axes = plt.subplots(
        1, len(names), figsize=(WIDTH, 3.2), sharex=True, sharey=True, squeeze=False
    )
    inputs = zip(axes[0], names, smk.input.audits, smk.input.records, strict=True)
    for axis, name, audit, record in inputs:
        audit = read_csv(audit)
        share = 100 * np.arange(1, len(audit) + 1) / len(audit)
        for method, (label, color, linestyle) in METHODS.items():
            ratio = np.sort(audit[method] / audit["attack"])
            axis.plot(ratio, share, color=color, linestyle=linestyle, label=label)
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
        axis.set_title(experiment_label(name, read_json(record)["n_train"]))
        axis.set_xlabel("certified radius / cost of the attack found")
    axes[0, 0].set_ylabel("pairs up to this ratio (%)")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4)
    records = [read_json(path) for path in smk.input.provenance]
    save_figure(figure, *smk.output, provenance_line(records, smk.params.notice))


if __name__ == "__main__":
    run(main, snakemake)
