"""Rank the labels of a setting of label noise by suspicion, for its first seed."""

import numpy as np

from wtrak.job.io import load_arrays, load_metadata, write_csv
from wtrak.job.runtime import run
from wtrak.labels.ranking import RANKINGS, suspects


def main(smk):
    classes = load_metadata(smk.input.dataset)["classes"]
    heads, scores = load_arrays(smk.input.heads), load_arrays(smk.input.scores)
    write_csv(
        smk.output[0],
        suspects(
            heads["train_index"],
            heads["given"][0],
            {name: scores[name][0] for name in RANKINGS},
            heads["out_of_fold"][0],
            classes,
            smk.params.rank_by,
            true_label=np.array(classes, dtype=object)[heads["true"]],
        ),
    )


if __name__ == "__main__":
    run(main, snakemake)
