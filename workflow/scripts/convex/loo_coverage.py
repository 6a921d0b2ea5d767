"""Draw the coverage of leave-one-out influences by definition, and the widths of the intervals."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import NullLocator

from wtrak.convex.wrif import LEAVE_ONE_OUT
from wtrak.job.io import read_csv
from wtrak.job.runtime import run
from wtrak.reporting.intervals import mean_share_with_interval, mean_with_interval
from wtrak.reporting.palette import EXPERIMENTS, NEUTRAL
from wtrak.reporting.plotting import WIDTH, save_figure, set_style

STYLES = {
    "influence": (EXPERIMENTS[0], "o", "-"),
    "log_scaled": (EXPERIMENTS[2], "s", "-"),
    "scaled": (EXPERIMENTS[4], "^", "--"),
    "raw": (EXPERIMENTS[1], "D", ":"),
    "sign": (EXPERIMENTS[5], "v", ":"),
}
RADII = {"diameter": ("diam/n", "-"), "own": ("radius of each deletion", "--")}
WIDTHS = {
    "width_over_influence": ("over |I|", NEUTRAL),
    "width_over_deviation": ("over the deviation", "black"),
}


def draw(axis, part, summary, scale=1.0, **style):
    """Draw a mean over resamples with the ends of its 95 % interval against n."""
    groups = list(part.groupby("n_train"))
    mean, low, high = scale * np.array([summary(group) for _, group in groups]).T
    axis.errorbar(
        [n for n, _ in groups],
        mean,
        yerr=np.nan_to_num([mean - low, high - mean]),
        linewidth=1.0,
        markersize=3,
        elinewidth=0.6,
        **style,
    )


def coverage_of(group):
    """Mean coverage with an interval that stays within 0 and 1."""
    return mean_share_with_interval(group["covered"])


def width_of(column):
    """A function to the mean of a width with its interval."""

    def summary(group):
        mean, half = mean_with_interval(group[column])
        return mean, mean - half, mean + half

    return summary


def main(smk):
    set_style()
    tasks = smk.params.tasks
    figure, axes = plt.subplots(
        2, len(tasks), figsize=(WIDTH, 4.4), squeeze=False, sharex="col", sharey="row"
    )
    for (top, bottom), task, path in zip(axes.T, tasks, smk.input, strict=True):
        table = read_csv(path)
        paper = table[(table["kernel"] == "paper") & (table["constant"] == "pairs")]
        at_diameter = paper[paper["radius"] == "diameter"]
        for name, (color, marker, linestyle) in STYLES.items():
            part = at_diameter[at_diameter["definition"] == name]
            style = {"color": color, "marker": marker, "linestyle": linestyle}
            draw(top, part, coverage_of, 100.0, label=LEAVE_ONE_OUT[name], **style)
        # The widths are the same for every definition.
        widths = paper[paper["definition"] == "influence"]
        for radius, (radius_label, linestyle) in RADII.items():
            for column, (label, color) in WIDTHS.items():
                part = widths[widths["radius"] == radius]
                style = {"color": color, "marker": ".", "linestyle": linestyle}
                draw(bottom, part, width_of(column), label=f"{label}, {radius_label}", **style)
        top.set_title(task, fontsize=8.5)
        sizes = sorted(table["n_train"].unique())
        bottom.set_xscale("log")
        bottom.set_yscale("log")
        bottom.xaxis.set_minor_locator(NullLocator())
        bottom.set_xticks(sizes, [str(n) for n in sizes], fontsize=6.5)
        bottom.set_xlabel("n")
    axes[0, 0].set_ylim(0, 103)
    axes[0, 0].set_ylabel("covered (%)")
    axes[1, 0].set_ylabel("half width (median)")
    handles, labels = [], []
    for axis in axes[:, 0]:
        axis_handles, axis_labels = axis.get_legend_handles_labels()
        handles += axis_handles
        labels += axis_labels
    figure.legend(handles, labels, loc="outside upper center", ncols=5, fontsize=7)
    save_figure(figure, *smk.output, smk.params.notice)


if __name__ == "__main__":
    run(main, snakemake)
