"""Draw figure 1: linear predictions of parameter changes, in a convex and in a deep model."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from wtrak.job.io import read_csv, write_csv
from wtrak.job.runtime import run
from wtrak.reporting.palette import EUCLIDEAN, NATURAL, NEUTRAL
from wtrak.reporting.plotting import WIDTH, save_figure, set_style

# Distances between a retrained network and one that was trained further, relative to the change by
# training further. Parameters farther apart than HOPPED are of another optimum. Outputs nearer than
# SAME are of the same function with permuted units.
HOPPED, SAME = 0.1, 0.01
MODELS = {
    "convex": ("convex model", NATURAL, "-"),
    "deep": ("network, retrained", EUCLIDEAN, "--"),
    "deep_warm": ("network, trained further", "#E69F00", "-."),
}


def draw_path(axis, paths, names):
    """Draw the parameter change along its prediction, in units of the full prediction."""
    for name in names:
        label, color, linestyle = MODELS[name]
        part = paths[paths["model"] == name]
        strength = np.append(0, part["strength"])
        axis.plot(
            100 * strength,
            np.append(0, part["along"]),
            color=color,
            linestyle=linestyle,
            marker="o",
            markersize=3,
            label=label,
        )
    axis.plot(
        100 * strength,
        np.append(0, part["predicted"]),
        color="black",
        linestyle=":",
        label="linear prediction",
    )
    axis.set_xlabel("weight removed from the left-out examples (%)")
    axis.legend(fontsize=7)


def draw_errors(axis, errors):
    """Draw distribution functions of the relative error."""
    for name, (label, color, linestyle) in MODELS.items():
        values = np.sort(errors.loc[errors["model"] == name, "error"])
        axis.step(
            values,
            100 * np.arange(1, len(values) + 1) / len(values),
            where="post",
            color=color,
            linestyle=linestyle,
            label=label,
        )
    axis.set_xscale("log")
    axis.set_ylim(0, 103)
    axis.set_xlabel("relative error of the prediction")
    axis.set_ylabel("perturbations (%)")
    axis.legend(fontsize=7, loc="lower right")


def main(smk):
    set_style()
    errors, paths, profile = (
        read_csv(path) for path in (smk.input.errors, smk.input.paths, smk.input.profile)
    )
    figure, axes = plt.subplots(2, 2, figsize=(WIDTH, 5.2))
    draw_path(axes[0, 0], paths, ["convex"])
    draw_path(axes[0, 1], paths, ["deep", "deep_warm"])
    axes[0, 0].set_ylabel("change of the parameters\n(in units of its prediction)")
    axes[0, 0].set_title("Convex: a single optimum")
    axes[0, 1].set_title("Deep: the network that moves farthest")
    draw_errors(axes[1, 0], errors)
    axes[1, 0].set_title("All perturbations")
    axis = axes[1, 1]
    axis.plot(profile["place"], profile["loss"], color=EUCLIDEAN)
    printed = []
    for place, label in ((0, "trained further"), (1, "retrained")):
        height = np.interp(place, profile["place"], profile["loss"])
        printed.append({"what": f"loss, {label}", "value": height, "unit": "nats"})
        axis.plot(place, height, "o", color=NEUTRAL)
        axis.annotate(
            f"{label}\n{height:.5f}",
            (place, height),
            (0, -8),
            textcoords="offset points",
            ha="center",
            va="top",
            fontsize=7,
        )
    # If both ends are the same optimum, the losses differ by rounding. It should not fill the axis.
    low, high = profile["loss"].min(), profile["loss"].max()
    room = max(0.35 * (high - low), 1e-3 * high)
    axis.set_ylim(low - room, high + 0.3 * room)
    axis.ticklabel_format(useOffset=False)
    axis.set_xlabel("position on the line between the two optima")
    axis.set_ylabel("loss on the changed data")
    axis.set_title("Two basins")
    settings = smk.params.settings
    deep = errors[errors["model"] == "deep"]
    hopped = deep[deep["parameters_apart"] > HOPPED]
    same = hopped["outputs_apart"] < SAME
    hops = f"{len(hopped)} of {len(deep)} retrained networks end in another optimum"
    counts = {"networks retrained": len(deep), "in another optimum": len(hopped)}
    counts["of them with the same outputs"] = same.sum()
    printed += [{"what": what, "value": n, "unit": "networks"} for what, n in counts.items()]
    if len(hopped):
        hops += f", {same.sum()} of them with the same outputs"
    if not same.all():
        median = hopped.loc[~same, "outputs_apart"].median()
        what = "median difference of the others' outputs, relative to the change by the data"
        printed.append({"what": what, "value": median, "unit": "ratio"})
        hops += (
            f"; outputs of the others differ by {median:.2g} times the change by the data (median)"
        )
    footer = (
        f"{settings['n_train']} examples of {settings['task']}, of which "
        f"{100 * settings['share']:g} % are left out; {settings['networks']} networks with "
        f"{settings['hidden']} tanh units, "
        f"{settings['perturbations']} draws. {hops}. {smk.params.notice}"
    )
    save_figure(figure, smk.output.svg, smk.output.pdf, footer.strip())
    write_csv(smk.output.numbers, pd.DataFrame(printed))


if __name__ == "__main__":
    run(main, snakemake)
