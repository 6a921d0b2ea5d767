"""Table 1: Lipschitz constants and certified pairs of every experiment, beside the paper's."""

import numpy as np
import pandas as pd

from wtrak.job.io import read_csv, read_json, write_csv
from wtrak.job.runtime import run
from wtrak.reporting.cells import NONE, count, fixed, percentage, plain
from wtrak.reporting.plotting import provenance_line
from wtrak.reporting.tables import labelled, write_documents

AGGREGATES = ("max", "mean", "median")
TITLE = "Table 1: robustness comparison"
# What Q⁻¹ enlarges, as `enlargement.csv` names it, and its title.
ENLARGED = {
    "pair": "constant of a pair, over pairs",
    "aggregates": "aggregate of the constants",
    "test_point": "slope, ‖Q⁻¹φₜ‖/‖φₜ‖, over test points",
    "training_point": "slope, ‖Q⁻¹φᵢ‖/‖φᵢ‖, over training points",
}


def lipschitz_rows(name, constants, paper):
    """Constants and their ratios, in long form."""
    value = constants.set_index(["metric", "definition", "aggregate"])["lipschitz"]
    for aggregate in AGGREGATES:
        natural = value["natural", "capped", aggregate]
        for definition in ("gradient", "spectral"):
            euclidean = value["euclidean", definition, aggregate]
            yield from (
                {
                    "experiment": name,
                    "quantity": quantity,
                    "definition": definition,
                    "aggregate": aggregate,
                    "value": number_,
                    "unit": unit,
                    "paper_value": paper.get(quantity),
                }
                for quantity, number_, unit in (
                    ("lipschitz_euclidean", euclidean, "score per unit of |phi|"),
                    ("reduction", euclidean / natural, "ratio"),
                )
            )
        yield {
            "experiment": name,
            "quantity": "lipschitz_natural",
            "definition": "capped",
            "aggregate": aggregate,
            "value": natural,
            "unit": "score per unit of natural distance",
            "paper_value": paper.get("lipschitz_natural"),
        }


def enlargement_rows(name, enlarged, paper):
    """How many times as large Q⁻¹ makes slopes and Euclidean constants, in long form."""
    for row in enlarged.to_dict("records"):
        yield {
            "experiment": name,
            "quantity": "enlargement",
            "definition": row["of"],
            "aggregate": row["aggregate"],
            "value": row["value"],
            "unit": row["unit"],
            "paper_value": paper.get("amplification_euclidean"),
        }


def certified_rows(name, record, paper):
    """Certified shares, and the radii at which the paper's share is attained, in long form."""
    at = record["at_paper_share"]["natural"] or {}
    euclidean_at = record["at_paper_share"]["euclidean"] or {}
    one, tenth = record["share_at_one_deletion"], record["share_at_tenth_of_deletion"]
    natural, euclidean = paper.get("certified_natural"), paper.get("certified_euclidean")
    target = f"natural certifies {100 * record['paper_share']:g} %"
    euclidean_target = target.replace("natural", "Euclidean")

    def times_100(share):
        return None if share is None else 100 * share

    rows = [
        ("certified_natural", target, times_100(at and record["paper_share"]), "%", natural),
        (
            "certified_euclidean",
            f"same epsilon as {target}",
            times_100(record["euclidean_share_at_same_epsilon"]),
            "%",
            euclidean,
        ),
        (
            "certified_euclidean",
            f"as many deletions as {target}",
            times_100(record["euclidean_share_at_same_deletions"]),
            "%",
            None,
        ),
        ("epsilon_natural", target, at.get("epsilon"), "natural distance", None),
        ("deletions_natural", target, at.get("deletions"), "deletions", None),
        ("deletions_euclidean", euclidean_target, euclidean_at.get("deletions"), "deletions", None),
        (
            "radius_ratio",
            "natural over Euclidean at as large a share",
            record["natural_over_euclidean_radius"],
            "ratio",
            None,
        ),
        ("certified_natural", "a tenth of a deletion", times_100(tenth["natural"]), "%", None),
        ("certified_euclidean", "a tenth of a deletion", times_100(tenth["euclidean"]), "%", None),
        ("certified_natural", "one deletion", times_100(one["natural"]), "%", None),
        ("certified_euclidean", "one deletion", times_100(one["euclidean"]), "%", None),
    ]
    for quantity, definition, value, unit, paper_value in rows:
        yield {
            "experiment": name,
            "quantity": quantity,
            "definition": definition,
            "aggregate": "",
            "value": value,
            "unit": unit,
            "paper_value": paper_value,
        }


