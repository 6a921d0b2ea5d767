"""What attacks, refits and constants are taken over, when a panel is a part of the population."""

import numpy as np
import pandas as pd
import pytest
import torch

import audit as audit_script
import lipschitz_tightness as tightness_script
import refit as refit_script
from chain import call
from population import INPUTS, Population, outside
from wtrak.attacks.perturbations import coordinates, move_attack, reweighting_attack, spread_attack
from wtrak.errors import WtrakError
from wtrak.job.io import save_arrays

SEED = 5


# --- audit.py ---


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    """Pairs of 6 out of 16 points under attack, 4 others at hand to be moved."""
    folder = tmp_path_factory.mktemp("audit")
    rng = np.random.default_rng(SEED)
    loud, pairs_of = outside(16, 6, rng)
    p = Population(folder, m=4, loud={loud: 2.5}, ridge=0.3)
    given = {"seed": SEED, "n_points": 6, "n_sources": 4, "restarts": 1, "ridge": 0.3}
    given |= {"n_test": 3, "pairs_per_test": 5, "block_size": 5, "device": "cpu"}
    call(audit_script, folder, {"table": "audit.csv"}, inputs=INPUTS, **given)
    others = rng.choice(16, size=2, replace=False)
    moved = np.union1d(np.argsort(-p.si)[:2], others)
    panel = np.concatenate([pairs_of, np.setdiff1d(moved, pairs_of)])
    drawn = []
    for t, seed in enumerate(rng.integers(2**63, size=3)):
        chosen = np.random.default_rng(seed).integers(6, size=(5, 2))
        drawn += [(t, pairs_of[a], pairs_of[b]) for a, b in chosen if a != b]
    return p, panel, drawn, pd.read_csv(folder / "audit.csv")


def test_audited_radii_are_those_of_the_whole_population(audited):
    """An attack in a smaller ball than R's would seem to respect every certificate."""
    p, _, drawn, table = audited
    assert len(table) == len(drawn)
    for (t, i, j), (_, row) in zip(drawn, table.iterrows(), strict=True):
        assert row["test_index"] == p.test.index[t]
        assert (row["train_index_i"], row["train_index_j"]) == (p.index[i], p.index[j])
        assert row["capped"] == (p.si_test[t] > 2 * p.si.max())
        assert row["one_deletion"] == p.unit["natural"]
        a, c, gap = p.a[t], p.psi[i] - p.psi[j], abs(p.tau[t, i] - p.tau[t, j])
        norm, product = np.linalg.norm(a), np.linalg.norm(a) * np.linalg.norm(c)
        tight = [p.radius * (norm * np.linalg.norm(p.psi[k]) + abs(p.tau[t, k])) for k in (i, j)]
        capped = min(norm, np.sqrt(2) * p.radius)
        paper = [2 * p.radius * capped * np.linalg.norm(p.psi[k]) for k in (i, j)]
        expected = {
            "paper": gap / sum(paper),
            "tight": gap / sum(tight),
            "direct": gap / (p.radius * (product + gap)),
        }
        for method, radius in expected.items():
            assert row[method] == pytest.approx(radius, rel=1e-7)


def test_attacks_are_made_on_the_pair_and_the_panel(audited):
    """An attack would be on another pair, with other points, or in another ball."""
    p, panel, drawn, table = audited
    gram = p.psi[panel] @ p.psi[panel].T
    for (t, i, j), (_, row) in zip(drawn, table.iterrows(), strict=True):
        c = p.psi[i] - p.psi[j]
        difference, norm = np.linalg.norm(c), np.linalg.norm(p.a[t])
        pair = coordinates(p.tau[t], p.psi @ c, p.si, norm, difference, p.a[t] @ c)
        expected = {
            "move": move_attack(pair, p.radius, restarts=1),
            "spread": spread_attack(pair, p.radius, panel, gram, restarts=1),
            "reweighting": reweighting_attack(pair, panel, gram),
        }
        for kind, cost in expected.items():
            assert row[f"attack_{kind}"] == pytest.approx(cost, rel=1e-4)
        kinds = [f"attack_{kind}" for kind in ("move", "spread", "reweighting", "deletion")]
        assert row["attack"] == row[kinds].min()


