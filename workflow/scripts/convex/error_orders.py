"""Draw how the error of the linear prediction grows with the moved mass, by kernel and task."""

import matplotlib.pyplot as plt
import numpy as np

from wtrak.convex.error_orders import slopes_of
from wtrak.job.io import read_csv
from wtrak.job.runtime import run
from wtrak.reporting.intervals import mean_with_interval
from wtrak.reporting.palette import EUCLIDEAN, NATURAL
from wtrak.reporting.plotting import WIDTH, save_figure, set_style

KERNELS = {
    "hessian_only": ("Hessian only", EUCLIDEAN, "s", ":"),
    "paper": ("paper's", "#E69F00", "D", "--"),
    "corrected": ("corrected", NATURAL, "o", "-"),
}


def main(smk):
    set_style()
    tasks = smk.params.tasks
    columns = min(len(tasks), 3)
    rows = -(-len(tasks) // columns)
    figure, axes = plt.subplots(
        rows, columns, figsize=(WIDTH, 2.5 * rows + 0.3), squeeze=False, sharex=True
    )
    for axis in axes.flat[len(tasks) :]:
        axis.set_axis_off()
    for axis, task, path in zip(axes.flat, tasks, smk.input, strict=False):
        orders = read_csv(path)
        for name, (label, color, marker, linestyle) in KERNELS.items():
            part = orders[orders["kernel"] == name]
            # Divided by the size of the derivative, so that tasks can be compared.
            scale = np.sqrt((part.drop_duplicates("triple")["derivative"] ** 2).mean())
            share = (part["remainder"] / scale).groupby(part["step"])
            low, middle, high = (share.quantile(q) for q in (0.25, 0.5, 0.75))
            slope, half = mean_with_interval(slopes_of(part))
            axis.plot(
                middle.index,
                middle,
                color=color,
                marker=marker,
                markersize=3,
                linestyle=linestyle,
                label=f"{label}: {slope:.2f} ± {half:.2f}",
            )
            axis.fill_between(low.index, low, high, color=color, alpha=0.2, linewidth=0)
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_title(task)
        # Room for the legend below the curves.
        axis.set_ylim(bottom=1e-2 * axis.get_ylim()[0])
        axis.legend(
            fontsize=6.5, title="slope, 95 % interval", title_fontsize=6.5, loc="lower right"
        )
    for axis in axes[-1]:
        axis.set_xlabel("mass t moved to one point")
    for axis in axes[:, 0]:
        axis.set_ylabel("remainder (median)")
    save_figure(figure, *smk.output, smk.params.notice)


if __name__ == "__main__":
    run(main, snakemake)
