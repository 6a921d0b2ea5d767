"""Read the images that a table lists, and list the files that cannot be used."""

import numpy as np
import pandas as pd

from wtrak.job.io import save_arrays, write_csv, write_json
from wtrak.job.runtime import progress, run, say
from wtrak.job.shown import packed_columns
from wtrak.sources.datasets import content_sha256
from wtrak.sources.image_list import read_image_list


def main(smk):
    with progress(smk.params.n_files, "images", "files") as advance:
        found = read_image_list(
            smk.params.path,
            smk.params.side,
            test_path=smk.params.test_path,
            threads=smk.threads,
            advance=advance,
        )
    arrays = {f"{split}_images": images for split, images in found.images.items()}
    arrays |= {f"{split}_labels": labels for split, labels in found.labels.items()}
    for entry in found.skipped:
        say(f"skipped in {entry['split']}: {entry['path']} ({entry['reason']})")
    counts = np.bincount(found.labels["train"], minlength=len(found.classes)).tolist()
    per_class = dict(zip(found.classes, counts, strict=True))
    say(f"{sum(counts):,} training images: {per_class}; {len(found.skipped)} files skipped")
    record = {
        "dataset": smk.wildcards.dataset,
        "source": "a list of images",
        "content_sha256": content_sha256(arrays),
        "classes": found.classes,
        "images_per_class": per_class,
        "skipped": len(found.skipped),
    }
    arrays |= packed_columns(found.shown)
    save_arrays(smk.output.arrays, arrays, record | {"shown": list(found.shown)})
    write_json(smk.output.record, record)
    skipped = pd.DataFrame(found.skipped, columns=["split", "path", "reason"])
    write_csv(smk.output.skipped, skipped)


if __name__ == "__main__":
    run(main, snakemake)
