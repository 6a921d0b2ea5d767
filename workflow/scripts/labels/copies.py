"""Find training examples that are copies of one another, exactly or nearly."""

import numpy as np
import pandas as pd

from wtrak.job.experiment import training_subset
from wtrak.job.io import (
    each_row,
    load_arrays,
    load_metadata,
    load_names,
    save_arrays,
    write_csv,
)
from wtrak.job.runtime import run, say, select_device
from wtrak.job.shown import shown_columns
from wtrak.job.training_labels import load_training_labels
from wtrak.labels.duplicates import Copies, exact_copies, find_copies, same_content


def table_of(copies, exact, index, labels, classes, **columns):
    """One row for each example that has copies, groups under two labels first, then the largest.

    Parameters
    ----------
    copies : wtrak.labels.duplicates.Copies
    exact : numpy.ndarray, shape (n,), bool
        Output of `duplicates.same_content`.
    index : numpy.ndarray, shape (n,)
        Row of each example in its dataset.
    labels : numpy.ndarray, shape (n,), integers
    classes : list of str
    columns : numpy.ndarray, shape (n,)
        Further columns.
    """
    frame = pd.DataFrame(
        {
            "group": copies.groups,
            "size": copies.sizes,
            "labels_differ": copies.conflicts(labels),
            "exact": exact,
            "index": index,
            **columns,
            "given_label": np.array(classes, dtype=object)[labels],
        }
    )
    frame = frame[frame["size"] > 1]
    return frame.sort_values(
        ["labels_differ", "size", "group", "index"],
        ascending=[False, False, True, True],
        ignore_index=True,
    )


def main(smk):
    features = load_arrays(smk.input.activations, ["train"])["train"]
    about = load_metadata(smk.input.dataset)
    given = load_training_labels(smk.input.dataset, smk.input.corrections)
    rows = training_subset(len(features), smk.params.n_train, smk.params.subset_seed, given.kept)
    labels = given.labels[rows]
    if smk.params.cosine == "exact":
        copies = Copies.of(exact_copies(features[rows]))
    else:
        copies = find_copies(
            features[rows],
            smk.params.cosine,
            block_size=smk.params.block_size,
            device=select_device(smk.params.device),
        )
    with_images = "train_images" in load_names(smk.input.dataset)

    def contents(index):
        if with_images:
            return each_row(smk.input.dataset, "train_images", index)
        # Adding 0 turns −0 into 0, which is equal but has other bytes.
        return (features[row] + 0.0 for row in index)

    exact = same_content(rows, copies.groups, contents)
    shown = shown_columns(smk.input.dataset, rows)
    table = table_of(copies, exact, rows, labels, about["classes"], **shown)
    groups = table.drop_duplicates("group")
    say(
        f"{len(table):,} of {len(rows):,} examples are copies, in {len(groups):,} groups; "
        f"{int(groups['labels_differ'].sum()):,} groups have more than one label"
    )
    save_arrays(smk.output.groups, {"groups": copies.groups, "train_index": rows.astype(np.int64)})
    write_csv(smk.output.table, table)


if __name__ == "__main__":
    run(main, snakemake)
