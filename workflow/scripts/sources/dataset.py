"""Fetch the images and labels of one dataset from the first source with the right content."""

from wtrak.job.io import save_arrays, write_json
from wtrak.job.runtime import run
from wtrak.sources.datasets import load_dataset


def main(smk):
    arrays, record = load_dataset(
        smk.wildcards.dataset,
        smk.params.sources,
        smk.params.content_sha256,
        directory=smk.resources.data_directory,
        mirrors=[folder for folder in smk.resources.data_mirrors.split(":") if folder],
    )
    save_arrays(smk.output.arrays, arrays, record)
    write_json(smk.output.record, record)


if __name__ == "__main__":
    run(main, snakemake)