def nearest(values, paper):
    """Name of the aggregate that is nearest to the paper's number by its ratio, or a dash.

    Parameters
    ----------
    values : dict of str to float
        Aggregates by name, above zero.
    paper : float or None
        None or NaN if the paper gives none.
    """
    if pd.isna(paper):
        return NONE
    return min(values, key=lambda name: abs(np.log(values[name] / paper)))


def display_lipschitz(long):
    """Constants as a table to read: an aggregate a column, then the paper's number."""
    names = {
        ("lipschitz_euclidean", "gradient"): "Euclidean L, 2‖Q⁻¹φₜ‖‖Q⁻¹φᵢ‖ max‖φ‖",
        ("lipschitz_euclidean", "spectral"): "Euclidean L, 2‖φₜ‖‖φᵢ‖ max‖φ‖/λ²",
        ("lipschitz_natural", "capped"): "natural L, 2√SIₜ√SIᵢ R, capped",
        ("reduction", "gradient"): "reduction, first over natural",
        ("reduction", "spectral"): "reduction, second over natural",
    }
    rows = []
    for experiment in long["experiment"].unique():
        for (quantity, definition), title in names.items():
            part = long[
                (long["experiment"] == experiment)
                & (long["quantity"] == quantity)
                & (long["definition"] == definition)
            ].set_index("aggregate")
            unit = part["unit"].iloc[0]
            values = {name: part["value"][name] for name in AGGREGATES}
            cells = {name: plain(value, unit) for name, value in values.items()}
            paper = part["paper_value"].iloc[0]
            cells |= {"paper": plain(paper, unit), "nearest to the paper": nearest(values, paper)}
            rows.append({"experiment": experiment, "quantity": title} | cells)
    frame = pd.DataFrame(rows)
    frame.attrs["text_columns"] = 2
    return frame


def display_enlargement(long):
    """How many times as large Q⁻¹ makes slopes and constants: an aggregate a column."""
    columns = {"max": "max", "mean": "mean", "median": "median"}
    columns |= {"p10": "lower decile", "p90": "upper decile"}
    rows = []
    for experiment in long["experiment"].unique():
        for of, title in ENLARGED.items():
            part = long[(long["experiment"] == experiment) & (long["definition"] == of)]
            value, unit = part.set_index("aggregate")["value"], part["unit"].iloc[0]
            cells = {title: plain(value.get(name), unit) for name, title in columns.items()}
            cells["paper"] = plain(part["paper_value"].iloc[0], unit)
            rows.append({"experiment": experiment, "enlarged by Q⁻¹": title} | cells)
    frame = pd.DataFrame(rows)
    frame.attrs["text_columns"] = 2
    return frame


def display_radii(records):
    """The radius, in deletions, at which each metric certifies as many pairs as the paper."""
    rows = []
    for name, record in records.items():
        at = record["at_paper_share"]
        radii = {
            title: plain(at[metric] and at[metric]["deletions"], "deletions")
            for metric, title in {"euclidean": "Euclidean", "natural": "natural"}.items()
        }
        ratio = plain(record["natural_over_euclidean_radius"], "ratio")
        rows.append({"experiment": name} | radii | {"natural over Euclidean": ratio})
    return pd.DataFrame(rows)


