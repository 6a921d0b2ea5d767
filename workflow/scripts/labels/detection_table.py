"""Write the table of wrong labels found by each detector, and of differences to self-influence."""

import pandas as pd

from wtrak.job.io import read_csv, read_json, write_csv
from wtrak.job.runtime import run
from wtrak.labels.catalogue import DETECTORS
from wtrak.reporting.cells import fixed, mean_cell
from wtrak.reporting.plotting import provenance_line
from wtrak.reporting.tables import write_documents

TITLE = "Wrong labels found"
# Heading, decimals and unit of each metric.
METRICS = {
    "auroc": ("AUROC", 3, "share"),
    "average_precision": ("average precision", 3, "share"),
    "separation": ("separation", 2, "ratio"),
    "recall_5": ("found in top 5 %", 3, "share"),
    "recall_10": ("in top 10 %", 3, "share"),
    "recall_20": ("in top 20 %", 3, "share"),
}


def summary_rows(metrics, papers):
    """One row for each detector; the paper's numbers, if any, below those of self-influence."""
    for (experiment, noise), group in metrics.groupby(["experiment", "noise"], sort=False):
        for name, detector in DETECTORS.items():
            part = group[group["detector"] == name]
            cells = {
                heading: mean_cell(part[metric], decimals, unit)
                for metric, (heading, decimals, unit) in METRICS.items()
            }
            yield {"experiment": experiment, "noise": noise, "detector": detector.title} | cells
            paper = papers.get(experiment, {}).get(noise, {})
            if name == "self_influence" and paper:
                cells = {
                    heading: fixed(paper.get(metric), decimals, unit)
                    for metric, (heading, decimals, unit) in METRICS.items()
                }
                yield {"experiment": experiment, "noise": noise, "detector": "the paper's"} | cells


def difference_rows(metrics):
    """One row for each detector: its metrics minus those of self-influence on the same seeds."""
    for (experiment, noise), group in metrics.groupby(["experiment", "noise"], sort=False):
        reference = group[group["detector"] == "self_influence"].set_index("seed")
        for name, detector in DETECTORS.items():
            if name == "self_influence":
                continue
            part = group[group["detector"] == name].set_index("seed")
            cells = {
                heading: mean_cell(part[metric] - reference[metric], decimals, unit, "+")
                for metric, (heading, decimals, unit) in METRICS.items()
                if metric != "separation"
            }
            yield {"experiment": experiment, "noise": noise, "detector": detector.title} | cells


def as_text(rows, labels, noise_labels):
    """Rows as a table of text, with labels in the place of names."""
    frame = pd.DataFrame(rows)
    frame["experiment"] = frame["experiment"].map(labels)
    frame["noise"] = frame["noise"].map(noise_labels)
    frame.attrs["text_columns"] = 3
    return frame


def main(smk):
    metrics = pd.concat(map(read_csv, smk.input.metrics), ignore_index=True)
    rows = {
        "Mean over seeds, ± half of a 95 % interval": summary_rows(metrics, smk.params.paper),
        "Difference to self-influence, on the same seeds": difference_rows(metrics),
    }
    parts = {
        heading: as_text(part, smk.params.labels, smk.params.noise_labels)
        for heading, part in rows.items()
    }
    footer = provenance_line([read_json(path) for path in smk.input.provenance], smk.params.notice)
    write_csv(smk.output.csv, metrics)
    write_documents(smk.output, TITLE, parts, footer, "tab:label-noise")


if __name__ == "__main__":
    run(main, snakemake)
