"""Points are removed in the order that the arms say, and what follows is what is shown."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

import fig7_head_removal as fig7_script
import head_removal as head_removal_script
import head_removal_table as table10_script
from chain import RECIPE, RIDGE, call
from wtrak.certificates.lipschitz import Lipschitz
from wtrak.errors import WtrakError
from wtrak.geometry.gradients import append_constant
from wtrak.geometry.head import evaluate, train_head
from wtrak.job.experiment import training_subset
from wtrak.job.io import save_arrays, write_json
from wtrak.removal.catalogue import ARMS
from wtrak.removal.orders import kept, neighbour_agreement, orders, rankings

CPU = torch.device("cpu")


def made_up(n=12, m=5, seed=0):
    rng = np.random.default_rng(seed)
    trak = rng.standard_normal((m, n)).astype(np.float32)
    lipschitz = Lipschitz(rng.random(m), rng.random(n))
    return trak, rng.random(n), rng.random(n), lipschitz, rng.integers(3, size=n)


def test_every_arm_orders_by_what_it_is_called():
    """A curve would be drawn under the name of another."""
    trak, si, losses, lipschitz, labels = made_up()
    found = orders(rankings(trak, si, losses, lipschitz, 4.0), labels, np.random.default_rng(1))
    assert list(found) == list(ARMS)
    assert all(sorted(order) == list(range(12)) for order in found.values())
    assert found["helpful"][0] == trak.sum(axis=0).argmax()
    assert found["harmful"][0] == trak.sum(axis=0).argmin()
    assert found["magnitude"][0] == np.abs(trak).sum(axis=0).argmax()
    assert found["self_influence"][0] == si.argmax() and found["loss"][0] == losses.argmax()
    totals = np.zeros(12)
    for t in range(5):
        for i in range(12):
            if abs(trak[t, i]) > 4.0 * lipschitz.test[t] * lipschitz.train[i]:
                totals[i] += abs(trak[t, i])
    assert (np.diff(totals[found["certified"]]) <= 1e-6).all()
    assert list(found["certified"]) != list(found["magnitude"])


def test_balanced_removal_takes_the_same_share_of_every_class():
    """A class would vanish, and the loss rise for that alone."""
    labels = np.repeat([0, 1, 2], [10, 20, 70])
    trak, si = np.zeros((1, 100), np.float32), np.zeros(100)
    lipschitz = Lipschitz(np.ones(1), np.ones(100))
    found = orders(rankings(trak, si, si, lipschitz, 1.0), labels, np.random.default_rng(0))
    for share in (0.1, 0.3, 0.5):
        left = labels[kept(found["balanced"], share)]
        counts = np.bincount(left, minlength=3)
        np.testing.assert_allclose(counts, (1 - share) * np.array([10, 20, 70]), atol=1)


def test_seeds_draw_the_random_arms_alone():
    """A ranking would change with the seed, or the random arms not."""
    trak, si, losses, lipschitz, labels = made_up(n=40)
    first, again, other = (
        orders(rankings(trak, si, losses, lipschitz, 1.0), labels, np.random.default_rng(seed))
        for seed in (0, 0, 1)
    )
    for arm in ARMS:
        np.testing.assert_array_equal(first[arm], again[arm])
        same = np.array_equal(first[arm], other[arm])
        assert same == (arm not in ("random", "balanced"))


def test_kept_rows_are_those_beyond_the_removed():
    """Points would be removed from the wrong end, or all of them."""
    order = np.array([3, 1, 4, 0, 2])
    np.testing.assert_array_equal(kept(order, 0.4), [0, 2, 4])
    np.testing.assert_array_equal(kept(order, 0.01), [0, 1, 2, 3, 4])
    with pytest.raises(WtrakError, match="leaves none"):
        kept(order, 0.95)


def test_agreement_counts_other_points_only():
    """A point would agree with itself."""
    x = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    labels = np.array([0, 0, 1, 1, 1, 1])
    np.testing.assert_allclose(neighbour_agreement(x, labels, 2), [0.5, 0.5, 0.0, 1, 1, 1])
    same = np.zeros((4, 1))
    np.testing.assert_allclose(neighbour_agreement(same, np.array([0, 0, 0, 0]), 3), 1.0)


def test_removing_helpful_points_raises_the_loss_that_they_help():
    """A sign would be the wrong way round, and every arm the opposite of its name."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 30)
    h = np.column_stack([labels - 0.5 + 0.1 * rng.standard_normal(60), np.zeros(60), np.ones(60)])
    # Ten wrong labels pull the other way: no point is as harmful as these.
    given = labels.copy()
    given[25:35] = 1 - given[25:35]
    h = h.astype(np.float32)
    recipe = RECIPE | {"weight_decay": 1e-2}
    params = {"recipe": recipe, "gradient": "loss", "ridge": 1e-2, "n_test_scored": 20}
    params |= {"shares": [0.15], "neighbours": 3, "block_size": 16}
    test = h[rng.permutation(60)[:20]].copy()
    truth = (test[:, 0] > 0).astype(int)

    curves, arms, _ = head_removal_script.one_sample(
        (h, given), (test, truth), 2, 0.0, SimpleNamespace(**params), CPU, rng
    )
    loss = {row["arm"]: row["loss"] for row in curves}
    assert loss["helpful"] > loss["none"] > loss["harmful"]
    assert set(arms["harmful"][:9]) <= set(range(25, 35))


