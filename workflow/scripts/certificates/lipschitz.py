"""Lipschitz constants of one experiment over all pairs, and how much Q⁻¹ enlarges them."""

import numpy as np
import pandas as pd

from wtrak.certificates.lipschitz import (
    enlargement,
    euclidean_gradient,
    euclidean_spectral,
    natural,
)
from wtrak.job.io import load_arrays, read_json, write_csv
from wtrak.job.runtime import run

QUANTILES = {"p10": 0.1, "p90": 0.9}


def aggregates(constant):
    """Aggregates over all pairs, by name."""
    return {"max": constant.maximum(), "median": constant.median(), "mean": constant.mean()}


def enlargements(s, euclidean):
    """Yield rows: how many times as large Q⁻¹ makes slopes and constants.

    Parameters
    ----------
    s : dict of str to numpy.ndarray
        Norms of φ and Q⁻¹φ.
    euclidean : Lipschitz
        The constants with Q⁻¹.
    """
    ratio = enlargement(
        *(
            s[f"{name}_{split}"]
            for name in ("inverse_norms", "norms")
            for split in ("test", "train")
        )
    )
    for what, factors in {"test_point": ratio.test, "training_point": ratio.train}.items():
        values = {"max": factors.max(), "median": np.median(factors), "mean": factors.mean()}
        values |= {name: np.quantile(factors, q) for name, q in QUANTILES.items()}
        yield from (
            {"of": what, "aggregate": name, "value": value, "unit": "1/|phi|^2"}
            for name, value in values.items()
        )
    values = aggregates(ratio) | {name: ratio.quantile(q) for name, q in QUANTILES.items()}
    # The same constants without Q⁻¹.
    plain = euclidean_gradient(s["norms_test"], s["norms_train"], s["norms_train"].max())
    without = aggregates(plain)
    of_aggregates = {name: value / without[name] for name, value in aggregates(euclidean).items()}
    for what, found in {"pair": values, "aggregates": of_aggregates}.items():
        yield from (
            {"of": what, "aggregate": name, "value": value, "unit": "1/|phi|^4"}
            for name, value in found.items()
        )


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
        {"metric": metric, "definition": definition, "aggregate": name, "lipschitz": value}
        for (metric, definition), constant in constants.items()
        for name, value in aggregates(constant).items()
    ]
    write_csv(smk.output.constants, pd.DataFrame(rows))
    enlarged = enlargements(s, constants["euclidean", "gradient"])
    write_csv(smk.output.enlargement, pd.DataFrame(enlarged))


if __name__ == "__main__":
    run(main, snakemake)
