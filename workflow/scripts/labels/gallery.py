"""Draw the most suspicious training images with their given and suggested labels."""

import math
from pathlib import PurePosixPath

import matplotlib.pyplot as plt

from wtrak.job.io import load_rows, read_json
from wtrak.job.runtime import run
from wtrak.labels.catalogue import DETECTORS
from wtrak.labels.ranking import read_suspects
from wtrak.reporting.palette import EUCLIDEAN, NEUTRAL
from wtrak.reporting.plotting import WIDTH, literal, provenance_line, save_figure, set_style

COLUMNS = 8
# Columns with better labels than the given ones, and how the caption describes a difference.
JUDGES = {"true_label": "wrong labels", "people_label": "most of three people give another label"}


def shortened(text, length):
    """A name for a figure, cut off if it is longer than `length`."""
    return literal(text if len(text) <= length else text[: length - 1] + "…")


def judged(frame):
    """Which given labels differ from better ones, and a description; None and "" without any."""
    for column, words in JUDGES.items():
        if column in frame:
            return (frame["given_label"] != frame[column]).to_numpy(), words
    return None, ""


def main(smk):
    set_style()
    suspects = read_suspects(smk.input.suspects)
    shown = suspects.head(smk.params.shown)
    rows = math.ceil(len(shown) / COLUMNS)
    figure, axes = plt.subplots(rows, COLUMNS, figsize=(WIDTH, 1.22 * rows + 0.3), squeeze=False)
    wrong, words = judged(shown)
    for axis in axes.flat:
        axis.set_axis_off()
    for k, (axis, example) in enumerate(zip(axes.flat, shown.itertuples(), strict=False)):
        place = slice(example.index, example.index + 1)
        image = load_rows(smk.input.dataset, "train_images", place)[0]
        step = max(image.shape[0] // 96, 1)
        axis.imshow(image[::step, ::step].squeeze(), cmap="gray", vmin=0, vmax=255)
        axis.set_axis_on()
        axis.set_xticks([])
        axis.set_yticks([])
        known = wrong is not None and wrong[k]
        for spine in axis.spines.values():
            spine.set_color(EUCLIDEAN if known else NEUTRAL)
            spine.set_linewidth(2.2 if known else 0.6)
        suggested = shortened(example.suggested_label, 14)
        arrow = "same" if example.suggested_label == example.given_label else f"→ {suggested}"
        axis.set_title(f"{shortened(example.given_label, 14)}\n{arrow}", fontsize=6.5, pad=2)
        name = f"{example.rank}"
        if "path" in shown:
            name += " · " + shortened(PurePosixPath(example.path).name, 14)
        axis.set_xlabel(name, fontsize=5.5, labelpad=1.5, color=NEUTRAL)
    score = DETECTORS[smk.params.rank_by].title
    figure.suptitle(f"{smk.params.title}: given label → suggested label, by {score}", fontsize=9.5)
    line = provenance_line([read_json(path) for path in smk.input.provenance], smk.params.notice)
    if wrong is not None:
        share = judged(suspects)[0].mean()
        line = (
            f"Framed: {words}, {wrong.sum()} of these {len(shown)}; "
            f"of all {len(suspects):,}, {100 * share:.1f} %. {line}"
        )
    save_figure(figure, smk.output.svg, smk.output.pdf, line)


if __name__ == "__main__":
    run(main, snakemake)
