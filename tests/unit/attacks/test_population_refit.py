"""Refits: which sets are removed, what is certified, and scores of a head that is trained anew.

Sets are found by enumeration: each point's own removal, by an explicit inverse.
"""

import numpy as np
import pandas as pd
import pytest
import torch

import refit as refit_script
from chain import call
from population import INPUTS, Population
from wtrak.errors import WtrakError
from wtrak.geometry.gradients import append_constant, residuals
from wtrak.geometry.head import logits, train_head
from wtrak.job.io import save_arrays

RECIPE = {"optimizer": "lbfgs", "weight_decay": 1e-2, "gradient_norm": 1e-9, "max_iterations": 500}
CPU = torch.device("cpu")
FILES = INPUTS | {"dataset": "dataset", "head": "head", "cross_leverage": "bounds"}
# Bounds of the cross-leverages by size: another number for each, so that none can be mistaken.
BOUNDS = {size: 0.7 * (size - 1) / size for size in (1, 2, 3, 5, 6, 7, 8)}


def refits(folder, p, monkeypatch, **changes):
    """The table of `main`, the scores that it was given instead of a refit's, and what it kept."""
    rng = np.random.default_rng(1)
    labels = {"train_labels": rng.integers(3, size=p.n + 4), "test_labels": np.zeros(p.m + 1, int)}
    save_arrays(folder / "dataset", labels, {"classes": ["a", "b", "c"]})
    save_arrays(folder / "head", {"weight": np.zeros((3, 3))})
    bounds = np.tile(list(BOUNDS.values()), (p.n, 1))
    save_arrays(folder / "bounds", {"bounds": bounds, "removals": np.array(list(BOUNDS))})
    given = {"recipe": RECIPE, "gradient": "loss", "test_label": "true_label", "ridge": p.ridge}
    given |= {"n_test": 2, "seed": 0, "n_points": 6, "pairs_per_test": 12, "removals": [1, 3]}
    given |= {"sets_per_size": 2, "block_size": 5, "device": "cpu"} | changes
    seen = []

    def refitted(features, labels, kept, points, tests, settings):
        seen.append((kept, rng.standard_normal((len(tests), len(points)))))
        np.testing.assert_array_equal(tests, p.test.index[: given["n_test"]])
        return seen[-1][1]

    monkeypatch.setattr(refit_script, "refitted_scores", refitted)
    call(refit_script, folder, {"table": "refit.csv"}, inputs=FILES, **given)
    return pd.read_csv(folder / "refit.csv"), seen, given


