"""The audit's own numbers on a small population: panels at their limits, deletions, caps, ties."""

import numpy as np
import pandas as pd
import pytest
import torch

import audit as audit_script
from chain import call
from population import INPUTS, Population
from wtrak.attacks.perturbations import coordinates
from wtrak.errors import WtrakError
from wtrak.job.io import load_arrays, save_arrays

GIVEN = {"seed": 3, "n_points": 5, "n_sources": 4, "restarts": 1, "ridge": 0.3, "n_test": 2}
GIVEN |= {"pairs_per_test": 6, "block_size": 5, "device": "cpu"}


def audited(folder, **changes):
    call(audit_script, folder, {"table": "audit.csv"}, inputs=INPUTS, **(GIVEN | changes))
    return pd.read_csv(folder / "audit.csv")


def test_all_points_and_test_points_may_be_audited_and_no_more(tmp_path):
    """A panel would be refused where it holds every point, or test points be missing unsaid."""
    p = Population(tmp_path, n=8, m=3, ridge=0.3)
    table = audited(tmp_path, n_points=99, n_sources=99, n_test=3)
    rng = np.random.default_rng(3)
    assert sorted(rng.choice(8, size=8, replace=False)) == list(range(8))
    rng.choice(8, size=8, replace=False)
    drawn = []
    for t, seed in enumerate(rng.integers(2**63, size=3)):
        chosen = np.random.default_rng(seed).integers(8, size=(6, 2))
        drawn += [(p.test.index[t], p.index[i], p.index[j]) for i, j in chosen if i != j]
    names = ["test_index", "train_index_i", "train_index_j"]
    assert list(table[names].itertuples(index=False, name=None)) == drawn
    with pytest.raises(WtrakError, match="4 test points are to be audited, but there are 3"):
        audited(tmp_path, n_test=4)


def test_a_test_point_is_capped_beyond_twice_the_largest_self_influence(tmp_path):
    """The paper's cap would be said to bind where it does not, and its failures be excused."""
    p = Population(tmp_path, n=8, m=4, ridge=0.3)
    s = load_arrays(tmp_path / "scores")
    factors = np.array([1.5, 2.0, 2.5, 2.0 + 1e-9])
    save_arrays(tmp_path / "scores", s | {"self_influence_test": factors * p.si.max()})
    table = audited(tmp_path, n_test=4)
    for t, said in zip(p.test.index, [False, False, True, True], strict=True):
        of = table.loc[table["test_index"] == t, "capped"]
        assert len(of) and (of == said).all()


def test_differences_below_one_and_of_duplicates(tmp_path, monkeypatch):
    """Rounding would make a root of a negative number, or a small difference count as 1."""
    monkeypatch.setattr(audit_script, "attacks", lambda *arguments: {"move": 1.0})
    p = Population(tmp_path, n=24, m=2, ridge=300.0)
    table = audited(tmp_path, n_points=24, pairs_per_test=20)
    for _, row in table.iterrows():
        t = int(np.flatnonzero(p.test.index == row["test_index"])[0])
        i, j = (int(np.flatnonzero(p.index == row[f"train_index_{k}"])[0]) for k in "ij")
        c = p.psi[i] - p.psi[j]
        gap, product = abs(p.a[t] @ c), np.linalg.norm(p.a[t]) * np.linalg.norm(c)
        assert 0 < np.linalg.norm(c) < 1
        assert row["direct"] == pytest.approx(gap / (p.radius * (product + gap)), rel=1e-6)
    # Ten directions, each thrice at lengths that differ by rounding.
    rng = np.random.default_rng(0)
    p = Population(tmp_path, n=30, m=2, ridge=0.3)
    rows = np.repeat(rng.standard_normal((10, 3)), 3, axis=0)
    rows -= rows.mean(axis=1, keepdims=True)
    features = np.zeros((34, 2), np.float32)
    features[p.index] = np.repeat(rng.standard_normal((10, 2)), 3, axis=0)
    save_arrays(tmp_path / "activations", p.features | {"train": features})
    residuals = load_arrays(tmp_path / "residuals")
    residuals["train_residuals"] = rows * (1 + 1e-15 * rng.integers(-3, 4, size=(30, 1)))
    save_arrays(tmp_path / "residuals", residuals)
    table = audited(tmp_path, n_points=30, pairs_per_test=200)
    assert table.notna().all(axis=None)
    places = {row: place // 3 for place, row in enumerate(p.index)}
    alike = table["train_index_i"].map(places) == table["train_index_j"].map(places)
    assert alike.sum() > 10
    for method in ("paper", "tight", "direct"):
        assert (table[method][alike] < 1e-6).all()
        assert (table[method][~alike] > 1e-3).any()


def test_deletions_are_counted_where_a_deletion_has_rank_one(tmp_path):
    """The part of the ridge that stays would be taken away with the point."""
    p = Population(tmp_path, n=12, m=3, ridge=2.0)
    panel = np.array([1, 4, 5, 11])
    factor = torch.from_numpy(load_arrays(tmp_path / "factor")["factor"])
    train, test = audit_script.load_geometry(
        *(tmp_path / INPUTS[name] for name in ("activations", "residuals", "factor")), "cpu"
    )[1:]
    deletions = audit_script.Deletions(factor, 2.0, train, test, panel, block_size=5)
    shifted = np.linalg.inv(p.q - 2.0 / 12 * np.eye(9))
    np.testing.assert_allclose(deletions.x, p.phi_test @ shifted @ p.phi[panel].T, rtol=1e-8)
    np.testing.assert_allclose(
        deletions.gram, p.phi[panel] @ shifted @ p.phi[panel].T, rtol=1e-8, atol=1e-10
    )
    assert deletions.n == 12


def costs_of(seed, i, j, restarts):
    """Attacks on one pair of ten points in the plane, some of them far out."""
    rng = np.random.default_rng(seed)
    psi = rng.standard_normal((10, 2)) * rng.lognormal(0, 1, (10, 1))
    a = rng.standard_normal(2)
    c, radius = psi[i] - psi[j], np.linalg.norm(psi, axis=1).max()
    norms = np.linalg.norm(a), np.linalg.norm(c)
    pair = coordinates(psi @ a, psi @ c, (psi**2).sum(axis=1), *norms, a @ c)
    return audit_script.attacks(pair, radius, np.arange(10), psi @ psi.T, restarts)


def test_more_restarts_find_what_fewer_miss():
    """More starts would be asked for and not made, and a certificate seem safer than it is."""
    assert costs_of(94, 4, 5, 1)["move"] == np.inf
    assert costs_of(94, 4, 5, 6)["move"] < np.inf
    assert costs_of(72, 0, 1, 6)["spread"] < 0.8 * costs_of(72, 0, 1, 1)["spread"]
