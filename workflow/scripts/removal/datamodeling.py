"""Draw linear datamodeling scores of every attribution against the number of averaged networks."""

import matplotlib.pyplot as plt
import numpy as np

from wtrak.job.io import read_csv, read_json
from wtrak.job.runtime import run
from wtrak.removal.datamodels import CEILING, METHODS
from wtrak.reporting.palette import EXPERIMENTS, NEUTRAL
from wtrak.reporting.plotting import DASHES, WIDTH, provenance_line, save_figure, set_style

COLORS = [*EXPERIMENTS, "black", NEUTRAL]
MARKERS = "os^vDPx+"


def main(smk):
    set_style()
    table = read_csv(smk.input.scores)
    table = table[table["quantity"] == "lds"]
    figure, axes = plt.subplots(1, 2, figsize=(WIDTH, 3.2), width_ratios=[1, 1.1])
    most = table["networks"].max()
    for k, name in enumerate(METHODS):
        part = table[table["method"] == name].sort_values("networks")
        color, last = COLORS[k], part.iloc[-1]
        axes[0].errorbar(
            last["value"],
            -k,
            xerr=[[last["value"] - last["low"]], [last["high"] - last["value"]]],
            color=color,
            marker=MARKERS[k],
        )
        axes[1].fill_between(part["networks"], part["low"], part["high"], color=color, alpha=0.15)
        axes[1].plot(
            part["networks"],
            part["value"],
            color=color,
            marker=MARKERS[k],
            markersize=3,
            linestyle=DASHES[k % len(DASHES)],
        )
    axes[0].set_yticks(-np.arange(len(METHODS)), list(METHODS.values()))
    axes[0].set_xlabel("linear datamodeling score")
    axes[0].set_title(f"mean of {most} networks")
    axes[1].set_xlabel("number of averaged networks")
    axes[1].set_ylabel("linear datamodeling score")
    axes[1].set_xticks(range(1, most + 1))
    for _, row in table[table["method"] == CEILING].iterrows():
        style = {"color": NEUTRAL, "linestyle": "--", "linewidth": 1.0}
        axes[0].axvline(row["value"], label="a perfect prediction", **style)
        axes[1].axhline(row["value"], **style)
        axes[0].legend(fontsize=7, loc="lower right")
    axes[0].axvline(0, color=NEUTRAL, linewidth=0.8, linestyle=":")
    axes[1].axhline(0, color=NEUTRAL, linewidth=0.8, linestyle=":")
    line = provenance_line([read_json(path) for path in smk.input.provenance], smk.params.notice)
    footer = (
        f"{smk.params.subsets} subsets, {smk.params.repeats} networks each; 95 % intervals over "
        f"test points and subsets. {line}"
    )
    save_figure(figure, *smk.output, footer)


if __name__ == "__main__":
    run(main, snakemake)
