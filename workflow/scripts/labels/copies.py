"""Find training examples that are copies of one another, exactly or nearly."""

import numpy as np
import pandas as pd

from wtrak.job.experiment import training_subset
from wtrak.job.io import load_arrays, load_metadata, save_arrays, write_csv
from wtrak.job.runtime import run, say, select_device
from wtrak.job.shown import shown_columns
from wtrak.labels.duplicates import Copies, exact_copies, find_copies


def table_of(copies, index, labels, classes, **columns):
    """One row for each example that has copies, groups under two labels first, then the largest.

    Parameters
    ----------
    copies : wtrak.labels.duplicates.Copies
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
    rows = training_subset(len(features), smk.params.n_train, smk.params.subset_seed)
    labels = load_arrays(smk.input.dataset, ["train_labels"])["train_labels"][rows].astype(np.int64)
    if smk.params.cosine == "exact":
        copies = Copies.of(exact_copies(features[rows]))
    else:
        copies = find_copies(
            features[rows],
            smk.params.cosine,
            block_size=smk.params.block_size,
            device=select_device(smk.params.device),
        )
    shown = shown_columns(smk.input.dataset, rows)
    table = table_of(copies, rows, labels, about["classes"], **shown)
    groups = table.drop_duplicates("group")
    say(
        f"{len(table):,} of {len(rows):,} examples are copies, in {len(groups):,} groups; "
        f"{int(groups['labels_differ'].sum()):,} groups have more than one label"
    )
    save_arrays(smk.output.groups, {"groups": copies.groups, "train_index": rows.astype(np.int64)})
    write_csv(smk.output.table, table)


if __name__ == "__main__":
    run(main, snakemake)
