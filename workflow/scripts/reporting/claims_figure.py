"""Draw the ledger: our values relative to the paper's, ranges over choices, and verdicts."""

import matplotlib.pyplot as plt
import numpy as np

from wtrak.job.io import read_csv
from wtrak.job.runtime import run
from wtrak.reporting.claims import (
    DIRECTION,
    IDENTITY,
    NO_VERDICT,
    NOT_REPRODUCED,
    NOT_RUN,
    REFUTED,
    REPRODUCED,
    UNSTATED,
)
from wtrak.reporting.palette import NEUTRAL
from wtrak.reporting.plotting import WIDTH, save_figure, set_style

STYLES = {
    REPRODUCED: ("#009E73", "o"),
    DIRECTION: ("#56B4E9", "s"),
    UNSTATED: ("#E69F00", "D"),
    NOT_REPRODUCED: ("#CC79A7", "v"),
    REFUTED: ("#D55E00", "X"),
    IDENTITY: ("#5B6FB5", "P"),
    NOT_RUN: ("#999999", "."),
    NO_VERDICT: ("#777777", "o"),
}
# Marks beyond these ratios are drawn at the edge.
RATIOS = (1e-3, 1e3)


def draw(axis, row, place):
    """Draw one claim: a mark at our value over the paper's, and a band for the range."""
    color, marker = STYLES[row.verdict]
    comparable = np.isfinite(row.paper) and row.paper != 0 and row.value > 0
    if not comparable:
        axis.plot(1.0, place, marker, color=color, markerfacecolor="white", markersize=5)
        return

    def ratio(value):
        return np.clip(value / row.paper, *RATIOS)

    if np.isfinite(row.sweep_low):
        ends = ratio(np.array([row.sweep_low, row.sweep_high]))
        axis.plot(ends, [place, place], color=color, alpha=0.35, linewidth=4, zorder=1)
    if np.isfinite(row.low) and row.low > 0:
        axis.plot(ratio(np.array([row.low, row.high])), [place, place], color=color, zorder=2)
    axis.plot(ratio(row.value), place, marker, color=color, markersize=5, zorder=3)


def main(smk):
    set_style()
    ledger = read_csv(smk.input[0])
    figure, axis = plt.subplots(figsize=(WIDTH, 0.2 * len(ledger) + 1.2))
    for place, row in enumerate(ledger.itertuples()):
        draw(axis, row, -place)
    axis.set_yticks(-np.arange(len(ledger)), ledger["claim"], fontsize=6.5)
    right = axis.secondary_yaxis("right")
    right.set_yticks(-np.arange(len(ledger)), ledger["verdict"], fontsize=6.5)
    for label, verdict in zip(right.get_yticklabels(), ledger["verdict"], strict=True):
        label.set_color(NEUTRAL if verdict in (NOT_RUN, NO_VERDICT) else STYLES[verdict][0])
    axis.set_xscale("log")
    axis.set_xlim(RATIOS[0] / 1.5, RATIOS[1] * 1.5)
    axis.set_ylim(-len(ledger) + 0.4, 0.6)
    axis.axvline(1.0, color=NEUTRAL, linewidth=0.8, zorder=0)
    axis.set_xlabel("our value over the paper's")
    for verdict, (color, marker) in STYLES.items():
        count = int((ledger["verdict"] == verdict).sum())
        if count:
            axis.plot([], [], marker, color=color, label=f"{verdict}: {count}")
    figure.legend(loc="outside upper center", ncols=3, fontsize=7)
    footer = (
        "Bands: range over choices that the paper does not state. Open marks: claims without a "
        f"number of the paper to compare with. {smk.params.notice}"
    )
    save_figure(figure, *smk.output, footer.strip())


if __name__ == "__main__":
    run(main, snakemake)
