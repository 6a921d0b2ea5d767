"""Figure 1: linear predictions of the parameters, in a convex model and in a deep one."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from wtrak.job.io import read_csv, write_csv
from wtrak.job.runtime import run
from wtrak.reporting.palette import EUCLIDEAN, NATURAL, NEUTRAL
from wtrak.reporting.plotting import WIDTH, save_figure, set_style

# Networks whose parameters end farther apart than this, as a multiple of the move, have hopped;
# those whose outputs end nearer than that are the same with units in other places.
HOPPED, SAME = 0.1, 0.01
MODELS = {
    "convex": ("convex model", NATURAL, "-"),
    "deep": ("network, trained anew", EUCLIDEAN, "--"),
    "deep_warm": ("network, trained on", "#E69F00", "-."),
}


def draw_path(axis, paths, names):
    """Change along its prediction, in units of the whole prediction, against strength."""
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
    axis.set_xlabel("weight taken from the left-out examples (%)")
    axis.legend(fontsize=7)


def draw_errors(axis, errors):
    """Distribution functions of the relative error."""
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
    axes[0, 0].set_title("Convex: one optimum, which moves with the data")
    axes[0, 1].set_title("Deep: the network that hops farthest")
    draw_errors(axes[1, 0], errors)
    axes[1, 0].set_title("All perturbations")
    axis = axes[1, 1]
    axis.plot(profile["place"], profile["loss"], color=EUCLIDEAN)
    printed = []
    for place, label in ((0, "trained on"), (1, "trained anew")):
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
    # Where no network hops both losses are one up to rounding, which should not fill the axis.
    low, high = profile["loss"].min(), profile["loss"].max()
    room = max(0.35 * (high - low), 1e-3 * high)
    axis.set_ylim(low - room, high + 0.3 * room)
    axis.ticklabel_format(useOffset=False)
    axis.set_xlabel("on the line between the two optima of that network")
    axis.set_ylabel("loss on the changed data")
    axis.set_title("Two basins")
    settings = smk.params.settings
    deep = errors[errors["model"] == "deep"]
    hopped = deep[deep["parameters_apart"] > HOPPED]
    same = hopped["outputs_apart"] < SAME
    hops = f"{len(hopped)} of {len(deep)} trained anew end in another optimum than trained on"
    counts = {"networks trained anew": len(deep), "in another optimum": len(hopped)}
    counts["of them with the same outputs"] = same.sum()
    printed += [{"what": what, "value": n, "unit": "networks"} for what, n in counts.items()]
    if len(hopped):
        hops += f", {same.sum()} of them with the same outputs"
    if not same.all():
        median = hopped.loc[~same, "outputs_apart"].median()
        what = "median change of the others' outputs over that by the data"
        printed.append({"what": what, "value": median, "unit": "ratio"})
        hops += f"; those of the others differ by {median:.2g} times what the data change (median)"
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
