"""Pairs and top sets certified in every way, at chosen numbers of deletions."""

import pandas as pd

from wtrak.certificates.catalogue import CERTIFICATES, full_title
from wtrak.job.io import read_csv, read_json, write_csv
from wtrak.job.runtime import run
from wtrak.reporting.cells import percentage, plain
from wtrak.reporting.plotting import provenance_line
from wtrak.reporting.tables import labelled, write_documents

TITLE = "Certified pairs, in deletions"
INTERVALS = "95 % intervals over test and training points"
KINDS = {
    "exact": "no single removal turns the pair (exact)",
    "replacement": "no replacement inside the ball turns it (proved)",
    "proved": "no set of that size turns it (proved)",
    "first_order": "removed sets, first-order",
    "attack": "removed sets, attacked and recomputed",
}


def display_balls(frames):
    """Certified shares: a method a row, a number of deletions a column."""
    rows = []
    for name, frame in frames.items():
        for metric, method in CERTIFICATES:
            part = frame[(frame["metric"] == metric) & (frame["method"] == method)]
            cells = {
                f"{row.deletions:g} deletions": percentage(row.share, row.low, row.high)
                for row in part.itertuples()
            }
            rows.append({"experiment": name, "certificate": full_title(metric, method)} | cells)
    table = pd.DataFrame(rows)
    table.attrs["text_columns"] = 2
    return table


def display_removals(frames):
    """Pairs that keep their order when whole sets go: a kind a row, a set size a column."""
    rows = []
    for name, frame in frames.items():
        for kind, title in KINDS.items():
            part = frame[frame["kind"] == kind]
            cells = {
                f"{row.removals} removed": percentage(row.share, row.low, row.high)
                for row in part.itertuples()
            }
            rows.append({"experiment": name, "pairs that keep their order": title} | cells)
    table = pd.DataFrame(rows).fillna("")
    table.attrs["text_columns"] = 2
    return table


def display_top_k(frames):
    """Proved radius of the set of the k most influential points, over test points."""
    rows = [
        {
            "experiment": name,
            "set": f"top {k}",
            "median radius (deletions)": plain(part["deletions"].median(), "deletions"),
            "largest radius (deletions)": plain(part["deletions"].max(), "deletions"),
        }
        for name, frame in frames.items()
        for k, part in frame.groupby("k")
    ]
    table = pd.DataFrame(rows)
    table.attrs["text_columns"] = 2
    return table


def main(smk):
    names = smk.params.experiments

    def read(paths):
        return {name: read_csv(path) for name, path in zip(names, paths, strict=True)}

    balls, removals = read(smk.input.certificates), read(smk.input.deletions)
    top_k = read(smk.input.top_k)
    long = [
        frame.assign(experiment=name, certificate=frame["metric"] + " " + frame["method"])
        for name, frame in balls.items()
    ]
    long += [
        frame.assign(experiment=name, certificate=frame["kind"], deletions=frame["removals"])
        for name, frame in removals.items()
    ]
    columns = ["experiment", "certificate", "deletions", "share", "low", "high"]
    footer = provenance_line([read_json(path) for path in smk.input.provenance], smk.params.notice)
    balls_title = f"Pairs certified within a Wasserstein ball ({INTERVALS})"
    removals_title = f"Pairs whose order survives removals ({INTERVALS})"
    top_title = "Radius within which the most influential set cannot change (direct, proved)"
    parts = {
        balls_title: display_balls(balls),
        removals_title: display_removals(removals),
        top_title: display_top_k(top_k),
    }
    write_csv(smk.output.csv, pd.concat(long)[columns])
    parts = labelled(parts, smk.params.labels)
    write_documents(smk.output, TITLE, parts, footer, "tab:certificates")


if __name__ == "__main__":
    run(main, snakemake)
