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


# How the ratio of each trait is taken so that more than 1 means an outlier, hard or mislabelled.
RATIOS = {
    "agreement": ("same label among neighbours, random / removed", -1),
    "loss": ("loss, removed / random", 1),
    "people_differ": ("another label by people, removed / random", 1),
}


def trait_ratios(removed):
    """Ratios of traits of the points that each arm removes first to those of random points.

    Yields
    ------
    arm, trait : str
    ratios : pandas.Series
        One a sample; above 1 for points that are outliers, hard or mislabelled.
    """
    traits = [trait for trait in RATIOS if trait in removed]
    wide = removed.pivot_table(index="seed", columns="arm", values=traits)
    for arm in [name for name in ARMS if not ARMS[name].control]:
        for trait in traits:
            yield arm, trait, (wide[trait, arm] / wide[trait, "random"]) ** RATIOS[trait][1]


def ratio_rows(label, removed):
    """Cells of `trait_ratios`, an arm a row."""
    rows = {}
    for arm, trait, ratios in trait_ratios(removed):
        row = rows.setdefault(arm, {"experiment": label, "removed first": ARMS[arm].title})
        row[RATIOS[trait][0]] = mean_cell(ratios, 2, "ratio")
    yield from rows.values()


def stability(curves):
    """Accuracy less that of random removal of as many points, mean over shares; one a sample.

    Yields
    ------
    arm : str
    gains : pandas.Series
    """
    curves = curves[curves["share"] > 0]
    wide = curves.pivot_table(index="seed", columns=["arm", "share"], values="accuracy")
    for arm in [name for name in ARMS if not ARMS[name].control]:
        yield arm, (wide[arm] - wide["random"]).mean(axis=1)


def stability_rows(label, curves):
    """Cells of `stability`, an arm a row."""
    for arm, gains in stability(curves):
        row = {"experiment": label, "removed first": ARMS[arm].title}
        yield row | {"percentage points": mean_cell(100 * gains, 2, "%", "+")}


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
    for arm, trait, ratios in trait_ratios(removed):
        yield row("trait_ratio", arm, trait, ratios)
    for arm, gains in stability(curves):
        yield row("stability", arm, "mean over shares", gains)
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
        "(95 % bootstrap interval over samples, judged on one test set)": over(
            lambda label, frame: ({"experiment": label} | row for row in faster_rows(frame)),
            faster,
        ),
        "Test accuracy less that of random removal of as many points, mean over shares and samples "
        "± half of a 95 % interval": over(stability_rows, curves),
        f"Traits of the first {100 * smk.params.looked_at:g} % of the points removed": over(
            trait_rows, removed
        ),
        "These traits over those of random points; above 1: outliers, hard or mislabelled": over(
            ratio_rows, removed
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
