"""Lipschitz constants of one experiment over all pairs of test and training points."""

import pandas as pd

from wtrak.certificates.lipschitz import euclidean_gradient, euclidean_spectral, natural
from wtrak.job.io import load_arrays, read_json, write_csv
from wtrak.job.runtime import run


def main(smk):
    s = load_arrays(
        smk.input.scores,
        [
            *("self_influence_train", "self_influence_test"),
            *("inverse_norms_train", "inverse_norms_test"),
            *("norms_train", "norms_test"),
        ],
    )
    smallest = read_json(smk.input.spectrum)["spaces"]["full"]["smallest_eigenvalue"]
    constants = {
        ("natural", "capped"): natural(s["self_influence_test"], s["self_influence_train"]),
        ("euclidean", "gradient"): euclidean_gradient(
            s["inverse_norms_test"], s["inverse_norms_train"], s["norms_train"].max()
        ),
        ("euclidean", "spectral"): euclidean_spectral(s["norms_test"], s["norms_train"], smallest),
    }
    rows = [
        {"metric": metric, "definition": definition, "aggregate": name, "lipschitz": value()}
        for (metric, definition), constant in constants.items()
        for name, value in {
            "max": constant.maximum,
            "median": constant.median,
            "mean": constant.mean,
        }.items()
    ]
    write_csv(smk.output[0], pd.DataFrame(rows))


if __name__ == "__main__":
    run(main, snakemake)
