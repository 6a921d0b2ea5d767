"""The chain from networks to removal curves and datamodeling scores, on a small problem."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import spearmanr

import datamodeling as datamodeling_script
import fig6_mlp_removal as fig6_script
import mlp_datamodels as datamodels_script
import mlp_models as models_script
import mlp_removal as removal_script
import mlp_scores as scores_script
import mlp_speed as speed_script
import mlp_subsets as subsets_script
import networks_table as table11_script
from chain import call
from wtrak.job.io import load_arrays, save_arrays, write_json
from wtrak.removal.attribution import dot_products, geometric
from wtrak.removal.catalogue import ARMS
from wtrak.removal.datamodels import METHODS, random_subsets
from wtrak.removal.mlp import Networks, outputs, train
from wtrak.removal.mlp_gradients import draw_projection

CPU = torch.device("cpu")
RECIPE = {"width": 6, "epochs": 8, "batch_size": 16, "learning_rate": 0.02}
CLASSES = ["a", "b", "c"]
SUBSETS = {"subsets": 12, "share": 0.5, "seed": 0}
N, M = 90, 30


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Images of three classes, the networks trained on them, their attributions and the rest."""
    folder = tmp_path_factory.mktemp("mlp")
    rng = np.random.default_rng(0)
    arrays = {}
    for split, count in (("train", N), ("test", M)):
        labels = rng.integers(3, size=count)
        images = 100 + 40 * rng.standard_normal((count, 3, 3, 1))
        images += 50 * np.eye(3)[labels][:, :, None, None]
        arrays[f"{split}_images"] = images.clip(0, 255).astype(np.uint8)
        arrays[f"{split}_labels"] = labels.astype(np.uint8)
    save_arrays(folder / "dataset", arrays, {"classes": CLASSES})
    write_json(folder / "r.json", {"dataset": "made up"})
    common = {"recipe": RECIPE, "device": "cpu"}
    data = {"dataset": "dataset"}
    call(models_script, folder, {"models": "models"}, inputs=data, models=3, **common)
    for k in range(3):
        call(
            scores_script,
            folder,
            {"scores": f"scores_{k}"},
            inputs=data | {"models": "models"},
            wildcards={"network": str(k)},
            projection=[4, 5],
            ridge=1e-3,
            certified_share=0.5,
            n_test=M,
            block_size=32,
            **SUBSETS,
            **common,
        )
    of = {"stack": 4, "n_test": M, "repeats": 3, "parts": 2, **SUBSETS, **common}
    for part in range(2):
        wildcards = {"part": str(part)}
        call(
            subsets_script, folder, {"s": f"subsets_{part}"}, inputs=data, wildcards=wildcards, **of
        )
    inputs = data | {"scores": [f"scores_{k}" for k in range(3)]}
    for share in ("0", "0.1", "0.4"):
        removal = {"stack": 5, "seeds": [0, 1], "wildcards": {"share": share}}
        call(removal_script, folder, {"c": f"removal_{share}"}, inputs=inputs, **removal, **common)
    inputs = {"scores": inputs["scores"], "subsets": ["subsets_0", "subsets_1"]}
    call(datamodels_script, folder, {"d": "datamodels.csv"}, inputs=inputs)
    return folder


def inputs_of(folder):
    arrays = load_arrays(folder / "dataset")
    pairs = []
    for split in ("train", "test"):
        x = arrays[f"{split}_images"].reshape(len(arrays[f"{split}_images"]), -1) / 255
        labels = torch.from_numpy(arrays[f"{split}_labels"].astype(np.int64))
        pairs.append((torch.from_numpy(x).float(), labels))
    return pairs


def networks_of(folder, epoch=-1):
    stored = load_arrays(folder / "models")
    return Networks(*(torch.from_numpy(stored[name][epoch]) for name in ("w1", "b1", "w2", "b2")))


