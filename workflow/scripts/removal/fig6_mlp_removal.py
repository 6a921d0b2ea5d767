"""Draw figure 6: test loss of networks retrained without training points, for each arm."""

import matplotlib.pyplot as plt
import pandas as pd

from wtrak.job.io import read_csv, read_json
from wtrak.job.runtime import run
from wtrak.removal.curves import draw_curves
from wtrak.reporting.plotting import WIDTH, provenance_line, save_figure, set_style

METRICS = {"loss": ("test loss", 1.0), "accuracy": ("test accuracy (%)", 100.0)}


def main(smk):
    set_style()
    curves = pd.concat(map(read_csv, smk.input.curves), ignore_index=True)
    figure, axes = plt.subplots(1, 2, figsize=(WIDTH, 3.4))
    for axis, (metric, (label, scale)) in zip(axes, METRICS.items(), strict=True):
        draw_curves(axis, curves, metric, scale)
        axis.set_ylabel(label)
    handles = axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=4, fontsize=7.5)
    line = provenance_line([read_json(path) for path in smk.input.provenance], smk.params.notice)
    seeds = curves["seed"].nunique()
    footer = (
        f"Two-layer networks of width {smk.params.width}, {seeds} networks for each mark. {line}"
    )
    save_figure(figure, *smk.output, footer)


if __name__ == "__main__":
    run(main, snakemake)
