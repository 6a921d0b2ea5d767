"""How tight the paper's natural bound is, and whether the constant is proportional to √SI."""

import matplotlib.pyplot as plt
import numpy as np

from wtrak.job.io import read_csv, read_json
from wtrak.job.runtime import run
from wtrak.reporting.palette import NEUTRAL
from wtrak.reporting.plotting import (
    WIDTH,
    experiment_style,
    provenance_line,
    save_figure,
    set_style,
)

RATIOS = {
    "exact / paper's bound": ("exact", "paper", "-"),
    "slope between training points / exact": ("on_training_points", "exact", ":"),
}


def main(smk):
    set_style()
    figure, (left, right) = plt.subplots(1, 2, figsize=(WIDTH, 3.6))
    inputs = zip(smk.params.experiments, smk.input.constants, strict=True)
    for position, (name, constants) in enumerate(inputs):
        frame = read_csv(constants)
        frame = frame[(frame["si_test"] > 0) & (frame["si_train"] > 0)]
        color = experiment_style(position)["color"]
        label = smk.params.labels[name]
        share = 100 * np.arange(1, len(frame) + 1) / len(frame)
        for title, (top, bottom, linestyle) in RATIOS.items():
            ratio = np.sort(frame[top] / frame[bottom])
            left.plot(ratio, share, color=color, linestyle=linestyle, label=f"{label}: {title}")
        # R‖a‖ is a factor common to a test point's constants: L/(R‖a‖) = ‖b‖(1 + |cos|).
        relative = 2 * frame["exact"] * np.sqrt(frame["si_train"]) / frame["paper"]
        right.scatter(
            np.sqrt(frame["si_train"]),
            relative,
            s=4,
            color=color,
            alpha=0.4,
            linewidths=0,
            rasterized=True,
        )
    left.set_xlim(0, 1.02)
    left.set_ylim(0, 101)
    left.set_xlabel("ratio of Lipschitz constants")
    left.set_ylabel("pairs up to this ratio (%)")
    left.set_title("The paper's bound holds, and is up to twice too large")
    right.set_xscale("log")
    right.set_yscale("log")
    ends = np.array(right.get_xlim())
    for factor, text, below in ((1, "√SI$_i$", True), (2, "2√SI$_i$", False)):
        right.plot(ends, factor * ends, color=NEUTRAL, linewidth=1.0, linestyle="--")
        middle = np.sqrt(ends.prod())
        right.annotate(
            text,
            (middle, factor * middle),
            xytext=(12, -10) if below else (-12, 10),
            textcoords="offset points",
            ha="left" if below else "right",
            fontsize=8.5,
        )
    right.set_xlim(ends)
    right.set_xlabel("√SI$_i$ of the training point")
    right.set_ylabel("exact constant / (R √SI$_{test}$)")
    right.set_title("Proportional to √SI within a factor of two")
    figure.legend(loc="outside upper center", ncols=2, fontsize=7.5)
    records = [read_json(path) for path in smk.input.provenance]
    save_figure(figure, *smk.output, provenance_line(records, smk.params.notice))


if __name__ == "__main__":
    run(main, snakemake)
