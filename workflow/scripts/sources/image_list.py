"""Read the images that a table lists, list files that cannot be used, and odd images."""

from wtrak.job.image_dataset import rooms_in, save_image_dataset
from wtrak.job.io import scratch_beside
from wtrak.job.runtime import progress, run
from wtrak.sources.image_list import read_image_list


def main(smk):
    with scratch_beside(smk.output.arrays) as folder:
        with progress(smk.params.n_files, "images", "files") as advance:
            found = read_image_list(
                smk.params.path,
                smk.params.side,
                test_path=smk.params.test_path,
                threads=smk.threads,
                advance=advance,
                room=rooms_in(folder),
            )
        arrays = {f"{split}_images": images for split, images in found.images.items()}
        arrays |= {f"{split}_labels": labels for split, labels in found.labels.items()}
        save_image_dataset(
            smk.output,
            arrays,
            found.shown,
            found.skipped,
            found.quality,
            name=smk.wildcards.dataset,
            source="a list of images",
            classes=found.classes,
            levels=found.levels,
        )


if __name__ == "__main__":
    run(main, snakemake)
