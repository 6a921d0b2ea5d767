"""Write the page on which a person looks at suspicious labels and corrects them."""

import numpy as np
import pandas as pd

from wtrak.job.io import each_row, load_metadata, load_names, read_csv, read_json, write_text
from wtrak.job.runtime import progress, run, say
from wtrak.job.shown import shown_columns
from wtrak.job.training_labels import load_training_labels
from wtrak.labels.ranking import read_suspects
from wtrak.reporting.plotting import provenance_line
from wtrak.reporting.suspects_page import (
    KEYS,
    lead_of,
    on_page,
    pictured_rows,
    rows_of,
    suspects_page,
    thumbnail,
)


def removed_examples(dataset, training):
    """Examples that corrections removed: columns index and given_label, and their names."""
    rows = np.flatnonzero(~training.kept)
    classes = np.array(load_metadata(dataset)["classes"], dtype=object)
    labels = classes[training.given[rows]]
    return pd.DataFrame(
        {"index": rows, "given_label": labels, **shown_columns(dataset, rows, KEYS)}
    )


def pictures_of(dataset, frame, most):
    """Row of the list and JPEG of each example that gets a picture; none for other data."""
    if "train_images" not in load_names(dataset):
        return []
    rows, out = pictured_rows(frame, most), []
    images = each_row(dataset, "train_images", frame["index"].iloc[rows])
    with progress(len(rows), "pictures", "images") as advance:
        for row, image in zip(rows, images, strict=True):
            out.append((row, thumbnail(image)))
            advance(1)
    return out


def main(smk):
    about = load_metadata(smk.input.dataset)
    whole = read_suspects(smk.input.suspects)
    frame = on_page(whole)
    training = load_training_labels(smk.input.dataset, smk.input.corrections)
    removed = removed_examples(smk.input.dataset, training)
    pictures = pictures_of(smk.input.dataset, frame, smk.params.pictures)
    text = suspects_page(
        rows_of(frame, read_csv(smk.input.copies), about["classes"], removed),
        pictures,
        title=f"Suspicious labels: {smk.params.title}",
        lead=lead_of(whole, read_csv(smk.input.estimates)),
        footer=provenance_line(
            [read_json(path) for path in smk.input.provenance], smk.params.notice
        ),
    )
    say(f"{len(frame):,} examples, {len(pictures):,} pictures, {len(text) / 1e6:,.1f} MB")
    write_text(smk.output[0], text)


if __name__ == "__main__":
    run(main, snakemake)