def test_script_refits_without_the_removed_points(data):
    """Curves would be of the same head, or of other rows."""
    folder, arrays, features = data
    write_json(folder / "frontier.json", {"at_paper_share": {"natural": {"epsilon": 0.01}}})
    save_arrays(folder / "said", {"aggre": ((arrays["train_labels"] + 1) % 3).astype(np.uint8)})
    outputs = {"curves": "curves.csv", "removed": "removed.csv"}
    call(
        head_removal_script,
        folder,
        outputs,
        inputs={"dataset": "dataset", "activations": "activations", "frontier": "frontier.json"}
        | {"human_labels": ["said"]},
        n_train=30,
        recipe=RECIPE,
        gradient="loss",
        ridge=RIDGE,
        n_test_scored=10,
        seeds=[0, 4],
        shares=[0.1, 0.3],
        neighbours=3,
        looked_at=0.2,
        block_size=8,
        device="cpu",
    )
    curves, removed = (pd.read_csv(folder / path) for path in outputs.values())
    assert len(curves) == 2 * (1 + 2 * len(ARMS)) and len(removed) == 2 * len(ARMS)
    assert (removed["people_differ"] == 1).all()

    rows = training_subset(40, 30, 4)
    h = append_constant(features["train"][rows])
    labels = arrays["train_labels"][rows].astype(int)
    weight, _, _ = train_head(h, labels, 3, RECIPE, CPU)
    test = append_constant(features["test"]), arrays["test_labels"].astype(int)
    at = curves.set_index(["seed", "arm", "share"])
    expected = evaluate(weight, *test)
    assert at.loc[(4, "none", 0.0), "loss"] == pytest.approx(expected["loss"], rel=1e-6)
    z = h.astype(float) @ weight.T
    losses = np.log(np.exp(z).sum(axis=1)) - z[np.arange(30), labels]
    left = np.sort(np.argsort(-losses, kind="stable")[9:])
    without, _, _ = train_head(h[left], labels[left], 3, RECIPE, CPU)
    expected = evaluate(without, *test)
    assert at.loc[(4, "loss", 0.3), "loss"] == pytest.approx(expected["loss"], rel=1e-5)
    write_json(folder / "r.json", {"dataset": "mine"})
    shared = {"inputs": {name: [path] for name, path in outputs.items()}}
    shared["inputs"]["provenance"] = ["r.json"]
    shared |= {"experiments": ["mine"], "labels": {"mine": "my data"}, "notice": ""}
    call(fig7_script, folder, {"svg": "f.svg", "pdf": "f.pdf"}, **shared)
    assert (folder / "f.svg").read_text("utf-8").startswith("<?xml")
    documents = {suffix: f"t.{suffix}" for suffix in ("csv", "numbers", "md", "tex", "html")}
    call(table10_script, folder, documents, **shared, looked_at=0.2)
    shown = (folder / "t.md").read_text("utf-8")
    assert "certified" in shown and "my data" in shown
    long = pd.read_csv(folder / "t.csv").set_index(["quantity", "arm", "of"])["value"]
    gain = curves[(curves["arm"] == "loss") & (curves["share"] == 0.3)]["accuracy"].mean()
    gain -= curves[curves["arm"] == "none"]["accuracy"].mean()
    assert long["accuracy_gain", "loss", "at 30 %"] == pytest.approx(gain)
    assert long["trait", "helpful", "people_differ"] == 1


def test_frontier_that_misses_the_paper_s_share_is_a_named_error(data):
    """The job would end in a TypeError that names neither the key nor the share."""
    folder, _, _ = data
    record = {"paper_share": 0.687, "at_paper_share": {"natural": None}}
    write_json(folder / "frontier.json", record)
    with pytest.raises(WtrakError, match=r"share, 0\.687.*frontier\.share_range"):
        call(
            head_removal_script,
            folder,
            {"curves": "curves.csv", "removed": "removed.csv"},
            inputs={"dataset": "dataset", "activations": "activations"}
            | {"frontier": "frontier.json", "human_labels": []},
            n_train=30,
            device="cpu",
        )


def test_a_score_at_its_radius_is_not_certified():
    """|τ| = ε·L: a distribution of that distance may turn the sign."""
    trak = np.array([[1.0, -1.0, 1.5]], np.float32)
    lipschitz = Lipschitz(np.array([2.0]), np.array([1.0, 1.0, 1.0]))
    found = rankings(trak, np.zeros(3), np.zeros(3), lipschitz, 0.5)
    np.testing.assert_array_equal(found["certified"], [0, 0, 1.5])


def test_balanced_removal_rounds_the_share_of_every_class():
    """Small classes would be removed first, or last."""
    sizes = np.array([7, 20, 73])
    labels = np.random.default_rng(1).permutation(np.repeat([0, 1, 2], sizes))
    order = orders({}, labels, np.random.default_rng(0))["balanced"]
    for share in np.linspace(0.0123, 0.98, 40):
        rounded = np.floor(share * sizes + 0.5).astype(int)
        removed = np.bincount(labels[order[: rounded.sum()]], minlength=3)
        np.testing.assert_array_equal(removed, rounded)


def test_agreement_among_more_duplicates_than_neighbours():
    """A point that is not among its own nearest would be compared with one too many."""
    x = np.concatenate([np.zeros((6, 2)), np.full((3, 2), 9.0)])
    labels = np.array([0, 0, 0, 0, 0, 0, 1, 1, 2])
    np.testing.assert_allclose(neighbour_agreement(x, labels, 2), [1] * 6 + [0.5, 0.5, 0])
