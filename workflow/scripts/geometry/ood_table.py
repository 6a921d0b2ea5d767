"""Write the table of distance, leverage and self-influence of test points and foreign inputs."""

import numpy as np
import pandas as pd
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score

from wtrak.job.io import read_csv, read_json, write_csv
from wtrak.job.runtime import run
from wtrak.reporting.cells import count, fixed, plain
from wtrak.reporting.plotting import provenance_line
from wtrak.reporting.tables import write_documents

TITLE = "The out-of-distribution barrier"
# Columns of ood.csv that are compared with the distance.
MEASURES = {
    "si_true_label": "SI, true label",
    "si_predicted": "SI, predicted label",
    "leverage": "label-free leverage",
}


# The two distances to the training activations.
DISTANCES = {"distance": "distance", "distance_of_directions": "distance of directions"}
# Directions have length 1, so their distance is a pure number.
UNITS = {"distance": "activation", "distance_of_directions": "1"}


def rows_of(name, frame):
    """Yield one row for each set: medians, rank correlations with distance, and AUROC."""
    test = frame[frame["set"] == "test"]
    for kind, part in frame.groupby("set", sort=False):
        row = {
            "experiment": name,
            "set": kind,
            "inputs": len(part),
        } | {f"{distance}_median": part[distance].median() for distance in DISTANCES}
        for column in MEASURES:
            known = part[column].notna().all()
            row[f"{column}_median"] = part[column].median() if known else np.nan
            for distance in DISTANCES:
                row[f"{column}_spearman_{distance}"] = (
                    spearmanr(part[distance], part[column]).statistic if known else np.nan
                )
            row[f"{column}_auroc"] = np.nan
            if known and kind != "test":
                labels = np.repeat([0, 1], [len(test), len(part)])
                row[f"{column}_auroc"] = roc_auc_score(
                    labels, np.concatenate([test[column], part[column]])
                )
        for column in ("si_true_label", "si_predicted"):
            known = part[column].notna().all()
            row[f"{column}_capped"] = int((part[column] > part["cap"]).sum()) if known else np.nan
        yield row


def display(long, labels, leading, suffix, cell):
    """A table with one row for each set of inputs.

    Its columns are `leading`, and the columns of `long` that end in `suffix`, formatted by `cell`.
    """
    columns = {"experiment": long["experiment"].map(labels), "inputs": long["set"]}
    columns |= leading
    for column, title in MEASURES.items():
        columns[title] = [cell(value) for value in long[f"{column}_{suffix}"]]
    frame = pd.DataFrame(columns)
    frame.attrs["text_columns"] = 2
    return frame


def main(smk):
    long = pd.DataFrame(
        row
        for name, path in zip(smk.params.experiments, smk.input.ood, strict=True)
        for row in rows_of(name, read_csv(path))
    )

    labels = smk.params.labels

    def cells(column, cell, *about):
        return [cell(value, *about) for value in long[column]]

    capped = {
        "capped, true label": cells("si_true_label_capped", count, "points"),
        "capped, predicted": cells("si_predicted_capped", count, "points"),
    }
    size = {"number": cells("inputs", count, "points")} | {
        title: cells(f"{distance}_median", plain, UNITS[distance])
        for distance, title in DISTANCES.items()
    }

    def correlation(value):
        return fixed(value, 2, "correlation")

    parts = {
        "Medians, and number of points above the cap": display(
            long, labels, size | capped, "median", lambda value: plain(value, "1")
        ),
        **{
            f"Spearman correlation with the {title}, within each set": display(
                long, labels, {}, f"spearman_{distance}", correlation
            )
            for distance, title in DISTANCES.items()
        },
        "AUROC of each set against the test points": display(
            long[long["set"] != "test"], labels, {}, "auroc", lambda value: fixed(value, 2, "share")
        ),
    }
    footer = provenance_line([read_json(path) for path in smk.input.provenance], smk.params.notice)
    write_csv(smk.output.csv, long)
    write_documents(smk.output, TITLE, parts, footer, "tab:ood")


if __name__ == "__main__":
    run(main, snakemake)
