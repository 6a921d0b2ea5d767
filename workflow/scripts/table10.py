"""Table 10: training points removed, and how much faster the test loss rises than at random."""

import pandas as pd

from wtrak.io import read_csv, read_json, write_csv
from wtrak.plotting import provenance_line
from wtrak.removal_arms import ARMS, times_faster
from wtrak.runtime import run
from wtrak.tables import interval_cell, number, write_documents

TITLE = "Table 10: training points removed"
TRAITS = {
    "loss": ("loss", 1, 2),
    "margin": ("margin", 1, 2),
    "agreement": ("neighbours with the same label (%)", 100, 1),
    "people_differ": ("people give another label (%)", 100, 1),
}


def accuracy_rows(experiment, curves):
    """Test accuracy of each arm at every share."""
    start = curves[curves["arm"] == "none"]
    row = {"experiment": experiment, "removed first": "none"}
    yield row | {"0 %": interval_cell(100 * start["accuracy"], 2)}
    for arm, title in ARMS.items():
        of = curves[curves["arm"] == arm]
        cells = {
            f"{100 * share:g} %": interval_cell(100 * part["accuracy"], 2)
            for share, part in of.groupby("share")
        }
        yield {"experiment": experiment, "removed first": title} | cells


def faster_rows(experiment, curves):
    """Rise of the test loss over that under random removal, in every reading."""
    means = curves.groupby(["arm", "share"])["loss"].mean()
    for arm, title in ARMS.items():
        if arm == "random":
            continue
        shares = means[arm].index.to_numpy()
        ratio = times_faster(
            shares, means[arm].to_numpy(), means["random"].to_numpy(), means["none"].iloc[0]
        )
        cells = {
            f"at {100 * s:g} %": number(r, 2) for s, r in zip(shares, ratio["at"], strict=True)
        }
        cells |= {"areas": number(ratio["area"], 2), "largest": number(ratio["largest"], 2)}
        yield {"experiment": experiment, "removed first": title} | cells


def trait_rows(experiment, removed):
    """What the points that each arm removes first are like."""
    for arm, title in ARMS.items():
        of = removed[removed["arm"] == arm]
        cells = {
            name: interval_cell(scale * of[trait], digits)
            for trait, (name, scale, digits) in TRAITS.items()
            if trait in of
        }
        yield {"experiment": experiment, "removed first": title} | cells


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

    parts = {
        "Test accuracy (%), mean over samples ± half of a 95 % interval": over(
            accuracy_rows, curves
        ),
        "Rise of the test loss, as a multiple of that under random removal": over(
            faster_rows, curves
        ),
        f"The first {100 * smk.params.looked_at:g} % removed": over(trait_rows, removed),
    }
    footer = provenance_line([read_json(path) for path in smk.input.provenance], smk.params.notice)
    long = pd.concat(
        [frame.assign(experiment=name) for name, frame in curves.items()], ignore_index=True
    )
    write_csv(smk.output.csv, long)
    write_documents(smk.output, TITLE, parts, footer, "tab:removal")


if __name__ == "__main__":
    run(main, snakemake)
