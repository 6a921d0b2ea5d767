"""Draw the range of the paper's numbers over choices that it does not state."""

import matplotlib.pyplot as plt
import pandas as pd

from wtrak.assumptions.comparison import AGGREGATES, numbers
from wtrak.job.io import read_csv, read_json
from wtrak.job.runtime import run
from wtrak.reporting.palette import EUCLIDEAN, EXPERIMENTS, NEUTRAL
from wtrak.reporting.plotting import provenance_line, save_figure, set_style

QUANTITIES = {
    "condition_number": "κ(Q)",
    "lipschitz_euclidean": "L$_{Euc}$",
    "lipschitz_natural": "L$_{Nat}$",
    "reduction": "L$_{Euc}$ / L$_{Nat}$",
    "certified_natural": "pairs certified (%)",
}
COLORS = dict(zip(("", *AGGREGATES), ("black", *EXPERIMENTS[:3]), strict=True))
OFFSETS = {"": 0.0, "max": 0.24, "median": 0.0, "mean": -0.24}
# Spectral constants are drawn a little below those of the gradient.
LOWER = {"gradient": 0.05, "spectral": -0.05, "": 0.0}


def draw(axis, found, order, default):
    """Draw for each variation the range over ridges and labels, and a mark at the default."""
    for (variation, definition, aggregate), part in found.groupby(
        ["variation", "definition", "aggregate"]
    ):
        y = -order.index(variation) + OFFSETS[aggregate] + LOWER[definition]
        color = COLORS[aggregate]
        style = {"color": color, "alpha": 0.45 if definition == "spectral" else 1.0}
        axis.plot([part["value"].min(), part["value"].max()], [y, y], linewidth=1.0, **style)
        at = part[
            (part["ridge"] == default["ridge"]) & (part["test_label"] == default["test_label"])
        ]
        axis.plot(
            at["value"],
            [y] * len(at),
            marker="o",
            markersize=4,
            markerfacecolor="white" if definition == "spectral" else color,
            linestyle="none",
            **style,
        )


def main(smk):
    set_style()
    names = smk.params.experiments
    readings = pd.concat(map(read_csv, smk.input.readings))
    order = list(dict.fromkeys(readings["variation"]))
    figure, axes = plt.subplots(
        len(names),
        len(QUANTITIES),
        figsize=(11, len(names) * (0.34 * len(order) + 1.0) + 0.4),
        sharey=True,
        sharex="col",
        squeeze=False,
    )
    for row, name in zip(axes, names, strict=True):
        found = numbers(readings[readings["experiment"] == name])
        default = {key: smk.params.defaults[name][key] for key in ("ridge", "test_label")}
        for axis, (quantity, title) in zip(row, QUANTITIES.items(), strict=True):
            draw(axis, found[found["quantity"] == quantity], order, default)
            paper = smk.params.paper[name].get(quantity)
            if paper:
                axis.axvline(paper, color=EUCLIDEAN, linewidth=1.2, linestyle="--")
            if quantity != "certified_natural":
                axis.set_xscale("log")
            axis.set_title(title)
            axis.grid(axis="y", visible=False)
        row[0].set_yticks([-k for k in range(len(order))], order)
        row[0].set_ylabel(smk.params.labels[name])
    marks = {f"{name} over pairs": {"color": COLORS[name], "marker": "o"} for name in AGGREGATES}
    marks["spectral bound"] = {
        "color": NEUTRAL,
        "alpha": 0.45,
        "marker": "o",
        "markerfacecolor": "white",
    }
    marks["the paper's number"] = {"color": EUCLIDEAN, "linestyle": "--"}
    for label, style in marks.items():
        axes[0, 1].plot([], [], label=label, **style)
    handles, labels = axes[0, 1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=6)
    records = [read_json(path) for path in smk.input.provenance]
    footer = (
        "Marks: configured ridge and test label. Lines: range over all ridges and labels. "
        "Pairs certified: natural metric, at the ε at which the configured experiment certifies "
        "the paper's share."
    )
    line = provenance_line(records, smk.params.notice)
    save_figure(figure, *smk.output, f"{footer} {line}")


if __name__ == "__main__":
    run(main, snakemake)
