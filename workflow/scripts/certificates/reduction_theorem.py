"""Is L_Euc/L_Nat of order √κ? The ratio under scaling, and against κ for several spectra."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from wtrak.certificates.theorems import slope
from wtrak.job.io import read_csv, write_csv
from wtrak.job.runtime import run
from wtrak.reporting.palette import EXPERIMENTS, NEUTRAL
from wtrak.reporting.plotting import DASHES, WIDTH, save_figure, set_style


def main(smk):
    set_style()
    ratios = read_csv(smk.input[0])
    figure, (left, right) = plt.subplots(1, 2, figsize=(WIDTH, 3.8))
    scaled = ratios[ratios["check"] == "scale"]
    left.plot(scaled["scale"], scaled["ratio_max"], marker="o", color=EXPERIMENTS[0])
    kappa = scaled["kappa"].iloc[0]
    left.axhline(np.sqrt(kappa), color=NEUTRAL, linestyle=":", linewidth=1.0)
    left.annotate(
        "√κ",
        (0.03, np.sqrt(kappa)),
        xycoords=("axes fraction", "data"),
        xytext=(0, 3),
        textcoords="offset points",
        color=NEUTRAL,
        fontsize=8,
    )
    left.set_title(f"All φ times c: κ stays {kappa:,.0f}")
    left.set_xlabel("scale c of the features")
    left.set_ylabel("L$_{Euc}$ / L$_{Nat}$, maxima over pairs")
    printed = [{"what": "κ at every scale", "value": kappa, "unit": "ratio"}]
    by_kappa = ratios[ratios["check"] == "kappa"]
    for position, (shape, of_shape) in enumerate(by_kappa.groupby("shape", sort=False)):
        for dash, (normalisation, part) in enumerate(of_shape.groupby("normalisation", sort=False)):
            exponent = slope(part["kappa"], part["ratio_max"])
            what = f"exponent of κ, {shape}, {normalisation}"
            printed.append({"what": what, "value": exponent, "unit": "1"})
            right.plot(
                part["kappa"],
                part["ratio_max"],
                color=EXPERIMENTS[position],
                linestyle=DASHES[dash],
                label=f"{shape}, {normalisation}: κ$^{{{exponent:.2f}}}$",
            )
    grid = np.array([by_kappa["kappa"].min(), by_kappa["kappa"].max()])
    right.plot(grid, np.sqrt(grid), color=NEUTRAL, linestyle=":", linewidth=1.0, label="√κ")
    right.set_title("Three spectra, three scales")
    right.set_xlabel("condition number κ")
    for axis in (left, right):
        axis.set_xscale("log")
        axis.set_yscale("log")
    figure.legend(loc="outside upper center", ncols=4, fontsize=7.5)
    footer = "Synthetic points with exactly the given eigenvalues; no dataset and no weights."
    save_figure(figure, smk.output.svg, smk.output.pdf, f"{smk.params.notice} {footer}".strip())
    write_csv(smk.output.numbers, pd.DataFrame(printed))


if __name__ == "__main__":
    run(main, snakemake)
