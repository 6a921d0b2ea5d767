"""Data of one's own before the first job: their kind, their settings and their files."""

import copy
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from settings import CONFIG
from wtrak_plan import own_data
from wtrak_plan.configuration import name_own_data, problems_of
from wtrak_plan.experiments import Plan

X = np.ones((30, 2))
Y = np.arange(30) % 3


def plan_of(dataset):
    """The plan of the quick run with an experiment on data of one's own, which runs alone."""
    config = copy.deepcopy(CONFIG)
    block = config["experiments"]["digits"] | {"dataset": dataset, "n_train": "all"}
    config["experiments"]["mine"] = block
    config["run"]["experiments"] = ["mine"]
    assert problems_of(config) == []
    name_own_data(config)
    return Plan(config)


def problems(dataset):
    config = copy.deepcopy(CONFIG)
    config["experiments"]["mine"] = config["experiments"]["digits"] | {"dataset": dataset}
    return problems_of(config)


def npz(folder, name="x.npz", **more):
    np.savez(folder / name, X=X, y=Y, **more)
    return str(folder / name)


def a_list(folder, **more):
    (folder / "0.png").write_bytes(b"one")
    frame = pd.DataFrame({"path": [f"{k}.png" for k in range(30)], "label": Y}).assign(**more)
    frame.to_csv(folder / "list.csv", index=False)
    return str(folder / "list.csv")


SPLIT = np.array(["train", "test"] * 15)
WILDCARDS = SimpleNamespace(experiment="mine")


def test_auto_becomes_the_kind_of_the_data(tmp_path):
    """The wrong rule would read them, or a setting of another kind re-run everything."""
    auto = {"kind": "auto", "side": 8}
    found = plan_of(auto | {"path": npz(tmp_path)}).config["datasets"]["mine"]
    expected = {"kind": "features", "scale": "auto", "copies": "exact"}
    assert found == expected | {"path": str(tmp_path / "x.npz")}
    found = plan_of(auto | {"path": a_list(tmp_path), "scale": "rms"}).config["datasets"]["mine"]
    assert found == {"kind": "image_list", "path": str(tmp_path / "list.csv"), "side": 8}
    (tmp_path / "cat").mkdir()
    found = plan_of(auto | {"path": str(tmp_path)}).config["datasets"]["mine"]
    assert found == {"kind": "image_folder", "path": str(tmp_path), "side": 8}


def test_features_need_no_backbone(tmp_path):
    """Weights would be fetched that nothing uses."""
    plan = plan_of({"kind": "features", "path": npz(tmp_path), "copies": 0.9})
    assert plan.activations_of(WILDCARDS) == "results/activations/mine/features.safetensors"
    assert plan.all_records() == plan.records_of(WILDCARDS) == ["results/datasets/mine.json"]
    assert plan.with_images(["mine", "digits"]) == ["digits"]
    assert plan.chosen_own_images() == []
    assert plan.copies_cosine(WILDCARDS) == 0.9
    digits = SimpleNamespace(experiment="digits")
    assert plan.copies_cosine(digits) == plan.config["copies"]["cosine"]


def test_features_have_no_size_that_varies(tmp_path):
    """The same numbers would stand under the names of several sizes."""
    plan = plan_of({"kind": "features", "path": npz(tmp_path)})
    plan.config["assumptions"]["run"] = "all"
    of_features, of_images = plan.variations("mine"), plan.variations("digits")
    assert {"size_32", "margin"} <= set(of_images)
    assert set(of_images) - set(of_features) == {"size_32", "size_64", "size_128"}


@pytest.mark.parametrize("form", ["none", "split", "file"])
@pytest.mark.parametrize("kind", ["features", "image_list"])
def test_test_points_come_by_a_split_or_a_second_file(tmp_path, kind, form):
    """Certificates would not be reachable, or be planned for nothing."""
    make = npz if kind == "features" else a_list
    dataset = {"kind": kind, "side": 8}
    dataset["path"] = make(tmp_path, **({"split": SPLIT} if form == "split" else {}))
    if form == "file":
        (tmp_path / "test").mkdir()
        dataset["test_path"] = make(tmp_path / "test")
    plan = plan_of(dataset)
    assert plan.experiments() == ([] if form == "none" else ["mine"])
    (train, test), exact = plan.own_rows()["mine"], kind == "features"
    assert train == 30 if exact else train >= 30
    assert (test > 0) == (form != "none")


def test_both_a_split_and_a_second_file_are_refused(tmp_path):
    """One of them would be left out."""
    path = npz(tmp_path, split=SPLIT)
    found = problems({"kind": "features", "path": path, "test_path": npz(tmp_path, "y.npz")})
    assert len(found) == 1 and "experiments.mine.dataset.path" in found[0]
    assert "has a split, and test_path names test rows; drop one of the two" in found[0]


def test_test_data_are_of_the_kind_of_the_training_data(tmp_path):
    """A job would read images where features are."""
    dataset = {"kind": "auto", "side": 8, "path": npz(tmp_path), "test_path": a_list(tmp_path)}
    (found,) = problems(dataset)
    assert found.startswith("experiments.mine.dataset.test_path: ")
    assert "holds no features" in found


