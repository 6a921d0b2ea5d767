"""Read the images and labels of a folder, list files that cannot be used, and odd images."""

import pandas as pd

from wtrak.job.image_dataset import rooms_in, save_image_dataset
from wtrak.job.io import scratch_beside
from wtrak.job.runtime import progress, run
from wtrak.sources.image_folder import read_image_folder


def main(smk):
    with scratch_beside(smk.output.arrays) as folder:
        with progress(smk.params.n_files, "images", "files") as advance:

            def read(path, train=None):
                return read_image_folder(
                    path,
                    smk.params.side,
                    train=train,
                    threads=smk.threads,
                    advance=advance,
                    room=rooms,
                )

            rooms = rooms_in(folder)
            splits = {"train": read(smk.params.path)}
            if smk.params.test_path:
                splits["test"] = read(smk.params.test_path, splits["train"])
        save(smk, splits)


def save(smk, splits):
    """Write and log what was read, by split."""
    train, test = splits["train"], splits.get("test")
    quality = pd.concat([part.quality.assign(split=split) for split, part in splits.items()])
    save_image_dataset(
        smk.output,
        {
            "train_images": train.images,
            "train_labels": train.labels,
            "test_images": test.images if test else train.images[:0],
            "test_labels": test.labels if test else train.labels[:0],
        },
        {"path": train.files},
        [{"split": split} | entry for split, part in splits.items() for entry in part.skipped],
        quality[["split", *train.quality]],
        name=smk.wildcards.dataset,
        source="a folder of images",
        classes=train.classes,
        levels=train.levels,
    )


if __name__ == "__main__":
    run(main, snakemake)
