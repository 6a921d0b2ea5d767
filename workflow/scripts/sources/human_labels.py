"""Fetch human labels of a dataset's training images, and check that they belong to it."""

from wtrak.errors import WtrakError
from wtrak.job.io import load_arrays, save_arrays, write_json
from wtrak.job.runtime import run
from wtrak.sources.datasets import content_sha256
from wtrak.sources.fetch import SourceError, describe_source, first_working
from wtrak.sources.human_labels import check_alignment, decode_cifar10n


def main(smk):
    expected = smk.params.content_sha256

    def use(path, _source):
        labels = decode_cifar10n(path)
        digest = content_sha256(labels)
        if digest != expected:
            raise SourceError(
                f"decoded, but its labels have sha256 {digest[:16]}…, expected {expected[:16]}…"
            )
        return labels

    labels, source, _ = first_working(
        "human labels",
        smk.params.sources,
        use,
        directory=smk.resources.data_directory,
        mirrors=[folder for folder in smk.resources.data_mirrors.split(":") if folder],
    )
    true = load_arrays(smk.input.dataset, ["train_labels"])["train_labels"]
    if len(true) != len(labels["clean"]):
        raise WtrakError(
            f"human labels are for {len(labels['clean']):,} images, but {smk.wildcards.dataset} "
            f"has {len(true):,}"
        )
    check_alignment(labels, true)
    record = {
        "human_labels": "CIFAR-10N",
        "source": describe_source(source),
        "content_sha256": expected,
        "wrong": {name: float((values != true).mean()) for name, values in labels.items()},
    }
    save_arrays(smk.output.labels, labels, record)
    write_json(smk.output.record, record)


if __name__ == "__main__":
    run(main, snakemake)
