"""What holding the features fixed costs: delete points for real, refit the head, compare orders."""

import numpy as np
import pandas as pd
import torch

from wtrak.certificates.pairs import (
    harmful_order,
    holds_to_first_order,
    removal_bound,
    scores_without,
)
from wtrak.errors import WtrakError
from wtrak.geometry.covariance import add_ridge, factorise, second_moment
from wtrak.geometry.gradients import append_constant, assemble, reduce_to_sum_zero
from wtrak.geometry.gram import inner_products
from wtrak.geometry.head import train_head
from wtrak.geometry.scores import whitened
from wtrak.job.experiment import load_geometry, residuals_of
from wtrak.job.io import load_arrays, load_metadata, write_csv
from wtrak.job.runtime import progress, run, say, select_device


def refitted_scores(features, labels, kept, points, tests, settings):
    """τ of test points against `points` after the head is trained anew on `kept` rows alone.

    Parameters
    ----------
    features : dict of str to numpy.ndarray
        Penultimate features of the dataset's splits.
    labels : dict of str to numpy.ndarray
        Labels of the splits; for test points, those that φ is taken at.
    kept, points, tests : numpy.ndarray
        Dataset rows: to train on, and to score.
    """
    n_classes, device = settings["n_classes"], settings["device"]
    train = append_constant(features["train"][kept])
    weight, _, _ = train_head(
        train,
        labels["train"][kept],
        n_classes,
        settings["recipe"],
        device,
        initial=settings["head"],
    )

    def gradients(split, rows):
        label = settings["test_label"] if split == "test" else "true_label"
        e, _ = residuals_of(
            features[split], rows, labels[split], weight, settings["gradient"], label
        )
        g = assemble(features[split], e, rows)
        return reduce_to_sum_zero(g) if settings["reduced"] else g

    block_size = settings["block_size"]
    q = second_moment(gradients("train", kept), block_size=block_size, device=device)
    factor = factorise(add_ridge(q, settings["ridge"]))
    scored = whitened(gradients("train", points), factor, block_size=block_size)
    queries = whitened(gradients("test", tests), factor, block_size=block_size)
    return (queries @ scored.T).cpu().numpy()


def main(smk):
    device = select_device(smk.params.device)
    block_size, m = smk.params.block_size, smk.params.n_test
    factor, train, test = load_geometry(
        smk.input.activations, smk.input.residuals, smk.input.factor, device
    )
    reduced = load_metadata(smk.input.factor)["sum_zero"]
    n = len(train)
    if m > len(test):
        raise WtrakError(f"{m} test points are asked for, but there are {len(test)}")
    test = test.take(slice(0, m))
    dataset = load_arrays(smk.input.dataset, ["train_labels", "test_labels"])
    settings = {
        "n_classes": len(load_metadata(smk.input.dataset)["classes"]),
        "device": device,
        "recipe": smk.params.recipe,
        "gradient": smk.params.gradient,
        "test_label": smk.params.test_label,
        "ridge": smk.params.ridge,
        "reduced": reduced,
        "block_size": block_size,
        # The optimum without the points is near the one with them.
        "head": load_arrays(smk.input.head, ["weight"])["weight"],
    }
    labels = {split: dataset[f"{split}_labels"].astype(np.int64) for split in ("train", "test")}
    features = load_arrays(smk.input.activations, ["train", "test"])
    rng = np.random.default_rng(smk.params.seed)
    panel = np.sort(rng.choice(n, size=min(smk.params.n_points, n // 2), replace=False))
    queries = whitened(test, factor, block_size=block_size)
    points = whitened(train.take(panel), factor, block_size=block_size)
    products = inner_products(train, torch.cat([queries, points]), factor, block_size=block_size)
    tau, gram = np.split(products, [m])
    slack = n - load_arrays(smk.input.scores, ["self_influence_train"])["self_influence_train"]
    others = np.setdiff1d(np.arange(n), panel)
    largest = max(smk.params.removals)
    if largest > len(others):
        raise WtrakError(
            f"{largest} deletions are asked of {len(others)} training points beside the panel"
        )

    pairs = []
    for t in range(m):
        chosen = rng.integers(len(panel), size=(smk.params.pairs_per_test, 2))
        pairs += [(t, i, j) for i, j in chosen if i != j]
    t, i, j = np.array(pairs).T
    gaps = tau[t, panel[i]] - tau[t, panel[j]]
    stored = load_arrays(smk.input.cross_leverage, ["bounds", "removals"])
    bounds = dict(zip(stored["removals"].tolist(), stored["bounds"].T, strict=True))
    effects = np.empty((len(pairs), largest))
    proved = {size: np.empty(len(pairs), dtype=bool) for size in smk.params.removals}
    for row, (test_row, first, second) in enumerate(pairs):
        gap, x, y = gaps[row], tau[test_row], gram[first] - gram[second]
        effects[row] = harmful_order(gap, x, y, slack, largest)[1]
        for size, holds in proved.items():
            holds[row] = abs(gap) > removal_bound(gap, x, y, slack, bounds[size], size)

    cases = pd.DataFrame(
        {
            "test_index": test.index[t],
            "train_index_i": train.index[panel[i]],
            "train_index_j": train.index[panel[j]],
        }
    )
    frames = []
    jobs = [
        (size, kind, k)
        for size in smk.params.removals
        for kind in ("random", "attack")
        for k in range(smk.params.sets_per_size)
    ]
    with progress(len(jobs), "refits", "sets") as advance:
        for size, kind, k in jobs:
            if kind == "random":
                removed = rng.choice(others, size=size, replace=False)
            else:  # the points whose removal narrows the gap of one pair most
                target = rng.choice(len(pairs))
                y = gram[i[target]] - gram[j[target]]
                ordered, _ = harmful_order(gaps[target], tau[t[target]], y, slack, n)
                removed = ordered[~np.isin(ordered, panel)][:size]
            psi = whitened(train.take(removed), factor, block_size=block_size)
            cross = (psi @ psi.T).cpu().numpy()
            fixed = scores_without(
                tau[:, panel], tau[:, removed], gram[:, removed], slack[removed], cross
            )
            kept = np.setdiff1d(train.index, train.index[removed])
            refitted = refitted_scores(
                features, labels, kept, train.index[panel], test.index, settings
            )
            flips = {
                f"flipped_{name}": np.sign(scores[t, i] - scores[t, j]) != np.sign(gaps)
                for name, scores in {"fixed": fixed, "refitted": refitted}.items()
            }
            frames.append(
                cases.assign(
                    removed=size,
                    kind=kind,
                    set=k,
                    stable=holds_to_first_order(gaps, effects, size),
                    proved=proved[size],
                    **flips,
                )
            )
            turned = ", ".join(f"{name} {flip.sum()}" for name, flip in flips.items())
            say(f"{size} removed ({kind}), {len(pairs)} pairs: {turned}")
            advance(1)
    write_csv(smk.output[0], pd.concat(frames))


if __name__ == "__main__":
    run(main, snakemake)
