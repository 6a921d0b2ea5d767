"""Draw training curves of the last layer: loss and accuracy on training and test points."""

import matplotlib.pyplot as plt

from wtrak.job.io import read_csv, read_json
from wtrak.job.runtime import run
from wtrak.reporting.plotting import (
    WIDTH,
    experiment_style,
    provenance_line,
    save_figure,
    set_style,
)


def main(smk):
    set_style()
    figure, axes = plt.subplots(1, 2, figsize=(WIDTH, 2.9))
    steps = set()
    inputs = zip(smk.params.experiments, smk.input.curves, smk.input.records, strict=True)
    for position, (name, curve, record) in enumerate(inputs):
        curve, record = read_csv(curve), read_json(record)
        color = experiment_style(position)["color"]
        label = smk.params.labels[name]
        steps.add("iteration" if record["recipe"]["optimizer"] == "lbfgs" else "epoch")
        for split, style in {"train": "-", "test": "--"}.items():
            part = curve[curve["set"] == split]
            for axis, column in zip(axes, ("loss", "accuracy"), strict=True):
                values = part[column] * (100 if column == "accuracy" else 1)
                axis.plot(
                    part["step"], values, color=color, linestyle=style, label=f"{label}, {split}"
                )
    for axis, ylabel in zip(axes, ("mean cross-entropy (nats)", "accuracy (%)"), strict=True):
        axis.set_xlabel(" or ".join(sorted(steps)))
        axis.set_ylabel(ylabel)
        if "iteration" in steps:
            axis.set_xscale("symlog", linthresh=1)
            axis.set_xlim(left=0)
    axes[0].set_yscale("log")
    axes[0].set_title("Loss")
    axes[1].set_title("Accuracy")
    axes[1].legend(loc="lower right")
    records = [read_json(path) for path in smk.input.provenance]
    save_figure(figure, *smk.output, provenance_line(records, smk.params.notice))


if __name__ == "__main__":
    run(main, snakemake)
