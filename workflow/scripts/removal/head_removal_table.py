"""Training points removed, and how much faster the test loss rises than at random."""

import pandas as pd

from wtrak.job.io import read_csv, read_json, write_csv
from wtrak.job.runtime import run
from wtrak.removal.arms import faster_rows, times_faster_over_seeds
from wtrak.removal.catalogue import ARMS
from wtrak.reporting.cells import mean_cell
from wtrak.reporting.intervals import mean_with_interval
from wtrak.reporting.plotting import provenance_line
from wtrak.reporting.tables import write_documents

TITLE = "Training points removed"
# Heading, factor, decimals and unit of each.
TRAITS = {
    "loss": ("loss", 1, 2, "nats"),
    "margin": ("margin", 1, 2, "logits"),
    "agreement": ("neighbours with the same label (%)", 100, 1, "%"),
    "people_differ": ("people give another label (%)", 100, 1, "%"),
}


def accuracy_rows(experiment, curves):
    """Test accuracy of each arm at every share."""
    start = curves[curves["arm"] == "none"]
    row = {"experiment": experiment, "removed first": "none"}
    yield row | {"0 %": mean_cell(100 * start["accuracy"], 2, "%")}
    for name, arm in ARMS.items():
        of = curves[curves["arm"] == name]
        cells = {
            f"{100 * share:g} %": mean_cell(100 * part["accuracy"], 2, "%")
            for share, part in of.groupby("share")
        }
        yield {"experiment": experiment, "removed first": arm.title} | cells


def trait_rows(experiment, removed):
    """What the points that each arm removes first are like."""
    for name, arm in ARMS.items():
        of = removed[removed["arm"] == name]
        cells = {
            name: mean_cell(scale * of[trait], decimals, unit)
            for trait, (name, scale, decimals, unit) in TRAITS.items()
            if trait in of
        }
        yield {"experiment": experiment, "removed first": arm.title} | cells


def numbers(experiment, curves, removed, faster):
    """The table's numbers, one a row: quantity, what it is of, value, and a 95 % interval."""

    def row(quantity, arm, of, values):
        mean, half = mean_with_interval(values)
        about = {"experiment": experiment, "quantity": quantity, "arm": arm, "of": of}
        return about | {"value": mean, "low": mean - half, "high": mean + half}

    wide = curves.pivot_table(index="seed", columns=["arm", "share"], values="accuracy")
    for arm, share in wide.columns.drop(("none", 0.0)):
        gain = wide[arm, share] - wide["none", 0.0]
        yield row("accuracy_gain", arm, f"at {100 * share:g} %", gain)
    for arm, of in removed.groupby("arm", sort=False):
        for trait in [name for name in TRAITS if name in of]:
            yield row("trait", arm, trait, of[trait])
    for found in faster.rename(columns={"reading": "of"}).to_dict("records"):
        yield {"experiment": experiment, "quantity": "times_faster"} | found


def as_text(rows):
    frame = pd.DataFrame(rows).fillna("–")
    frame.attrs["text_columns"] = 2
    return frame


def main(smk):
    names = smk.params.experiments
    curves = dict(zip(names, map(read_csv, smk.input.curves), strict=True))
    removed = dict(zip(names, map(read_csv, smk.input.removed), strict=True))

    def over(rows, frames):
        return as_text(row for name, frame in frames.items() for row in rows(name, frame))

    faster = {name: times_faster_over_seeds(frame) for name, frame in curves.items()}
    parts = {
        "Test accuracy (%), mean over samples ± half of a 95 % interval": over(
            accuracy_rows, curves
        ),
        "Rise of the test loss, as a multiple of that under random removal "
        "(95 % bootstrap interval over samples)": over(
            lambda name, frame: ({"experiment": name} | row for row in faster_rows(frame)), faster
        ),
        f"The first {100 * smk.params.looked_at:g} % removed": over(trait_rows, removed),
    }
    footer = provenance_line([read_json(path) for path in smk.input.provenance], smk.params.notice)
    rows = (
        row for name in names for row in numbers(name, curves[name], removed[name], faster[name])
    )
    write_csv(smk.output.csv, pd.DataFrame(rows))
    write_documents(smk.output, TITLE, parts, footer, "tab:removal")


if __name__ == "__main__":
    run(main, snakemake)
