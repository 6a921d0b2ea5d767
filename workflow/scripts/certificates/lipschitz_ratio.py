"""L_Euc/L_Nat under scaling at fixed κ, and against κ for several spectra and normalisations."""

import numpy as np
import pandas as pd

from wtrak.certificates.theorems import NORMALISATIONS, SHAPES, lipschitz_ratios, spectrum
from wtrak.job.io import write_csv
from wtrak.job.runtime import run


def main(smk):
    dimension, n = smk.params.dimension, smk.params.n_points
    rows = []

    def ratios(values):
        # The same points for every spectrum, so that only the spectrum differs.
        return lipschitz_ratios(values, n, np.random.default_rng(smk.params.seed))

    for scale in np.geomspace(1e-2, 1e2, 9):
        values = scale**2 * spectrum("geometric", 1e4, "largest 1", dimension)
        rows.append(
            {"check": "scale", "shape": "geometric", "normalisation": "", "scale": scale}
            | {"kappa": 1e4}
            | ratios(values)
        )
    for shape in SHAPES:
        for normalisation in NORMALISATIONS:
            for kappa in np.geomspace(10, 1e6, 11):
                values = spectrum(shape, kappa, normalisation, dimension)
                rows.append(
                    {"check": "kappa", "shape": shape, "normalisation": normalisation}
                    | {"scale": 1.0, "kappa": kappa}
                    | ratios(values)
                )
    write_csv(smk.output[0], pd.DataFrame(rows))


if __name__ == "__main__":
    run(main, snakemake)
