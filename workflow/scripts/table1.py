"""Table 1: Lipschitz constants and certified pairs of every experiment, beside the paper's."""

import pandas as pd

from wtrak.io import read_csv, read_json, write_csv
from wtrak.plotting import provenance_line
from wtrak.runtime import run
from wtrak.tables import number, percent, write_documents

AGGREGATES = ("max", "median", "mean")
TITLE = "Table 1: robustness comparison"


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


def certified_rows(name, record, paper):
    """Certified shares, and the radius at which the paper's share is attained, in long form."""
    at = record["at_paper_share"]["natural"] or {}
    one = record["share_at_one_deletion"]
    natural, euclidean = paper.get("certified_natural"), paper.get("certified_euclidean")
    target = f"natural certifies {100 * record['paper_share']:g} %"

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


def display_lipschitz(long):
    """Constants as a table to read: an aggregate a column, the paper's number last."""
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
            cells = {name: number(part["value"][name]) for name in AGGREGATES}
            paper = number(part["paper_value"].iloc[0])
            rows.append({"experiment": experiment, "quantity": title} | cells | {"paper": paper})
    frame = pd.DataFrame(rows)
    frame.attrs["text_columns"] = 2
    return frame


def display_certified(records, papers):
    """Certified shares as a table to read."""
    rows, named, unstated = [], [], ("–", "–")
    for name, record in records.items():
        paper = papers[name]
        at = record["at_paper_share"]["natural"]
        target = f"{100 * record['paper_share']:g} %"
        keys = ("certified_euclidean", "certified_natural")
        stated = [percent(paper[key] / 100) if key in paper else "–" for key in keys]
        where = f"ε = {number(at['epsilon'])}" if at else f"{target} not attained"
        in_deletions = f"{number(at['deletions'])} deletions" if at else f"{target} not attained"
        one = record["share_at_one_deletion"]
        attained = record["paper_share"] if at else None
        same_epsilon = record["euclidean_share_at_same_epsilon"], attained
        same_deletions = record["euclidean_share_at_same_deletions"], attained
        rows += [
            (f"same ε in both units ({where})", same_epsilon, stated),
            (f"same unit ({in_deletions})", same_deletions, unstated),
            ("same unit (1 deletion)", (one["euclidean"], one["natural"]), unstated),
        ]
        named += [name] * 3
    frame = pd.DataFrame(
        [
            (name, where, *map(percent, shares), *paper)
            for name, (where, shares, paper) in zip(named, rows, strict=True)
        ],
        columns=[
            *("experiment", "pairs certified at"),
            *("Euclidean", "natural", "paper: Euclidean", "paper: natural"),
        ],
    )
    frame.attrs["text_columns"] = 2
    return frame


def display_setting(names, spectra, heads, papers):
    """What the numbers rest on: head, ridge, spectrum."""
    rows = []
    for name, spectrum, head in zip(names, spectra, heads, strict=True):
        spaces = spectrum["spaces"]
        rows.append(
            {
                "experiment": name,
                "n": f"{spectrum['n_train']:,}",
                "train / test accuracy": " / ".join(
                    percent(head[split]["accuracy"]) for split in ("train", "test")
                ),
                "ridge λ": number(spectrum["ridge"]),
                "κ": number(spaces["full"]["condition_number"]),
                "κ, sum-zero space": number(
                    spaces.get("sum_zero", spaces["full"])["condition_number"]
                ),
                "paper's κ": number(papers[name].get("condition_number")),
                "effective dimension": f"{spectrum['effective_dimension']:,.0f}",
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
        for name, path in zip(names, smk.input.lipschitz, strict=True)
        for rows in (
            lipschitz_rows(name, read_csv(path), papers[name]),
            certified_rows(name, records[name], papers[name]),
        )
        for row in rows
    )
    footer = provenance_line([read_json(path) for path in smk.input.provenance], smk.params.notice)
    parts = {
        "Lipschitz constants over all pairs of test and training points": display_lipschitz(
            long[long["aggregate"] != ""]
        ),
        "Pairs of training points whose order is certified": display_certified(records, papers),
        "Setting": display_setting(names, spectra, heads, papers),
    }
    write_csv(smk.output.csv, long)
    write_documents(smk.output, TITLE, parts, footer, "tab:robustness")


if __name__ == "__main__":
    run(main, snakemake)