def content(dataset):
    return plan_of(dataset).content_of(SimpleNamespace(dataset="mine"))


def test_results_follow_every_file_of_features(tmp_path):
    """New labels would keep the results of the old ones."""
    np.save(tmp_path / "features.npy", X)
    np.save(tmp_path / "labels.npy", Y)
    dataset = {"kind": "features", "path": str(tmp_path)}
    first = content(dataset)
    assert content(dataset) == first
    np.save(tmp_path / "labels.npy", Y[:, None].astype(np.int32)[:, 0])
    assert content(dataset) != first


def test_results_follow_a_list_and_every_image_of_it(tmp_path):
    """An image that was exchanged would keep the results of the old one."""
    dataset = {"kind": "image_list", "path": a_list(tmp_path), "side": 8}
    first = content(dataset)
    assert content(dataset) == first
    (tmp_path / "0.png").write_bytes(b"other")
    second = content(dataset)
    # One that was missing.
    (tmp_path / "1.png").write_bytes(b"new")
    third = content(dataset)
    a_list(tmp_path, id=range(30))
    assert len({first, second, third, content(dataset)}) == 4
    listing = own_data.listing({"kind": "image_list", "path": dataset["path"]})
    assert len(listing) == 31 and listing[5][1:] == (None, None, None)


def test_what_needs_images_refuses_features(tmp_path):
    """A job would fail on an array that features do not have."""
    config = copy.deepcopy(CONFIG)
    config["datasets"]["mine"] = {"kind": "features", "path": npz(tmp_path)}
    config["ood"]["datasets"] = ["mine"]
    config["retraining"]["dataset"] = "mine"
    task = {"data": "mine", "model": "logistic", "penalty": 0.1, "classes": [0, 1], "pool": 1}
    config["wrif"]["tasks"]["odd"] = task
    config["experiments"]["mine"] = config["experiments"]["digits"] | {"dataset": "mine"}
    config["claims"]["stand_ins"]["cifar10"] = "mine"
    keys = {line.split(": ")[0] for line in problems_of(config)}
    expected = {"ood.datasets", "retraining.dataset", "wrif.tasks.odd.data"}
    assert expected | {"claims.stand_ins.cifar10"} <= keys


@pytest.mark.parametrize("kind", ["features", "image_list", "auto"])
@pytest.mark.parametrize("with_test", [False, True])
def test_corrections_are_taken_for_every_kind_without_test_points(tmp_path, kind, with_test):
    """Labels of a list could not be corrected, or certificates be of other labels."""
    (tmp_path / "c.csv").write_text("index,decision\n", encoding="utf-8")
    split = {"split": ["train", "train", "test"] * 10} if with_test else {}
    path = npz(tmp_path, **split) if kind == "features" else a_list(tmp_path, **split)
    dataset = {"kind": kind, "path": path, "corrections": str(tmp_path / "c.csv")}
    dataset |= {} if kind == "features" else {"side": 8}
    found = problems(dataset)
    message = "experiments.mine.dataset.corrections: certificates are of the data as they are"
    assert [line.startswith(message) for line in found] == [True] * with_test
    if not with_test:
        plan = plan_of(dataset)
        assert plan.corrected_datasets() == ["mine"]
        assert str(tmp_path) not in str(plan.published_config())


def test_an_image_of_a_list_that_may_no_longer_be_read_is_noticed(tmp_path, monkeypatch):
    """It would be skipped without a new list of what is skipped."""
    dataset = {"kind": "image_list", "path": a_list(tmp_path), "side": 8}
    first = content(dataset)
    monkeypatch.setattr(own_data.os, "access", lambda path, mode: path.name != "0.png")
    assert content(dataset) != first


def test_sizes_of_images_say_nothing_of_features(tmp_path):
    """A network that takes 224 px alone would stop a run on features, which need no network."""
    config = copy.deepcopy(CONFIG)
    config["backbones"]["vit"] = {"architecture": "vit_b_16", "weights": "untrained", "seed": 0}
    config["experiments"]["mine"] = config["experiments"]["digits"] | {
        "dataset": {"kind": "auto", "path": npz(tmp_path), "side": 8},
        "backbone": "vit",
        "image_size": 32,
    }
    config["run"]["experiments"] = ["mine"]
    assert problems_of(config) == []
    config["experiments"]["mine"]["dataset"]["path"] = a_list(tmp_path)
    assert [line.split(":")[0] for line in problems_of(config)] == ["experiments.mine.image_size"]


def test_images_are_counted_that_may_be_read(tmp_path):
    """Memory would be asked for too few images, or progress never end."""
    listed = plan_of({"kind": "image_list", "path": a_list(tmp_path), "side": 8})
    assert listed.n_images("mine") == 30
    for name in ("a/1.png", "a/2.png", "b/1.png", "b/2.png", "b/.hidden", "notes.txt"):
        (tmp_path / "f" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "f" / name).write_bytes(b"x")
    folder = str(tmp_path / "f")
    plan = plan_of({"kind": "auto", "path": folder, "test_path": folder, "side": 8})
    assert plan.n_images("mine") == 8