def test_deletions_are_those_of_the_data_without_the_point(audited):
    """The ridge would shrink with the data, or the distance be that of another deletion."""
    p, panel, drawn, table = audited
    distances = np.linalg.norm(p.psi[:, None] - p.psi, axis=2).sum(axis=1) / (16 * 15)
    turned = 0
    for (t, i, j), (_, row) in zip(drawn, table.iterrows(), strict=True):
        gap, cost = p.tau[t, i] - p.tau[t, j], np.inf
        for k in panel:
            kept = np.delete(p.phi, k, axis=0)
            q = kept.T @ kept / 15 + p.ridge * np.eye(p.phi.shape[1])
            if gap * (p.phi_test[t] @ np.linalg.solve(q, p.phi[i] - p.phi[j])) <= 0:
                cost = min(cost, distances[k])
        assert row["attack_deletion"] == pytest.approx(cost, rel=1e-7)
        turned += np.isfinite(cost)
    assert 0 < turned < len(drawn)


# --- lipschitz_tightness.py ---


def test_constants_are_of_the_ball_and_slopes_of_the_panel(tmp_path):
    """R of the panel would make the exact constant no constant beyond it."""
    rng = np.random.default_rng(SEED)
    panel = rng.choice(16, size=6, replace=False)
    loud = int(np.setdiff1d(np.arange(16), panel)[0])
    p = Population(tmp_path, m=4, loud={loud: 6.0})
    given = {"n_test": 3, "seed": SEED, "n_points": 6, "pairs_per_test": 5}
    given |= {"block_size": 5, "device": "cpu"}
    call(tightness_script, tmp_path, {"table": "table.csv"}, inputs=INPUTS, **given)
    table = pd.read_csv(tmp_path / "table.csv")
    expected = [(t, panel[i]) for t in range(3) for i in rng.integers(6, size=5)]
    assert len(table) == 15
    for (t, i), (_, row) in zip(expected, table.iterrows(), strict=True):
        norm, other = np.linalg.norm(p.a[t]), np.linalg.norm(p.psi[i])
        assert (row["test_index"], row["train_index"]) == (p.test.index[t], p.index[i])
        assert row["si_test"] == pytest.approx(norm**2, rel=1e-8)
        assert row["si_train"] == pytest.approx(other**2, rel=1e-8)
        assert row["paper"] == pytest.approx(2 * p.radius * norm * other, rel=1e-8)
        capped = min(norm, np.sqrt(2) * p.radius)
        assert row["paper_capped"] == pytest.approx(2 * p.radius * capped * other, rel=1e-8)
        exact = p.radius * (norm * other + abs(p.tau[t, i]))
        assert row["exact"] == pytest.approx(exact, rel=1e-8)
        s = (p.psi[panel] @ p.a[t]) * (p.psi[panel] @ p.psi[i])
        apart = np.linalg.norm(p.psi[panel][:, None] - p.psi[panel], axis=2) + np.diag([np.inf] * 6)
        slope = (np.abs(s[:, None] - s) / apart).max()
        assert row["on_training_points"] == pytest.approx(slope, rel=1e-7)
    # All points and test points there are, nearer to each other than 1.
    p = Population(tmp_path, m=4, ridge=100.0)
    outputs = {"table": "table.csv"}
    more = {"n_test": 4, "n_points": 99}
    call(tightness_script, tmp_path, outputs, inputs=INPUTS, **(given | more))
    table = pd.read_csv(tmp_path / "table.csv")
    apart = np.linalg.norm(p.psi[:, None] - p.psi, axis=2) + np.diag([np.inf] * 16)
    assert apart.min() < 1 and len(table) == 20
    for _, row in table.iterrows():
        t = int(np.flatnonzero(p.test.index == row["test_index"])[0])
        i = int(np.flatnonzero(p.index == row["train_index"])[0])
        s = p.tau[t] * (p.psi @ p.psi[i])
        slope = (np.abs(s[:, None] - s) / apart).max()
        assert row["on_training_points"] == pytest.approx(slope, rel=1e-6)
    with pytest.raises(WtrakError, match="5 test points are asked for, but there are 4"):
        call(
            tightness_script,
            tmp_path,
            {"table": "table.csv"},
            inputs=INPUTS,
            **(given | {"n_test": 5}),
        )


# --- refit.py ---

RECIPE = {"optimizer": "lbfgs", "weight_decay": 1e-2, "gradient_norm": 1e-8, "max_iterations": 500}


REFIT_INPUTS = INPUTS | {"dataset": "dataset", "head": "head", "cross_leverage": "bounds"}


def save_bounds(folder, n, removals):
    """Bounds of cross-leverages so large that nothing but a single removal is proved."""
    bounds = np.where(np.array(removals) > 1, 0.999, 0.0) * np.ones((n, 1))
    save_arrays(folder / "bounds", {"bounds": bounds, "removals": np.array(removals)})


