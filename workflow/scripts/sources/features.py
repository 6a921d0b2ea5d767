"""Read features that a user has computed: labels into the dataset, scaled features beside it."""

import numpy as np

from wtrak.job.io import save_arrays, write_json
from wtrak.job.row_writer import rows_to_write
from wtrak.job.runtime import progress, run, say
from wtrak.job.shown import packed_columns
from wtrak.sources.annotations import listed
from wtrak.sources.image_files import rare_classes
from wtrak.sources.scaling import ContentHash, scaled_blocks, survey


def main(smk):
    found = survey(smk.params.path, smk.params.test_path, smk.params.scale)
    shapes = {split: found.shape(split) for split in ("train", "test")}
    counts = np.bincount(found.labels["train"], minlength=len(found.classes)).tolist()
    per_class = dict(zip(found.classes, counts, strict=True))
    say(f"training rows: {shapes['train'][0]:,} of {shapes['train'][1]:,} features, {per_class}")
    say(f"test rows: {shapes['test'][0]:,}; scale: {found.scaling.name}")
    if found.scaling.constant:
        say(f"columns that do not vary (from 0): {listed(found.scaling.constant)}")
    for rare in rare_classes(per_class):
        say(f"the class {rare} has 1 row; 2 or more are needed to judge its label")
    content = ContentHash(found.labels)
    about = {"scale": found.scaling.name}
    total = sum(rows for rows, _ in shapes.values())
    with (
        progress(total, "features", "rows") as advance,
        rows_to_write(smk.output.activations, shapes, about) as append,
    ):
        for split, block in scaled_blocks(found):
            append(split, block)
            content.add(split, block)
            advance(len(block))
    record = about | {
        "dataset": smk.wildcards.dataset,
        "source": "features of one's own",
        "content_sha256": content.hexdigest(),
        "classes": found.classes,
        "rows_per_class": per_class,
        "rare_classes": rare_classes(per_class),
        "features": shapes["train"][1],
    }
    arrays = {f"{split}_labels": values for split, values in found.labels.items()}
    arrays |= packed_columns(found.shown)
    save_arrays(smk.output.arrays, arrays, record | {"shown": list(found.shown)})
    write_json(smk.output.record, record)


if __name__ == "__main__":
    run(main, snakemake)
