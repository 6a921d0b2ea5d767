"""Write the table of heads refitted without training points, for each order of removal."""

import pandas as pd

from wtrak.job.io import read_csv, read_json, write_csv
from wtrak.job.runtime import run
from wtrak.removal.arms import faster_rows, times_faster_over_seeds
from wtrak.removal.catalogue import ARMS
from wtrak.reporting.cells import mean_cell
from wtrak.reporting.intervals import mean_with_interval
from wtrak.reporting.plotting import provenance_line
from wtrak.reporting.tables import write_documents

TITLE = "Heads refitted without training points"
# Heading, factor, decimals and unit of each trait.
TRAITS = {
    "loss": ("loss", 1, 2, "nats"),
    "margin": ("margin", 1, 2, "logits"),
    "agreement": ("neighbours with the same label (%)", 100, 1, "%"),
    "people_differ": ("people give another label (%)", 100, 1, "%"),
}


def accuracy_rows(label, curves):
    """Test accuracy of each arm at every removed share."""
    start = curves[curves["arm"] == "none"]
    row = {"experiment": label, "removed first": "none"}
    yield row | {"0 %": mean_cell(100 * start["accuracy"], 2, "%")}
    for name, arm in ARMS.items():
        group = curves[curves["arm"] == name]
        cells = {
            f"{100 * share:g} %": mean_cell(100 * part["accuracy"], 2, "%")
            for share, part in group.groupby("share")
        }
        yield {"experiment": label, "removed first": arm.title} | cells


def trait_rows(label, removed):
    """Loss, margin and labels of the points that each arm removes first."""
    for name, arm in ARMS.items():
        group = removed[removed["arm"] == name]
        cells = {
            heading: mean_cell(scale * group[trait], decimals, unit)
            for trait, (heading, scale, decimals, unit) in TRAITS.items()
            if trait in group
        }
        yield {"experiment": label, "removed first": arm.title} | cells


def numbers(experiment, curves, removed, faster):
    """Rows of the CSV file: one number each, with its 95 % interval.

    Column ``of`` says at which share, for which trait, or by which measure the number holds.
    """

    def row(quantity, arm, which, values):
        mean, half = mean_with_interval(values)
        about = {"experiment": experiment, "quantity": quantity, "arm": arm, "of": which}
        return about | {"value": mean, "low": mean - half, "high": mean + half}

    wide = curves.pivot_table(index="seed", columns=["arm", "share"], values="accuracy")
    for arm, share in wide.columns.drop(("none", 0.0)):
        gain = wide[arm, share] - wide["none", 0.0]
        yield row("accuracy_gain", arm, f"at {100 * share:g} %", gain)
    for arm, group in removed.groupby("arm", sort=False):
        for trait in [name for name in TRAITS if name in group]:
            yield row("trait", arm, trait, group[trait])
    for ratio in faster.rename(columns={"reading": "of"}).to_dict("records"):
        yield {"experiment": experiment, "quantity": "times_faster"} | ratio


def as_text(rows):
    frame = pd.DataFrame(rows).fillna("–")
    frame.attrs["text_columns"] = 2
    return frame


def main(smk):
    names = smk.params.experiments
    curves = dict(zip(names, map(read_csv, smk.input.curves), strict=True))
    removed = dict(zip(names, map(read_csv, smk.input.removed), strict=True))

    def over(rows, frames):
        """A table of the rows of every experiment."""
        labels = smk.params.labels
        return as_text(row for name, frame in frames.items() for row in rows(labels[name], frame))

    faster = {name: times_faster_over_seeds(frame) for name, frame in curves.items()}
    parts = {
        "Test accuracy (%), mean over samples ± half of a 95 % interval": over(
            accuracy_rows, curves
        ),
        "Rise of the test loss, relative to random removal "
        "(95 % bootstrap interval over samples)": over(
            lambda label, frame: ({"experiment": label} | row for row in faster_rows(frame)),
            faster,
        ),
        f"Traits of the first {100 * smk.params.looked_at:g} % of the points removed": over(
            trait_rows, removed
        ),
    }
    footer = provenance_line([read_json(path) for path in smk.input.provenance], smk.params.notice)
    rows = (
        row for name in names for row in numbers(name, curves[name], removed[name], faster[name])
    )
    write_csv(smk.output.csv, pd.DataFrame(rows))
    write_documents(smk.output, TITLE, parts, footer, "tab:removal")


if __name__ == "__main__":
    run(main, snakemake)