def test_refits_count_the_pairs_that_turn(tmp_path):
    """Flips would be counted of other sets, other pairs, or among all and not the certified."""
    p = Population(tmp_path, n=14, m=3, ridge=1.0)
    rng = np.random.default_rng(0)
    labels = {"train": rng.integers(3, size=18), "test": rng.integers(3, size=4)}
    arrays = {f"{split}_labels": values for split, values in labels.items()}
    save_arrays(tmp_path / "dataset", arrays, {"classes": ["a", "b", "c"]})
    save_arrays(tmp_path / "head", {"weight": np.zeros((3, 3))})
    given = {"recipe": RECIPE, "gradient": "loss", "test_label": "true_label", "ridge": 1.0}
    given |= {"n_test": 2, "seed": SEED, "n_points": 6, "pairs_per_test": 12, "removals": [1, 3]}
    given |= {"sets_per_size": 2, "block_size": 5, "device": "cpu"}
    save_bounds(tmp_path, 14, [1, 3])
    call(refit_script, tmp_path, {"table": "refit.csv"}, inputs=REFIT_INPUTS, **given)
    table = pd.read_csv(tmp_path / "refit.csv")

    rng = np.random.default_rng(SEED)
    panel = np.sort(rng.choice(14, size=6, replace=False))
    others = np.setdiff1d(np.arange(14), panel)
    pairs = []
    for t in range(2):
        chosen = rng.integers(6, size=(12, 2))
        pairs += [(t, panel[i], panel[j]) for i, j in chosen if i != j]
    gaps = np.array([p.tau[t, i] - p.tau[t, j] for t, i, j in pairs])

    def harm(t, i, j):
        """How far each removal alone narrows the gap."""
        alone = [p.gap_without(t, i, j, [k]) for k in range(14)]
        gap = p.tau[t, i] - p.tau[t, j]
        return np.sign(gap) * (gap - np.array(alone))

    harms = [np.sort(harm(*pair))[::-1] for pair in pairs]
    settings = {"n_classes": 3, "device": torch.device("cpu"), "recipe": RECIPE, "ridge": 1.0}
    settings |= {"gradient": "loss", "test_label": "true_label", "reduced": True, "block_size": 5}
    settings["head"] = np.zeros((3, 3))
    rows = iter(table.itertuples())
    flips = 0
    for size in (1, 3):
        stable = np.array(
            [abs(gap) > np.maximum(of[:size], 0).sum() for gap, of in zip(gaps, harms, strict=True)]
        )
        for kind in ("random", "attack"):
            for k in range(2):
                if kind == "random":
                    removed = rng.choice(others, size=size, replace=False)
                else:
                    order = np.argsort(-harm(*pairs[rng.choice(len(pairs))]))
                    removed = order[~np.isin(order, panel)][:size]
                after = np.array([p.gap_without(*pair, removed) for pair in pairs])
                kept = np.setdiff1d(p.index, p.index[removed])
                scores = refit_script.refitted_scores(
                    p.features, labels, kept, p.index, p.test.index[:2], settings
                )
                anew = np.array([scores[t, i] - scores[t, j] for t, i, j in pairs])
                for case, (t, i, j) in enumerate(pairs):
                    row = next(rows)
                    assert (row.removed, row.kind, row.set) == (size, kind, k)
                    points = (row.test_index, row.train_index_i, row.train_index_j)
                    assert points == (p.test.index[t], p.index[i], p.index[j])
                    assert row.stable == stable[case]
                    assert row.proved == (stable[case] and size == 1)
                    assert row.flipped_fixed == (after[case] * gaps[case] < 0)
                    assert row.flipped_refitted == (anew[case] * gaps[case] < 0)
                    flips += row.flipped_fixed + row.flipped_refitted
    assert flips > 0


def test_refits_leave_the_panel_alone_or_say_why_not(tmp_path):
    """Points of pairs would be removed with their pair."""
    Population(tmp_path, n=14, m=3, ridge=1.0)
    arrays = {"train_labels": np.zeros(18, int), "test_labels": np.zeros(4, int)}
    save_arrays(tmp_path / "dataset", arrays, {"classes": ["a", "b", "c"]})
    save_arrays(tmp_path / "head", {"weight": np.zeros((3, 3))})
    given = {"recipe": RECIPE, "gradient": "loss", "test_label": "true_label", "ridge": 1.0}
    given |= {"n_test": 2, "seed": 0, "n_points": 6, "pairs_per_test": 3, "sets_per_size": 1}
    given |= {"removals": [1], "block_size": 5, "device": "cpu"}
    save_bounds(tmp_path, 14, [1, 8, 9])
    inputs = REFIT_INPUTS
    with pytest.raises(WtrakError, match="8 training points beside the panel"):
        call(refit_script, tmp_path, {"t": "t.csv"}, inputs=inputs, **given | {"removals": [1, 9]})