def test_predictions_are_sums_over_the_members_of_subsets(folder):
    """Scores would be judged by other subsets than networks are trained on, or by their rest."""
    train_set, test_set = inputs_of(folder)
    network = networks_of(folder).take(slice(2, 3))
    members = random_subsets(N, 12, 0.5, 0)
    assert (members.sum(axis=1) == N / 2).all()
    stored = load_arrays(folder / "scores_2")
    dots = dot_products(network, train_set, test_set, 32)
    expected = np.stack([dots[:, chosen].sum(axis=1) for chosen in members], axis=1)
    for count in range(3):
        found = stored["predicted_gradient_dot"][count]
        np.testing.assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max())
    tracin = sum(
        dot_products(networks_of(folder, epoch).take(slice(2, 3)), train_set, test_set, 32)
        for epoch in range(RECIPE["epochs"])
    )
    expected = np.stack([tracin[:, chosen].sum(axis=1) for chosen in members], axis=1)
    np.testing.assert_allclose(
        stored["predicted_tracin"][0], expected, atol=1e-4 * np.abs(expected).max()
    )


def test_trak_weighs_by_how_wrong_the_averaged_networks_are(folder):
    """TRAK would be without its factor 1 − p, or with that of one network."""
    (x, y), test_set = inputs_of(folder)
    networks = networks_of(folder)
    projection = draw_projection(6, x.shape[1], (4, 5), 2, CPU)
    one = networks.take(slice(2, 3))
    scores = geometric(one, (x, y), test_set, "margin", projection, 1e-3, 32).whole
    p = torch.softmax(outputs(networks, x), dim=2)[:, torch.arange(N), y].double().numpy()
    members = random_subsets(N, 12, 0.5, 0)
    found = load_arrays(folder / "scores_2")["predicted_trak"]
    for count in (1, 3):
        expected = (scores * (1 - p[:count]).mean(axis=0)) @ members.T
        np.testing.assert_allclose(found[count - 1], expected, atol=1e-3 * np.abs(expected).max())


def test_networks_of_subsets_see_their_subset_alone(folder):
    """Datamodeling scores would be of networks of other examples, and near zero."""
    (x, y), (x_test, y_test) = inputs_of(folder)
    members = random_subsets(N, 12, 0.5, 0)
    stored = load_arrays(folder / "subsets_1")
    np.testing.assert_array_equal(stored["subset"], [1, 3, 5, 7, 9, 11])
    rows = torch.from_numpy(members[3].nonzero()[0])[None]
    network = train(x, y, rows, [3 * 3 + 2], RECIPE, 3, CPU)
    z = outputs(network, x_test)[0].detach().double()
    log_p = torch.log_softmax(z, dim=1)[range(M), y_test]
    np.testing.assert_allclose(
        stored["margins"][1, 2], (log_p - torch.log1p(-log_p.exp())).numpy(), atol=1e-3
    )


def test_removal_trains_on_what_is_left(folder):
    """Curves would be of all points, of the removed ones, or of another ranking."""
    (x, y), (x_test, y_test) = inputs_of(folder)
    whole, less = (pd.read_csv(folder / f"removal_{share}") for share in ("0", "0.4"))
    assert list(whole["arm"]) == ["none", "none"] and len(less) == 2 * len(ARMS)
    mean = sum(load_arrays(folder / f"scores_{k}")["arm_helpful"] for k in range(3)) / 3
    left = np.sort(np.argsort(-mean, kind="stable")[36:])
    for table, arm, rows in ((whole, "none", np.arange(N)), (less, "helpful", left)):
        network = train(x, y, torch.from_numpy(rows)[None], [1], RECIPE, 3, CPU)
        expected = torch.nn.functional.cross_entropy(outputs(network, x_test)[0], y_test)
        found = table[(table["arm"] == arm) & (table["seed"] == 1)]
        assert found["loss"].item() == pytest.approx(float(expected), rel=1e-3)


