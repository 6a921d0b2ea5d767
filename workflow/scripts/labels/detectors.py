"""Score one experiment's labels with every detector, and measure how well each finds wrong ones."""

import numpy as np
import pandas as pd

from wtrak.geometry.gradients import append_constant
from wtrak.job.io import load_arrays, save_arrays, write_csv
from wtrak.job.runtime import progress, run, select_device
from wtrak.labels.detectors import all_detectors
from wtrak.labels.noise import curves, detection


def main(smk):
    heads = load_arrays(smk.input.heads)
    features = load_arrays(smk.input.activations, ["train"])["train"]
    activations, true = append_constant(features[heads["train_index"]]), heads["true"]
    groups = load_arrays(smk.input.copies, ["groups"])["groups"]
    rows, drawn, scores = [], [], {}
    by_seed = ("seeds", "given", "weights", "out_of_fold", "tracin")
    with progress(len(heads["seeds"]), "detectors", "seeds") as advance:
        for seed, given, weight, unseen, tracin in zip(
            *(heads[name] for name in by_seed), strict=True
        ):
            scores_of_seed = all_detectors(
                weight,
                unseen.astype(np.float64),
                tracin,
                activations,
                given,
                gradient=smk.params.gradient,
                ridge=smk.params.ridge,
                penalty=smk.params.penalty,
                rng=np.random.default_rng(seed),
                groups=groups,
                block_size=smk.params.block_size,
                device=select_device(smk.params.device),
            )
            wrong = given != true
            for name, values in scores_of_seed.items():
                row = {"experiment": smk.wildcards.experiment, "noise": smk.wildcards.noise}
                row |= {"seed": seed, "detector": name}
                rows.append(row | detection(values, wrong))
                drawn += [
                    pd.DataFrame({"seed": seed, "detector": name, "curve": curve, "x": x, "y": y})
                    for curve, (x, y) in curves(values, wrong).items()
                ]
                scores.setdefault(name, []).append(values.astype(np.float32))
            advance(1)
    write_csv(smk.output.table, pd.DataFrame(rows))
    write_csv(smk.output.curves, pd.concat(drawn))
    save_arrays(
        smk.output.scores,
        {name: np.stack(values) for name, values in scores.items()}
        | {"wrong": heads["given"] != true, "train_index": heads["train_index"]},
    )


if __name__ == "__main__":
    run(main, snakemake)
