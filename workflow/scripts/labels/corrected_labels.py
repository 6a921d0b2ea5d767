"""Apply a user's corrections to the training labels of a dataset."""

from wtrak.job.io import load_arrays, load_metadata
from wtrak.job.runtime import run, say
from wtrak.job.shown import shown_columns
from wtrak.job.training_labels import save_corrected
from wtrak.labels.corrections import DECISIONS, KEYS, apply_corrections, read_corrections


def main(smk):
    about = load_metadata(smk.input.dataset)
    labels = load_arrays(smk.input.dataset, ["train_labels"])["train_labels"]
    names = shown_columns(smk.input.dataset, names=KEYS)
    names["index"] = list(map(str, range(len(labels))))
    path = smk.params.path
    corrected = apply_corrections(read_corrections(path), names, labels, about["classes"], path)
    counts = {name: int((corrected.decisions == name).sum()) for name in DECISIONS}
    say(f"{path}: {counts}")
    save_corrected(smk.output[0], corrected)


if __name__ == "__main__":
    run(main, snakemake)
