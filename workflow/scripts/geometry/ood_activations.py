"""Compute activations of foreign inputs: other datasets, blurred and inverted images, noise."""

import numpy as np

from wtrak.errors import WtrakError
from wtrak.geometry.backbone import forward_activations
from wtrak.geometry.ood import SYNTHETIC, synthetic_images
from wtrak.job.backbone import load_backbone
from wtrak.job.io import load_arrays, save_arrays
from wtrak.job.runtime import progress, run, select_device


def main(smk):
    n = smk.params.n_images
    test = load_arrays(smk.input.dataset, ["test_images"])["test_images"]
    if n > len(test):
        raise WtrakError(f"ood.n_images is {n:,}, but there are {len(test):,} test images")
    rng = np.random.default_rng(smk.params.seed)
    images = {
        kind: synthetic_images(kind, test[:n], sigma=smk.params.blur_sigma, rng=rng)
        for kind in SYNTHETIC
    }
    for name, path in zip(smk.params.datasets, smk.input.others, strict=True):
        images[name] = load_arrays(path, ["test_images"])["test_images"][:n]
    device = select_device(smk.params.device)
    model, preprocessing = load_backbone(smk.input.weights, smk.wildcards.size, device)
    out, size = {}, smk.params.batch_size
    with progress(sum(map(len, images.values())), "activations", "images") as advance:
        for name, pixels in images.items():
            parts = []
            for start in range(0, len(pixels), size):
                batch = pixels[start : start + size]
                parts.append(
                    forward_activations(
                        model,
                        batch,
                        preprocessing,
                        batch_size=size,
                        precision=smk.params.precision,
                        first_row=start,
                    )
                )
                advance(len(batch))
            out[name] = np.concatenate(parts)
    # The rule ood takes the labels of blurred and inverted images from the test set.
    save_arrays(smk.output[0], out)


if __name__ == "__main__":
    run(main, snakemake)
