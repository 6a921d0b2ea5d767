"""Compute the penultimate activations of every image of a dataset; a killed job resumes."""

import shutil
import time
from dataclasses import asdict
from pathlib import Path

from wtrak.geometry.backbone import forward_activations
from wtrak.job.backbone import load_backbone
from wtrak.job.io import (
    load_length,
    load_metadata,
    load_rows,
    save_arrays,
    sha256_file,
)
from wtrak.job.runtime import describe_device, progress, run, say, select_device
from wtrak.job.shards import compute_in_shards, shard_folder


def main(smk):
    lengths = {
        split: load_length(smk.input.dataset, f"{split}_images") for split in ("train", "test")
    }
    device = select_device(smk.params.device)
    model, preprocessing = load_backbone(smk.input.weights, smk.wildcards.size, device)
    settings = {
        "architecture": load_metadata(smk.input.weights)["architecture"],
        "preprocessing": asdict(preprocessing),
        "batch_size": smk.params.batch_size,
        "precision": smk.params.precision,
        "device": describe_device(device),
    }
    identity = settings | {
        "dataset": load_metadata(smk.input.dataset)["content_sha256"],
        "weights": sha256_file(smk.input.weights),
        "code": list(smk.params.code),
    }
    # Snakemake deletes the outputs of a killed job, but not this folder beside them.
    folder = shard_folder(Path(smk.output[0]).with_suffix(".shards"), identity)
    total = sum(lengths.values())
    say(f"{total:,} images at {preprocessing.crop} px on {settings['device']}")
    start = time.monotonic()
    out = {}
    with progress(total, "activations", "images") as advance:
        for split, length in lengths.items():
            if not length:
                # A user's folder of images may have no test set.
                out[split] = out["train"][:0]
                continue

            def compute(first, last, name=f"{split}_images"):
                return forward_activations(
                    model,
                    load_rows(smk.input.dataset, name, slice(first, last)),
                    preprocessing,
                    batch_size=settings["batch_size"],
                    precision=settings["precision"],
                    first_row=first,
                )

            out[split] = compute_in_shards(
                compute, length, smk.params.shard_size, folder, split, advance
            )
    say(f"done in {time.monotonic() - start:,.0f} s")
    save_arrays(smk.output[0], out, settings)
    shutil.rmtree(folder.parent)


if __name__ == "__main__":
    run(main, snakemake)
