"""Write the table of wrong labels found by each detector, for heads that under- and overfit."""

import pandas as pd

from wtrak.job.io import read_csv, read_json, write_csv
from wtrak.job.runtime import run
from wtrak.labels.catalogue import DETECTORS
from wtrak.reporting.cells import count, mean_cell
from wtrak.reporting.plotting import provenance_line
from wtrak.reporting.tables import write_documents

TITLE = "Wrong labels found, by head and training size"
SHARES = {
    "accuracy_as_given": "given labels predicted",
    "accuracy_as_true": "true labels predicted",
    "memorised": "wrong labels memorised",
}


def rows_of(results, fits, heads, *, less_reference):
    """Yield one row for each head and training size.

    It has the average precision of each detector, and what share of the labels the head predicts.
    With `less_reference` it has the differences to self-influence instead.
    """
    for metrics, fit, head in zip(results, fits, heads, strict=True):
        cells = {}
        if not less_reference:
            cells |= {title: mean_cell(fit[column], 3, "share") for column, title in SHARES.items()}
        values = {
            name: group.set_index("seed")["average_precision"]
            for name, group in metrics.groupby("detector")
        }
        for name, detector in DETECTORS.items():
            if less_reference and name == "self_influence":
                continue
            shown = values[name] - values["self_influence"] if less_reference else values[name]
            cells[detector.title] = mean_cell(shown, 3, "share", "+" if less_reference else "")
        yield {"head": head, "n": count(fit["n_train"].iloc[0], "points")} | cells


def as_text(rows):
    frame = pd.DataFrame(rows)
    frame.attrs["text_columns"] = 1
    return frame


def main(smk):
    fits = [read_csv(path) for path in smk.input.fits]
    results = [read_csv(path) for path in smk.input.metrics]
    heads = smk.params.heads
    parts = {
        title: as_text(rows_of(results, fits, heads, less_reference=less))
        for title, less in {
            "Average precision, mean over seeds, ± half of a 95 % interval": False,
            "Difference of average precision to self-influence, on the same seeds": True,
        }.items()
    }
    footer = provenance_line([read_json(path) for path in smk.input.provenance], smk.params.notice)
    long = [
        metrics.merge(fit, on="seed").assign(head=head)
        for metrics, fit, head in zip(results, fits, heads, strict=True)
    ]
    write_csv(smk.output.csv, pd.concat(long, ignore_index=True))
    write_documents(smk.output, TITLE, parts, footer, "tab:label-noise-fits")


if __name__ == "__main__":
    run(main, snakemake)
