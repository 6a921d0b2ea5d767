"""Write the table of suspicious labels of the original data, and of human labels for them."""

import pandas as pd

from wtrak.job.io import read_json, write_csv
from wtrak.job.runtime import run
from wtrak.labels.catalogue import DETECTORS, RANKINGS
from wtrak.labels.ranking import read_suspects
from wtrak.reporting.cells import count, percentage
from wtrak.reporting.plotting import provenance_line
from wtrak.reporting.tables import write_documents

TITLE = "Suspicious labels of the original data"


def rows_of(experiment, frame, tops):
    """Yield what is true of the top-ranked images by each score, and of all images."""
    sizes = [*(k for k in tops if k < len(frame)), len(frame)]
    for score in (name for name in RANKINGS if name in frame):
        ranked = frame.sort_values([score, "index"], ascending=[False, True])
        for k in sizes if score == RANKINGS[-1] else sizes[:-1]:
            top = ranked.head(k)
            row = {"experiment": experiment, "ranked_by": score, "top": k}
            if k == len(frame):
                row["ranked_by"] = "all"
            row["suggested_differs"] = (top["suggested_label"] != top["given_label"]).mean()
            if "people_label" in top:
                row["people_differ"] = (top["people_label"] != top["given_label"]).mean()
                differ = top[top["people_label"] != top["given_label"]]
                row["people_agree"] = (differ["people_label"] == differ["suggested_label"]).mean()
            row["with_copies"] = (top["copies"] > 0).sum()
            row["copies_differ"] = top["copies_differ"].sum()
            yield row


def main(smk):
    frames = dict(zip(smk.params.experiments, map(read_suspects, smk.input.suspects), strict=True))
    rows = [row for name, own in frames.items() for row in rows_of(name, own, smk.params.top)]
    columns = ["experiment", "ranked_by", "top", "suggested_differs"]
    columns += ["people_differ", "people_agree", "with_copies", "copies_differ"]
    frame = pd.DataFrame(rows, columns=columns)
    titles = {name: DETECTORS[name].title for name in RANKINGS} | {"all": "all images"}
    text = pd.DataFrame(
        {
            "experiment": frame["experiment"].map(smk.params.labels),
            "ranked by": frame["ranked_by"].map(titles),
            "top": [count(k, "images") for k in frame["top"]],
            "another label suggested": list(map(percentage, frame["suggested_differs"])),
            "people give another label": list(map(percentage, frame["people_differ"])),
            "and that is the suggested label": list(map(percentage, frame["people_agree"])),
            "have copies": [count(k, "images") for k in frame["with_copies"]],
            "under two labels": [count(k, "images") for k in frame["copies_differ"]],
        }
    )
    text.attrs["text_columns"] = 2
    footer = provenance_line([read_json(path) for path in smk.input.provenance], smk.params.notice)
    write_csv(smk.output.csv, frame)
    parts = {"The most suspicious images": text}
    write_documents(smk.output, TITLE, parts, footer, "tab:suspects")


if __name__ == "__main__":
    run(main, snakemake)
