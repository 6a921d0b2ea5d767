"""Read the images and labels of a folder, list files that cannot be used, and odd images."""

import numpy as np
import pandas as pd

from wtrak.job.io import save_arrays, scratch_beside, write_csv, write_json
from wtrak.job.runtime import progress, run, say
from wtrak.sources.datasets import content_sha256
from wtrak.sources.image_files import rare_classes
from wtrak.sources.image_folder import read_image_folder


def main(smk):
    # Images are written to a file at once, because all of them may not fit into memory.
    with scratch_beside(smk.output.arrays) as folder:
        with progress(smk.params.n_files, "images", "files") as advance:

            def read(path, split, train=None):
                return read_image_folder(
                    path,
                    smk.params.side,
                    train=train,
                    threads=smk.threads,
                    advance=advance,
                    room=lambda shape, kind: np.memmap(folder / split, kind, "w+", shape=shape),
                )

            splits = {"train": read(smk.params.path, "train")}
            if smk.params.test_path:
                splits["test"] = read(smk.params.test_path, "test", splits["train"])
        save(smk, splits)


def save(smk, splits):
    """Write and log what was read, by split."""
    train, test = splits["train"], splits.get("test")
    arrays = {
        "train_images": train.images,
        "train_labels": train.labels,
        "test_images": test.images if test else train.images[:0],
        "test_labels": test.labels if test else train.labels[:0],
    }
    rows = [{"split": split} | entry for split, part in splits.items() for entry in part.skipped]
    skipped = pd.DataFrame(rows, columns=["split", "path", "reason"])
    for entry in skipped.itertuples():
        say(f"skipped in {entry.split}: {entry.path} ({entry.reason})")
    quality = pd.concat([part.quality.assign(split=split) for split, part in splits.items()])
    counts = dict(zip(train.classes, np.bincount(train.labels).tolist(), strict=True))
    say(f"{len(train.files):,} images: {counts}; {len(skipped)} files skipped")
    for name in rare_classes(counts):
        say(f"the class {name} has 1 image; 2 or more are needed to judge its label")
    for kind, levels in train.levels.items():
        say(f"{kind}: black is {levels.black:g} and white {levels.white:g} in all images")
    say(f"odd images: {quality['picture'].replace('', np.nan).value_counts().to_dict()}")
    record = {
        "dataset": smk.wildcards.dataset,
        "source": "a folder of images",
        "content_sha256": content_sha256(arrays),
        "classes": train.classes,
        "images_per_class": counts,
        "rare_classes": rare_classes(counts),
        "skipped": len(skipped),
    }
    about = {"files": train.files, "pictures": train.quality["picture"].tolist()}
    save_arrays(smk.output.arrays, arrays, record | about)
    write_json(smk.output.record, record)
    write_csv(smk.output.skipped, skipped)
    write_csv(smk.output.quality, quality[["split", *train.quality]])


if __name__ == "__main__":
    run(main, snakemake)
