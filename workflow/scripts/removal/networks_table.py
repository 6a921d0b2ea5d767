"""Write the table of retrained networks: removal, linear datamodeling scores and speed."""

import numpy as np
import pandas as pd

from wtrak.job.io import load_arrays, read_csv, read_json, write_csv
from wtrak.job.runtime import run
from wtrak.removal.arms import faster_rows, times_faster_over_seeds
from wtrak.removal.catalogue import ARMS
from wtrak.removal.datamodels import CEILING, METHODS
from wtrak.reporting.cells import fixed, mean_cell, plain, with_decimals
from wtrak.reporting.plotting import provenance_line
from wtrak.reporting.tables import write_documents

TITLE = "Retrained networks"
WAYS = {"loop": "one after the other", "stack": "side by side"}


def loss_rows(curves):
    """Yield the test loss of each arm at every removed share."""
    titles = {"none": "none"} | {name: arm.title for name, arm in ARMS.items()}
    for arm, title in titles.items():
        group = curves[curves["arm"] == arm]
        yield {"removed first": title} | {
            f"{100 * share:g} %": mean_cell(part["loss"], 4, "nats")
            for share, part in group.groupby("share")
        }


def datamodel_rows(scores):
    """Yield the score of each attribution, with one network and with all, and its share."""
    for name, title in (METHODS | {CEILING: "a perfect prediction"}).items():
        group = scores[scores["method"] == name].set_index(["quantity", "networks"])
        cells = {}
        for count in sorted({1, scores["networks"].max()}):
            networks = f"{count} network{'s' if count > 1 else ''}"
            for quantity, heading, unit in (
                ("lds", networks, "correlation"),
                ("share_of_perfect", f"{networks}, over a perfect prediction", "ratio"),
            ):
                if (quantity, count) in group.index:
                    found = group.loc[(quantity, count)]
                    ends = (found["value"], found["low"], found["high"])
                    cells[heading] = with_decimals(*ends, 3, unit)
        if cells:
            yield {"attribution": title} | cells


def speed_rows(speed):
    """Yield the seconds for each network and epoch."""
    means = speed.groupby("way")["seconds"].mean()
    for way, title in WAYS.items():
        seconds = speed.loc[speed["way"] == way, "seconds"]
        factor = plain(means["loop"] / means[way], "ratio", 2)
        yield {"training": title, "s": mean_cell(seconds, 3, "seconds"), "times faster": factor}


def as_text(rows):
    return pd.DataFrame(rows).fillna("–")


def main(smk):
    curves = pd.concat(map(read_csv, smk.input.curves), ignore_index=True)
    errors = [load_arrays(path, ["projection_error"]) for path in smk.input.scores]
    error = np.mean([arrays["projection_error"] for arrays in errors])
    speed, faster = read_csv(smk.input.speed), times_faster_over_seeds(curves)
    parts = {
        "Test loss, mean over networks ± half of a 95 % interval": loss_rows(curves),
        "Rise of the test loss, relative to random removal "
        "(95 % bootstrap interval over networks, judged on one test set)": faster_rows(faster),
        "Linear datamodeling score (95 % interval over test points and subsets)": datamodel_rows(
            read_csv(smk.input.datamodels)
        ),
        f"Seconds for each network and epoch, {smk.params.stack} networks": speed_rows(speed),
        "Relative error of inner products by the projection of gradients": [
            {"networks": "all", "relative error": fixed(error, 2, "ratio")}
        ],
    }
    footer = provenance_line([read_json(path) for path in smk.input.provenance], smk.params.notice)
    write_csv(smk.output.csv, faster.assign(control=[ARMS[arm].control for arm in faster["arm"]]))
    frames = {title: as_text(rows) for title, rows in parts.items()}
    write_documents(smk.output, TITLE, frames, footer, "tab:retraining")


if __name__ == "__main__":
    run(main, snakemake)