def expected_rows(p, seen, given):
    """The same rows from explicit inverses, with the choices that the seed makes."""
    rng = np.random.default_rng(given["seed"])
    count = min(given["n_points"], p.n // 2)
    panel = np.sort(rng.choice(p.n, size=count, replace=False))
    others = np.setdiff1d(np.arange(p.n), panel)
    pairs = []
    for t in range(given["n_test"]):
        chosen = rng.integers(count, size=(given["pairs_per_test"], 2))
        pairs += [(t, i, j) for i, j in chosen if i != j]
    gaps = [p.tau[t, panel[i]] - p.tau[t, panel[j]] for t, i, j in pairs]
    harms = []
    for (t, i, j), gap in zip(pairs, gaps, strict=True):
        alone = [p.gap_without(t, panel[i], panel[j], [k]) for k in range(p.n)]
        harms.append(np.sign(gap) * (gap - np.array(alone)))
    refits = iter(seen)
    for size in given["removals"]:
        worst = [np.maximum(np.sort(harm)[-size:], 0).sum() for harm in harms]
        proved = [proof(p, t, panel[i], panel[j], size) for t, i, j in pairs]
        for kind in ("random", "attack"):
            for k in range(given["sets_per_size"]):
                if kind == "random":
                    removed = rng.choice(others, size=size, replace=False)
                else:
                    harm = harms[rng.choice(len(pairs))]
                    removed = others[np.argsort(-harm[others])[:size]]
                kept, scores = next(refits)
                np.testing.assert_array_equal(kept, np.delete(p.index, removed))
                for row, (t, i, j) in enumerate(pairs):
                    after = p.gap_without(t, panel[i], panel[j], removed)
                    yield {
                        "test_index": p.test.index[t],
                        "train_index_i": p.index[panel[i]],
                        "train_index_j": p.index[panel[j]],
                        "removed": size,
                        "kind": kind,
                        "set": k,
                        "stable": abs(gaps[row]) > worst[row],
                        "proved": proved[row],
                        "flipped_fixed": after * gaps[row] < 0,
                        "flipped_refitted": (scores[t, i] - scores[t, j]) * gaps[row] < 0,
                    }


def proof(p, t, i, j, size):
    """Whether the removal bound, as it is written down, leaves a pair's order."""
    c, slack, r = p.psi[i] - p.psi[j], p.n - p.si, BOUNDS[size]
    gap, x2, y2 = p.a[t] @ c, p.tau[t] ** 2 / slack, (p.psi @ c) ** 2 / slack
    harm = -np.sign(gap) * p.tau[t] * (p.psi @ c) / slack
    rows = np.argsort(-harm)[:size]
    alpha2 = np.sqrt(y2[rows].sum() / x2[rows].sum())
    effects = (harm + r * (alpha2 * x2 + y2 / alpha2) / 2) / (1 - r**2)
    return abs(gap) > np.maximum(np.sort(effects)[::-1][:size], 0).sum()


@pytest.mark.parametrize("seed", [0, 2, 4])
def test_sets_and_counts_are_those_of_explicit_inverses(tmp_path, monkeypatch, seed):
    """A set would help the pair instead of narrowing its gap, or a pair count as stable."""
    p = Population(tmp_path, n=14, m=3, ridge=1.0, seed=seed)
    table, seen, given = refits(tmp_path, p, monkeypatch, removals=[1, 2, 6], seed=seed)
    expected = pd.DataFrame(list(expected_rows(p, seen, given)))
    pd.testing.assert_frame_equal(table, expected, check_dtype=False)
    by_size = table.groupby("removed")[["stable", "proved"]].mean()
    assert 1 > by_size["stable"].iloc[0] > by_size["stable"].iloc[-1] > 0
    # One removal is exact. Of more the proof covers less than the first order.
    assert by_size["proved"].iloc[0] == by_size["stable"].iloc[0]
    assert (table["stable"] | ~table["proved"]).all()
    assert by_size["proved"].iloc[1:].sum() < by_size["stable"].iloc[1:].sum()
    assert (table["stable"] & table["flipped_refitted"]).any()


def test_a_panel_is_at_most_half_and_everything_else_may_go(tmp_path, monkeypatch):
    """Nothing would be left to remove, or a point of a pair would go with its pair."""
    p = Population(tmp_path, n=13, m=3, ridge=1.0)
    changes = {"n_points": 99, "n_test": 3, "removals": [7], "sets_per_size": 1}
    table, seen, given = refits(tmp_path, p, monkeypatch, **changes)
    expected = pd.DataFrame(list(expected_rows(p, seen, given)))
    pd.testing.assert_frame_equal(table, expected, check_dtype=False)
    assert [len(kept) for kept, _ in seen] == [6, 6]
    with pytest.raises(WtrakError, match="8 deletions are asked of 7 training points"):
        refits(tmp_path, p, monkeypatch, **(changes | {"removals": [1, 8]}))
    with pytest.raises(WtrakError, match="4 test points are asked for, but there are 3"):
        refits(tmp_path, p, monkeypatch, **(changes | {"n_test": 4}))


@pytest.fixture(scope="module")
def trained():
    """Features of three classes that overlap, and the head of all training points."""
    rng = np.random.default_rng(0)
    labels = {"train": rng.integers(3, size=40), "test": rng.integers(3, size=9)}
    features = {
        split: (rng.standard_normal((len(y), 2)) + np.eye(3)[y][:, :2]).astype(np.float32)
        for split, y in labels.items()
    }
    weight, _, _ = train_head(append_constant(features["train"]), labels["train"], 3, RECIPE, CPU)
    return features, labels, weight


def settings_of(weight, **changes):
    given = {"n_classes": 3, "device": CPU, "recipe": RECIPE, "gradient": "loss", "ridge": 0.1}
    given |= {"test_label": "true_label", "reduced": True, "block_size": 7, "head": weight}
    return given | changes


@pytest.mark.parametrize(
    ("gradient", "test_label"),
    [("loss", "true_label"), ("margin", "predicted"), ("logit", "predicted")],
)
def test_scores_of_a_refit_are_those_of_the_head_of_what_is_kept(trained, gradient, test_label):
    """Labels, points, the ridge or the covariance would be those of another training set."""
    features, labels, weight = trained
    kept, points, tests = np.arange(0, 40, 2), np.array([1, 2, 5, 30]), np.array([7, 0, 3])
    anew, _, _ = train_head(
        append_constant(features["train"][kept]), labels["train"][kept], 3, RECIPE, CPU
    )

    def phi(split, rows):
        h = append_constant(features[split][rows]).astype(float)
        z = logits(anew, append_constant(features[split][rows]))
        of_head = split == "test" and test_label == "predicted"
        y = z.argmax(axis=1) if of_head else labels[split][rows]
        e = residuals(z, y, gradient)
        return np.einsum("nc,np->ncp", e, h).reshape(len(rows), -1), (y != labels[split][rows])

    of_kept, _ = phi("train", kept)
    q = of_kept.T @ of_kept / len(kept) + 0.1 * np.eye(9)
    of_tests, differ = phi("test", tests)
    expected = of_tests @ np.linalg.solve(q, phi("train", points)[0].T)
    found = refit_script.refitted_scores(
        features,
        labels,
        kept,
        points,
        tests,
        settings_of(weight, gradient=gradient, test_label=test_label, reduced=gradient != "logit"),
    )
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)
    # The head errs on some points of each split, so that its labels are others.
    z = logits(anew, append_constant(features["train"]))
    assert (z.argmax(axis=1) != labels["train"])[points].any()
    assert differ.any() == (test_label == "predicted")


def test_a_refit_starts_at_the_head(trained):
    """Every refit would take as long as the first training."""
    features, labels, weight = trained
    rows = np.arange(40)
    short = RECIPE | {"max_iterations": 1, "gradient_norm": 1e-8}
    settings = settings_of(weight, recipe=short)
    refit_script.refitted_scores(features, labels, rows, rows[:2], rows[:2], settings)