def test_removing_helpful_points_raises_the_loss_that_they_help(folder):
    """A sign would be the wrong way round, and every arm the opposite of its name."""
    means = pd.read_csv(folder / "removal_0.4").groupby("arm")["loss"].mean()
    assert means["helpful"] > means["random"] > means["harmful"]


def test_datamodel_scores_follow_from_predictions_and_networks(folder):
    """A method would be drawn with the score of another."""
    table = pd.read_csv(folder / "datamodels.csv")
    assert set(table["method"]) == {*METHODS, "ceiling"}
    counts = table.groupby(["method", "quantity"]).size()
    assert (counts.drop("ceiling") == 3).all() and counts["ceiling"].to_dict() == {"lds": 1}
    runs = np.empty((12, 3, M))
    for part in range(2):
        stored = load_arrays(folder / f"subsets_{part}")
        runs[stored["subset"]] = stored["margins"]
    actual = runs.mean(axis=1).T
    predicted = [load_arrays(folder / f"scores_{k}")["predicted_trak"][1] for k in range(2)]
    expected = [spearmanr(*pair).statistic for pair in zip(sum(predicted), actual, strict=True)]
    found = table[(table["method"] == "trak") & (table["networks"] == 2)].set_index("quantity")
    lds, share = found.loc["lds"], found.loc["share_of_perfect"]
    assert lds["value"] == pytest.approx(np.nanmean(expected), abs=1e-6)
    assert lds["low"] < lds["value"] < lds["high"]
    perfect = table.loc[table["method"] == "ceiling", "value"].item()
    assert share["value"] == pytest.approx(lds["value"] / perfect, rel=1e-9)
    assert share["low"] < share["value"] < share["high"]


def test_figures_and_table_are_drawn(folder):
    """Numbers would stay in files that nobody opens."""
    data = {"dataset": "dataset"}
    options = {"recipe": RECIPE, "device": "cpu", "stack": 2}
    call(speed_script, folder, {"s": "speed.csv"}, inputs=data, repeats=2, **options)
    speed = pd.read_csv(folder / "speed.csv")
    assert (speed["seconds"] > 0).all() and set(speed["way"]) == {"loop", "stack"}
    inputs = {"curves": [f"removal_{share}" for share in ("0", "0.1", "0.4")]}
    inputs["provenance"] = ["r.json"]
    images = {"svg": "f.svg", "pdf": "f.pdf"}
    call(fig6_script, folder, images, inputs=inputs, width=6, notice="")
    assert (
        "made up" in (folder / "f.svg").read_text("utf-8")
        or (folder / "f.pdf").stat().st_size > 1000
    )
    lds = {"scores": "datamodels.csv", "provenance": ["r.json"]}
    call(datamodeling_script, folder, images, inputs=lds, subsets=12, repeats=3, notice="")
    inputs |= {"scores": [f"scores_{k}" for k in range(3)], "datamodels": "datamodels.csv"}
    inputs["speed"] = "speed.csv"
    documents = {suffix: f"t.{suffix}" for suffix in ("csv", "numbers", "md", "tex", "html")}
    call(table11_script, folder, documents, inputs=inputs, stack=2, notice="")
    text = (folder / "t.md").read_text("utf-8")
    assert "a perfect prediction" in text and "side by side" in text and "40 %" in text
    assert "Weights" not in text


def test_a_point_without_gradient_has_nothing_certified():
    """0/0 would make the radius NaN, and with it no score of any point be certified."""
    trak = np.array([[0.0, 3.0, -1.0], [0.0, 2.0, 8.0]], np.float32)
    constants = SimpleNamespace(test=np.array([1.0, 2.0]), train=np.array([0.0, 1.0, 1.0]))
    # Radii: 0, 3, 1 and 0, 1, 4.
    assert scores_script.certain_at(trak, constants, 0.4) == 1.0
    assert scores_script.certain_at(trak, constants, 0.0) == 4.0
