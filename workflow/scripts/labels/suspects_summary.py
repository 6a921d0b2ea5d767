"""Write what a list of suspicious labels holds, in a few numbers."""

from wtrak.job.io import read_csv, write_json
from wtrak.job.runtime import run
from wtrak.job.training_labels import load_training_labels
from wtrak.labels.ranking import read_suspects
from wtrak.labels.summaries import summary


def main(smk):
    labels = load_training_labels(smk.input.dataset, smk.input.corrections)
    skipped = read_csv(smk.input.skipped[0]) if smk.input.skipped else None
    write_json(
        smk.output[0],
        summary(
            read_suspects(smk.input.suspects),
            read_csv(smk.input.estimates),
            read_csv(smk.input.copies),
            skipped,
            removed=int((~labels.kept).sum()),
        ),
    )


if __name__ == "__main__":
    run(main, snakemake)
