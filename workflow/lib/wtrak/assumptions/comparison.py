"""Compare our numbers under unstated choices with the paper's numbers.

A reading is one combination of the choices that the paper does not state.
"""

import numpy as np
import pandas as pd

AGGREGATES = ("max", "median", "mean")
DEFINITIONS = ("gradient", "spectral")


def numbers(readings):
    """All our numbers for quantities of the paper, one in each row.

    Parameters
    ----------
    readings : pandas.DataFrame
        Outputs of the rule variation, for several variations.

    Returns
    -------
    pandas.DataFrame
        Columns variation, test_label, ridge, quantity (as in paper_claims.csv), definition,
        aggregate and value. Definition and aggregate are empty for quantities without one.
    """
    keys = ["variation", "test_label", "ridge"]
    parts = []

    def add(quantity, values, definition="", aggregate=""):
        part = readings[keys].copy()
        part["quantity"], part["value"] = quantity, values
        part["definition"], part["aggregate"] = definition, aggregate
        parts.append(part)

    add("condition_number", readings["kappa"])
    for aggregate in AGGREGATES:
        nat = readings[f"natural_{aggregate}"]
        add("lipschitz_natural", nat, aggregate=aggregate)
        for definition in DEFINITIONS:
            euclidean = readings[f"{definition}_{aggregate}"]
            add("lipschitz_euclidean", euclidean, definition, aggregate)
            add("reduction", euclidean / nat, definition, aggregate)
    add("certified_natural", 100 * readings["natural_share"])
    add("certified_euclidean", 100 * readings["euclidean_share"])
    return pd.concat(parts, ignore_index=True).dropna(subset="value")


def nearest(found, paper):
    """The row of `numbers` whose value is nearest to the paper's on a logarithmic scale."""
    positive = found[found["value"] > 0]
    return positive.loc[(np.log(positive["value"]) - np.log(paper)).abs().idxmin()]


READING = ["variation", "test_label", "ridge", "definition", "aggregate"]


def shared_distances(joints):
    """Distance of each reading to the paper's numbers of several experiments at once.

    Parameters
    ----------
    joints : dict of str to pandas.DataFrame
        Output of `joint_distances` of each experiment.

    Returns
    -------
    pandas.DataFrame
        One row for each reading that all experiments have, the nearest first. Columns are the
        reading's keys, ``factor of NAME`` for each experiment, and ``factor``, their maximum.
    """
    out = None
    for name, joint in joints.items():
        part = joint[[*READING, "factor"]].rename(columns={"factor": f"factor of {name}"})
        out = part if out is None else out.merge(part, on=READING)
    out["factor"] = out[[f"factor of {name}" for name in joints]].max(axis=1)
    return out.sort_values("factor", kind="stable", ignore_index=True)


def joint_distances(found, paper, quantities):
    """Distance of each reading to all of the paper's numbers at once.

    The variation, label, ridge, Euclidean definition and aggregate are the same for all numbers.

    Parameters
    ----------
    found : pandas.DataFrame
        Output of `numbers`.
    paper : dict of str to float
        By quantity.
    quantities : sequence of str
        Which to compare.

    Returns
    -------
    pandas.DataFrame
        One row for each reading, the nearest first. Columns are the reading's keys, one for each
        quantity, and ``factor``: the largest factor between a quantity and the paper's number.
    """
    keys = ["variation", "test_label", "ridge"]
    out = None
    for quantity in quantities:
        of = found[found["quantity"] == quantity]
        on = keys + [key for key in ("definition", "aggregate") if of[key].ne("").any()]
        part = of[[*on, "value"]].rename(columns={"value": quantity})
        shared = [key for key in on if out is not None and key in out]
        out = part if out is None else out.merge(part, on=shared)
    ratios = [np.abs(np.log(out[quantity] / paper[quantity])) for quantity in quantities]
    out["factor"] = np.exp(np.max(ratios, axis=0))
    return out.sort_values("factor", kind="stable", ignore_index=True)
