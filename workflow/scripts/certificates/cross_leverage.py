"""How strongly removals of training points of one experiment can act on one another, at most."""

import numpy as np

from wtrak.errors import WtrakError
from wtrak.geometry.cross_leverage import largest_cross_leverages, row_bounds
from wtrak.job.experiment import load_geometry
from wtrak.job.io import load_arrays, save_arrays
from wtrak.job.runtime import progress, run, say, select_device


def main(smk):
    device, removals = select_device(smk.params.device), smk.params.removals
    factor, train, _ = load_geometry(
        smk.input.activations, smk.input.residuals, smk.input.factor, device
    )
    n = len(train)
    if max(removals) >= n:
        raise WtrakError(f"{max(removals)} removals are asked of {n} training points")
    si = load_arrays(smk.input.scores, ["self_influence_train"])["self_influence_train"]
    # One more than is summed, so that the bound on what is not listed is not the last one summed.
    count = max(removals)
    with progress(2 * n, "cross-leverages", "examples") as advance:
        largest = largest_cross_leverages(
            train, factor, si, count, block_size=smk.params.block_size, advance=advance
        )
    bounds = np.stack([row_bounds(*largest, size) for size in removals], axis=1)
    for size, of_size in zip(removals, bounds.T, strict=True):
        say(f"{size} removals: at most {of_size.max():.3f}, median {np.median(of_size):.3f}")
    save_arrays(smk.output[0], {"bounds": bounds, "removals": np.array(removals)})


if __name__ == "__main__":
    run(main, snakemake)