def display_certified(records, papers):
    """Certified shares as a table to read, and the radii at which they are certified."""
    rows = []
    for name, record in records.items():
        paper, at = papers[name], record["at_paper_share"]["natural"]
        attained = record["paper_share"] if at else None
        stated = [
            paper[key] / 100 if key in paper else None
            for key in ("certified_euclidean", "certified_natural")
        ]
        if at:
            radii = plain(at["epsilon"], "natural distance"), plain(at["deletions"], "deletions")
        else:
            radii = ("share not attained",) * 2
        one, tenth = record["share_at_one_deletion"], record["share_at_tenth_of_deletion"]
        for where, radius, euclidean, natural, (paper_euclidean, paper_natural) in (
            (
                *("same ε in both units", radii[0]),
                *(record["euclidean_share_at_same_epsilon"], attained, stated),
            ),
            (
                *("same number of deletions", radii[1]),
                *(record["euclidean_share_at_same_deletions"], attained, (None, None)),
            ),
            (
                *("a tenth of a deletion", plain(0.1, "deletions")),
                *(tenth["euclidean"], tenth["natural"], (None, None)),
            ),
            (
                *("one deletion", plain(1, "deletions")),
                *(one["euclidean"], one["natural"], (None, None)),
            ),
        ):
            rows.append(
                {
                    "experiment": name,
                    "pairs certified at": where,
                    "radius (ε, deletions)": radius,
                    "Euclidean": percentage(euclidean),
                    "natural": percentage(natural),
                    "paper: Euclidean": percentage(paper_euclidean),
                    "paper: natural": percentage(paper_natural),
                }
            )
    frame = pd.DataFrame(rows)
    frame.attrs["text_columns"] = 2
    return frame


def display_setting(names, spectra, heads, papers):
    """What the numbers rest on: head, ridge, spectrum."""
    rows = []
    for name, spectrum, head in zip(names, spectra, heads, strict=True):
        full = spectrum["spaces"]["full"]
        sum_zero = spectrum["spaces"].get("sum_zero", full)
        rows.append(
            {
                "experiment": name,
                "n": count(spectrum["n_train"], "points"),
                "train accuracy": percentage(head["train"]["accuracy"]),
                "test accuracy": percentage(head["test"]["accuracy"]),
                "ridge λ": plain(spectrum["ridge"], "|phi|^2"),
                "κ": plain(full["condition_number"], "ratio"),
                "κ, sum-zero space": plain(sum_zero["condition_number"], "ratio"),
                "paper's κ": plain(papers[name].get("condition_number"), "ratio"),
                "effective dimension": fixed(spectrum["effective_dimension"], 0, "dimensions"),
            }
        )
    return pd.DataFrame(rows)


def main(smk):
    names, papers = smk.params.experiments, smk.params.paper
    records = {n: read_json(p) for n, p in zip(names, smk.input.frontiers, strict=True)}
    spectra = [read_json(path) for path in smk.input.spectra]
    heads = [read_json(path) for path in smk.input.heads]
    long = pd.DataFrame(
        row
        for name, path, enlarged in zip(
            names, smk.input.lipschitz, smk.input.enlargements, strict=True
        )
        for rows in (
            lipschitz_rows(name, read_csv(path), papers[name]),
            enlargement_rows(name, read_csv(enlarged), papers[name]),
            certified_rows(name, records[name], papers[name]),
        )
        for row in rows
    )
    footer = provenance_line([read_json(path) for path in smk.input.provenance], smk.params.notice)
    parts = {
        "Lipschitz constants over all pairs of test and training points": display_lipschitz(
            long[long["aggregate"] != ""]
        ),
        "How many times as large Q⁻¹ makes Euclidean slopes and constants": display_enlargement(
            long[long["quantity"] == "enlargement"]
        ),
        "Pairs of training points whose order is certified": display_certified(records, papers),
        "Radius, in deletions, at which as many are certified as in the paper": display_radii(
            records
        ),
        "Setting": display_setting(names, spectra, heads, papers),
    }
    write_csv(smk.output.csv, long)
    parts = labelled(parts, smk.params.labels)
    write_documents(smk.output, TITLE, parts, footer, "tab:robustness")


if __name__ == "__main__":
    run(main, snakemake)
