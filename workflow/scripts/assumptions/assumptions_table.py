"""Write the table of the paper's numbers under choices that it does not state."""

import pandas as pd

from wtrak.assumptions.comparison import joint_distances, nearest, numbers, shared_distances
from wtrak.job.io import read_csv, read_json, write_csv
from wtrak.job.runtime import run
from wtrak.reporting.cells import percentage, plain
from wtrak.reporting.plotting import provenance_line
from wtrak.reporting.tables import Cell, number, write_documents

TITLE = "Choices that the paper does not state"
EUCLIDEAN, NATURAL = "score per unit of |phi|", "score per unit of natural distance"
RIDGE = "|phi|^2"
# Title and unit of each quantity.
QUANTITIES = {
    "condition_number": ("κ(Q)", "ratio"),
    "lipschitz_euclidean": ("Euclidean L", EUCLIDEAN),
    "lipschitz_natural": ("natural L", NATURAL),
    "reduction": ("reduction", "ratio"),
}
# Scores that are equal up to rounding give radii below this, in deletions; they count as zero.
NEGLIGIBLE = 1e-9
# The numbers that one combination of choices should give at once. The reduction follows from the
# last two.
JOINT = ("condition_number", "lipschitz_euclidean", "lipschitz_natural")


def in_words(row):
    """A combination of choices in words: variation, test label, definition and aggregate of L."""
    words = [row["variation"], row["test_label"].replace("_", " ")]
    return ", ".join(words + [row[key] for key in ("definition", "aggregate") if row.get(key)])


def display_reach(by_experiment, papers, labels):
    """Each of the paper's numbers, the range of ours over all choices, and the nearest of ours."""
    rows = []
    for name, ours in by_experiment.items():
        for quantity, (title, unit) in QUANTITIES.items():
            paper = papers[name].get(quantity)
            if paper is None:
                continue
            group = ours[ours["quantity"] == quantity]
            best = nearest(group, paper)
            low, high = group["value"].min(), group["value"].max()
            rows.append(
                {
                    "experiment": labels[name],
                    "quantity": title,
                    "nearest choices": in_words(best),
                    "λ": plain(best["ridge"], RIDGE),
                    "paper": plain(paper, unit),
                    "lowest": plain(low, unit),
                    "highest": plain(high, unit),
                    "inside": "yes" if low <= paper <= high else "no",
                    "nearest": plain(best["value"], unit),
                }
            )
    return as_text(rows, 3)


def display_joint(by_experiment, papers, labels):
    """The three combinations of choices that come nearest to κ and both constants at once."""
    rows = []
    for name, joint in joints_of(by_experiment, papers).items():
        for _, row in joint.head(3).iterrows():
            reduction = row["lipschitz_euclidean"] / row["lipschitz_natural"]
            values = {quantity: row[quantity] for quantity in JOINT} | {"reduction": reduction}
            rows.append(
                {
                    "experiment": labels[name],
                    "choices": in_words(row),
                    "λ": plain(row["ridge"], RIDGE),
                }
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
    """A radius in deletions; "never" where so many scores are equal that no radius is positive."""
    return plain(deletions, "deletions") if deletions > NEGLIGIBLE else "never"


def joints_of(by_experiment, papers):
    """`joint_distances` of every experiment for which the paper has all numbers."""
    return {
        name: joint_distances(ours, papers[name], JOINT)
        for name, ours in by_experiment.items()
        if set(JOINT) <= set(papers[name])
    }


def display_shared(by_experiment, papers, labels):
    """The five combinations nearest to the paper's numbers of all experiments at once.

    The table is empty for a single experiment.
    """
    joints = joints_of(by_experiment, papers)
    if len(joints) < 2:
        return as_text([], 1)
    rows = [
        {"choices": in_words(row), "λ": plain(row["ridge"], RIDGE)}
        | {f"{labels[name]}: off by up to": times(row[f"factor of {name}"]) for name in joints}
        for _, row in shared_distances(joints).head(5).iterrows()
    ]
    return as_text(rows, 1)


def display_rows(label, readings):
    """Numbers of one experiment, one row for each combination of choices."""
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
        "natural pairs, same deletions": list(
            map(percentage, readings["natural_share_in_deletions"])
        ),
        "deletions at the paper's share": list(map(radius, readings["deletions_at_paper_share"])),
    }
    frame = pd.DataFrame({"experiment": label, "variation": readings["variation"]} | columns)
    frame.attrs["text_columns"] = 2
    return frame


def as_text(rows, text_columns):
    frame = pd.DataFrame(rows)
    frame.attrs["text_columns"] = text_columns
    return frame


def main(smk):
    papers, labels = smk.params.paper, smk.params.labels
    all_readings = pd.concat(map(read_csv, smk.input.readings), ignore_index=True)
    readings = dict(iter(all_readings.groupby("experiment", sort=False)))
    by_experiment = {name: numbers(frame) for name, frame in readings.items()}
    by_variation, by_ridge = [], []
    for name, frame in readings.items():
        default = smk.params.defaults[name]
        labelled = frame[frame["test_label"] == default["test_label"]]
        at_ridge = labelled[labelled["ridge"] == default["ridge"]]
        by_variation.append(display_rows(labels[name], at_ridge))
        first = frame["variation"].iloc[0]
        by_ridge.append(display_rows(labels[name], labelled[labelled["variation"] == first]))
    parts = {
        "The paper's numbers and the range of ours over all choices": display_reach(
            by_experiment, papers, labels
        ),
        "Combinations of choices nearest to κ and both constants at once": display_joint(
            by_experiment, papers, labels
        ),
        "Combinations of choices nearest for all experiments at once": display_shared(
            by_experiment, papers, labels
        ),
        "One choice varied, at the configured ridge and test label": joined(by_variation),
        "Only the ridge varied": joined(by_ridge),
    }
    footer = provenance_line([read_json(path) for path in smk.input.provenance], smk.params.notice)
    write_csv(smk.output.csv, all_readings)
    shown = {heading: part for heading, part in parts.items() if len(part)}
    write_documents(smk.output, TITLE, shown, footer, "tab:assumptions")


def joined(parts):
    frame = pd.concat(parts, ignore_index=True)
    frame.attrs["text_columns"] = 2
    return frame


if __name__ == "__main__":
    run(main, snakemake)
