"""Draw figure 2: the eigenvalues of Q, and the amplification along each under both metrics."""

import matplotlib.pyplot as plt

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
from wtrak.reporting.tables import number


def main(smk):
    set_style()
    figure, (left, right) = plt.subplots(1, 2, figsize=(WIDTH, 3.1))
    inputs = zip(
        smk.params.experiments,
        smk.input.spectra,
        smk.input.records,
        smk.input.amplifications,
        smk.input.enlargements,
        strict=True,
    )
    ridges = set()
    for position, (name, spectrum, record, amplification, enlarged) in enumerate(inputs):
        record = read_json(record)
        spectrum = read_csv(spectrum)
        full = spectrum[spectrum["space"] == "full"]
        style = experiment_style(position)
        kappa = record["spaces"]["full"]["condition_number"]
        label = f"{smk.params.labels[name]}\nκ = {number(kappa)}"
        left.plot(full["rank"], full["eigenvalue"], label=label, **style)
        right.plot(full["rank"], 1 / full["eigenvalue"], **style)
        realised = read_csv(amplification)
        for metric in ("euclidean", "natural"):
            right.plot(
                realised["rank"],
                realised[f"{metric}_median"].where(realised[f"{metric}_median"] > 0),
                color=style["color"],
                linewidth=0.4,
                alpha=0.5,
            )
        enlarged = read_csv(enlarged).set_index(["of", "aggregate"])["value"]
        right.axhline(
            enlarged["test_point", "median"],
            color=style["color"],
            linewidth=0.9,
            linestyle=(0, (6, 2)),
        )
        ridges.add(record["ridge"])
    for ridge in sorted(ridges):
        left.axhline(ridge, color=NEUTRAL, linewidth=0.9, linestyle=":")
        left.annotate(
            f"ridge λ = {number(ridge)}",
            (0.03, ridge),
            xycoords=("axes fraction", "data"),
            xytext=(0, -3),
            textcoords="offset points",
            va="top",
            fontsize=7.5,
            color=NEUTRAL,
        )
    right.axhline(1.0, color="black", linewidth=1.6)
    right.annotate(
        "natural metric: 1 in every direction",
        (0.03, 1.0),
        xycoords=("axes fraction", "data"),
        xytext=(0, -4),
        textcoords="offset points",
        ha="left",
        va="top",
        fontsize=7.5,
    )
    right.annotate(
        "Euclidean metric: 1/λ$_k$\n"
        "dashed: steepest step, median test point\n"
        "thin: step along e$_k$ alone, median test point",
        (0.97, 0.57),
        xycoords="axes fraction",
        ha="right",
        fontsize=7.5,
        bbox={"facecolor": "white", "alpha": 0.8, "linewidth": 0, "pad": 1.0},
    )
    for axis in (left, right):
        axis.set_yscale("log")
        axis.set_xlabel("rank k of the eigenvalue")
        axis.set_xlim(left=0)
    left.set_ylabel("eigenvalue λ$_k$ of Q")
    left.set_ylim(bottom=0.25 * min(ridges))
    left.set_title("Spectrum of the feature covariance")
    left.legend(loc="upper right")
    right.set_ylabel("amplification along e$_k$")
    right.set_title("Amplification of a unit step by Q⁻¹")
    records = [read_json(path) for path in smk.input.provenance]
    save_figure(figure, *smk.output, provenance_line(records, smk.params.notice))


if __name__ == "__main__":
    run(main, snakemake)
