"""The numbers of all readings, and which of them are nearest to the paper's."""

import numpy as np
import pandas as pd

AGGREGATES = ("max", "median", "mean")
DEFINITIONS = ("gradient", "spectral")


def numbers(readings):
    """Every number that a table of readings gives for a quantity of the paper, one a row.

    Parameters
    ----------
    readings : pandas.DataFrame
        Output of the rule reading, of several variations.

    Returns
    -------
    pandas.DataFrame
        Columns variation, test_label, ridge, quantity (as in paper_claims.csv), definition,
        aggregate (empty where there is none) and value.
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
    """The row of `numbers` whose value is nearest to the paper's, in the logarithm."""
    positive = found[found["value"] > 0]
    return positive.loc[(np.log(positive["value"]) - np.log(paper)).abs().idxmin()]


READING = ["variation", "test_label", "ridge", "definition", "aggregate"]


def shared_distances(joints):
    """How far whole readings are from the paper's numbers of several experiments at once.

    Parameters
    ----------
    joints : dict of str to pandas.DataFrame
        Output of `joint_distances` of each experiment.

    Returns
    -------
    pandas.DataFrame
        A reading that all of them have a row, nearest first: its keys, ``factor`` (the largest
        of any experiment) and one column ``factor of NAME`` for each.
    """
    out = None
    for name, joint in joints.items():
        part = joint[[*READING, "factor"]].rename(columns={"factor": f"factor of {name}"})
        out = part if out is None else out.merge(part, on=READING)
    out["factor"] = out[[f"factor of {name}" for name in joints]].max(axis=1)
    return out.sort_values("factor", kind="stable", ignore_index=True)


def joint_distances(found, paper, quantities):
    """How far whole readings are from all of the paper's numbers at once.

    One reading has one variation, label, ridge, Euclidean definition and aggregate for all of them.

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
        A reading a row, nearest first: its keys, one column for each quantity, and ``factor``, the
        largest ratio of any of them to the paper's number, or of that to it.
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
