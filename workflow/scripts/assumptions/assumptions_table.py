"""Which choices that the paper leaves unstated give its numbers, if any."""

import pandas as pd

from wtrak.assumptions.comparison import joint_distances, nearest, numbers, shared_distances
from wtrak.job.io import read_csv, read_json, write_csv
from wtrak.job.runtime import run
from wtrak.reporting.cells import percentage, plain
from wtrak.reporting.plotting import provenance_line
from wtrak.reporting.tables import Cell, number, write_documents

TITLE = "What the paper leaves unstated"
EUCLIDEAN, NATURAL = "score per unit of |phi|", "score per unit of natural distance"
RIDGE = "|phi|^2"
# Title and unit of each.
QUANTITIES = {
    "condition_number": ("κ(Q)", "ratio"),
    "lipschitz_euclidean": ("Euclidean L", EUCLIDEAN),
    "lipschitz_natural": ("natural L", NATURAL),
    "reduction": ("reduction", "ratio"),
}
# Pairs whose scores are equal up to rounding are certified at no radius worth the name.
NEGLIGIBLE = 1e-9
# What one reading has to meet at once; the reduction follows from the last two.
JOINT = ("condition_number", "lipschitz_euclidean", "lipschitz_natural")


def in_words(row):
    """A reading but for its ridge: variation, test label, and how the number is taken."""
    words = [row["variation"], row["test_label"].replace("_", " ")]
    return ", ".join(words + [row[key] for key in ("definition", "aggregate") if row.get(key)])


def display_reach(found, papers):
    """Each of the paper's numbers, the range over all readings, and the nearest one."""
    rows = []
    for name, numbers_of in found.items():
        for quantity, (title, unit) in QUANTITIES.items():
            paper = papers[name].get(quantity)
            if paper is None:
                continue
            of = numbers_of[numbers_of["quantity"] == quantity]
            best = nearest(of, paper)
            low, high = of["value"].min(), of["value"].max()
            rows.append(
                {
                    "experiment": name,
                    "quantity": title,
                    "nearest reading": in_words(best),
                    "λ": plain(best["ridge"], RIDGE),
                    "paper": plain(paper, unit),
                    "lowest": plain(low, unit),
                    "highest": plain(high, unit),
                    "inside": "yes" if low <= paper <= high else "no",
                    "nearest": plain(best["value"], unit),
                }
            )
    return as_text(rows, 3)


def display_joint(found, papers):
    """The readings nearest to κ and both constants at once."""
    rows = []
    for name, joint in joints_of(found, papers).items():
        for _, row in joint.head(3).iterrows():
            reduction = row["lipschitz_euclidean"] / row["lipschitz_natural"]
            values = {quantity: row[quantity] for quantity in JOINT} | {"reduction": reduction}
            rows.append(
                {"experiment": name, "reading": in_words(row), "λ": plain(row["ridge"], RIDGE)}
                | {
                    title: plain(values[quantity], unit)
                    for quantity, (title, unit) in QUANTITIES.items()
                }
                | {"off by up to": times(row["factor"])}
            )
    return as_text(rows, 2)


def times(factor):
    """A factor by which a number is off."""
    return Cell(f"×{number(factor)}", "ratio", factor)


def radius(deletions):
    """A radius in deletions; where too many scores are equal the share is not reached."""
    return plain(deletions, "deletions") if deletions > NEGLIGIBLE else "never"


def joints_of(found, papers):
    """`joint_distances` of every experiment for which the paper has all numbers."""
    return {
        name: joint_distances(numbers_of, papers[name], JOINT)
        for name, numbers_of in found.items()
        if set(JOINT) <= set(papers[name])
    }


def display_shared(found, papers):
    """The readings nearest to the numbers of all experiments; empty where there is but one."""
    joints = joints_of(found, papers)
    if len(joints) < 2:
        return as_text([], 1)
    rows = [
        {"reading": in_words(row), "λ": plain(row["ridge"], RIDGE)}
        | {f"{name}, off by up to": times(row[f"factor of {name}"]) for name in joints}
        for _, row in shared_distances(joints).head(5).iterrows()
    ]
    return as_text(rows, 1)


def display_rows(name, readings):
    """Readings of one experiment as rows of numbers."""
    reduction = readings["gradient_median"] / readings["natural_median"]
    columns = {
        "λ": [plain(value, RIDGE) for value in readings["ridge"]],
        "κ(Q)": [plain(value, "ratio") for value in readings["kappa"]],
        "Euclidean L, max": [plain(value, EUCLIDEAN) for value in readings["gradient_max"]],
        "Euclidean L, median": [plain(value, EUCLIDEAN) for value in readings["gradient_median"]],
        "natural L, max": [plain(value, NATURAL) for value in readings["natural_max"]],
        "natural L, median": [plain(value, NATURAL) for value in readings["natural_median"]],
        "reduction, median": [plain(value, "ratio") for value in reduction],
        "natural pairs, same ε": list(map(percentage, readings["natural_share"])),
        "same deletions": list(map(percentage, readings["natural_share_in_deletions"])),
        "deletions at the paper's share": list(map(radius, readings["deletions_at_paper_share"])),
    }
    frame = pd.DataFrame({"experiment": name, "variation": readings["variation"]} | columns)
    frame.attrs["text_columns"] = 2
    return frame


def as_text(rows, text_columns):
    frame = pd.DataFrame(rows)
    frame.attrs["text_columns"] = text_columns
    return frame


def main(smk):
    papers = smk.params.paper
    every = pd.concat(map(read_csv, smk.input.readings), ignore_index=True)
    readings = dict(iter(every.groupby("experiment", sort=False)))
    found = {name: numbers(frame) for name, frame in readings.items()}
    by_variation, by_ridge = [], []
    for name, frame in readings.items():
        default = smk.params.defaults[name]
        labelled = frame[frame["test_label"] == default["test_label"]]
        by_variation.append(display_rows(name, labelled[labelled["ridge"] == default["ridge"]]))
        first = frame["variation"].iloc[0]
        by_ridge.append(display_rows(name, labelled[labelled["variation"] == first]))
    parts = {
        "The paper's numbers against the range of all readings": display_reach(found, papers),
        "The single readings nearest to κ and both constants at once": display_joint(found, papers),
        "The same for all experiments at once": display_shared(found, papers),
        "One thing varied, configured ridge and test label": joined(by_variation),
        "The ridge varied": joined(by_ridge),
    }
    footer = provenance_line([read_json(path) for path in smk.input.provenance], smk.params.notice)
    write_csv(smk.output.csv, every)
    shown = {heading: part for heading, part in parts.items() if len(part)}
    write_documents(smk.output, TITLE, shown, footer, "tab:assumptions")


def joined(parts):
    frame = pd.concat(parts, ignore_index=True)
    frame.attrs["text_columns"] = 2
    return frame


if __name__ == "__main__":
    run(main, snakemake)
