"""Read the images and labels of a folder, and list the files that cannot be used."""

import numpy as np
import pandas as pd

from wtrak.job.io import save_arrays, write_csv, write_json
from wtrak.job.runtime import progress, run, say
from wtrak.sources.datasets import content_sha256
from wtrak.sources.image_folder import read_image_folder


def main(smk):
    side, threads = smk.params.side, smk.threads
    with progress(smk.params.n_files, "images", "files") as advance:
        train = read_image_folder(smk.params.path, side, threads=threads, advance=advance)
        test = None
        if smk.params.test_path:
            test = read_image_folder(
                smk.params.test_path, side, classes=train.classes, threads=threads, advance=advance
            )
    arrays = {
        "train_images": train.images,
        "train_labels": train.labels,
        "test_images": test.images if test else train.images[:0],
        "test_labels": test.labels if test else train.labels[:0],
    }
    skipped = [
        {"split": split} | entry
        for split, part in (("train", train), ("test", test))
        for entry in (part.skipped if part else [])
    ]
    for entry in skipped:
        say(f"skipped in {entry['split']}: {entry['path']} ({entry['reason']})")
    counts = dict(zip(train.classes, np.bincount(train.labels).tolist(), strict=True))
    say(f"{len(train.files):,} images: {counts}; {len(skipped)} files skipped")
    record = {
        "dataset": smk.wildcards.dataset,
        "source": "a folder of images",
        "content_sha256": content_sha256(arrays),
        "classes": train.classes,
        "images_per_class": counts,
        "skipped": len(skipped),
    }
    save_arrays(smk.output.arrays, arrays, record | {"files": train.files})
    write_json(smk.output.record, record)
    write_csv(smk.output.skipped, pd.DataFrame(skipped, columns=["split", "path", "reason"]))


if __name__ == "__main__":
    run(main, snakemake)
