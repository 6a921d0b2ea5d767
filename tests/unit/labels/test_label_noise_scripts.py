"""Wrong labels reach the head, the residuals and self-influence, and no other labels do."""

import numpy as np
import pandas as pd
import pytest
import torch

import copies as copies_script
import detectors as detectors_script
import noisy_heads as noisy_heads_script
from chain import RECIPE, RIDGE, call
from reference import covariance, explicit
from wtrak.geometry.gradients import Gradients, append_constant, residuals
from wtrak.geometry.head import logits, train_head
from wtrak.geometry.leave_one_out import leave_one_out
from wtrak.job.experiment import training_subset
from wtrak.job.io import load_arrays, save_arrays
from wtrak.labels.head_scores import cross_entropy
from wtrak.labels.noise import detection, flip_labels
from wtrak.labels.out_of_fold import draw_folds, out_of_fold_logits

SGD = {
    "optimizer": "sgd",
    "epochs": 3,
    "learning_rate": 0.1,
    "momentum": 0.0,
    "batch_size": 10,
    "weight_decay": 0.0,
    "seed": 1,
}
NOISE = {"kind": "uniform", "rate": 0.2}


def find_copies(folder, dataset="dataset", activations="activations"):
    """Groups and table of the copies among 30 training points."""
    call(
        copies_script,
        folder,
        {"groups": "copies", "table": "copies.csv"},
        inputs={"dataset": dataset, "activations": activations, "corrections": []},
        n_train=30,
        subset_seed=3,
        cosine=0.99,
        block_size=7,
        device="cpu",
    )
    return load_arrays(folder / "copies"), pd.read_csv(folder / "copies.csv")


def run_noise(folder, noise, seeds=(0, 3), human=()):
    """Heads on wrong labels, and every detector on them."""
    inputs = {"dataset": "dataset", "activations": "activations"}
    find_copies(folder)
    call(
        noisy_heads_script,
        folder,
        {"heads": "heads", "fits": "fits.csv"},
        inputs=inputs | {"human_labels": list(human), "copies": "copies"},
        n_train=30,
        subset_seed=3,
        recipe=RECIPE,
        noise=noise,
        seeds=list(seeds),
        folds=3,
        tracin=SGD,
        device="cpu",
    )
    call(
        detectors_script,
        folder,
        {"table": "detection.csv", "curves": "curves.csv", "scores": "detectors"},
        inputs={"activations": "activations", "heads": "heads", "copies": "copies"},
        wildcards={"experiment": "mine", "noise": "some"},
        gradient="loss",
        ridge=RIDGE,
        penalty=RECIPE["weight_decay"],
        block_size=7,
        device="cpu",
    )
    return load_arrays(folder / "heads"), load_arrays(folder / "detectors")


def test_wrong_labels_reach_head_residuals_and_self_influence(data):
    """The detectors would look for errors in labels that the head never saw."""
    folder, arrays, features = data
    heads, scores = run_noise(folder, NOISE)
    rows = heads["train_index"]
    true = arrays["train_labels"][rows].astype(int)
    h = append_constant(features["train"][rows])
    np.testing.assert_array_equal(heads["true"], true)
    for k, seed in enumerate((0, 3)):
        given = flip_labels(true, "uniform", 0.2, 3, np.random.default_rng(seed))
        assert (given != true).sum() == 6
        np.testing.assert_array_equal(heads["given"][k], given)
        weight, _, _ = train_head(h, given, 3, RECIPE, torch.device("cpu"))
        np.testing.assert_allclose(heads["weights"][k], weight, atol=1e-7)
        on_true, _, _ = train_head(h, true, 3, RECIPE, torch.device("cpu"))
        assert np.abs(weight - on_true).max() > 1e-3
        e = residuals(h.astype(float) @ weight.T, given, "loss")
        phi = explicit(Gradients(e, h, np.arange(30)))
        si = np.einsum("nd,de,ne->n", phi, np.linalg.inv(covariance(phi, RIDGE)), phi)
        np.testing.assert_allclose(scores["self_influence"][k], si, rtol=1e-4)
        np.testing.assert_array_equal(scores["wrong"][k], given != true)
    table = pd.read_csv(folder / "detection.csv").set_index(["detector", "seed"])
    expected = detection(scores["loss"][1], scores["wrong"][1])["auroc"]
    assert table.loc[("loss", 3), "auroc"] == pytest.approx(expected)
    assert set(table.index.get_level_values("seed")) == {0, 3}
    assert (table["experiment"] == "mine").all() and (table["noise"] == "some").all()


def test_out_of_fold_logits_are_of_heads_that_saw_no_part_of_their_fold(data):
    """The loss out of fold would be the plain loss again."""
    folder, _, features = data
    heads, _ = run_noise(folder, NOISE)
    h, given = append_constant(features["train"][heads["train_index"]]), heads["given"][0]
    rng = np.random.default_rng(0)
    flip_labels(heads["true"], "uniform", 0.2, 3, rng)
    folds = draw_folds(30, 3, rng, labels=given)
    for fold in range(3):
        held = folds == fold
        weight, _, _ = train_head(h[~held], given[~held], 3, RECIPE, torch.device("cpu"))
        expected = h[held].astype(float) @ weight.T
        np.testing.assert_allclose(heads["out_of_fold"][0][held], expected, atol=1e-4)


def test_tracin_adds_up_the_epochs_of_a_head_on_the_same_labels(data):
    """It would be of a head on the true labels, or of its last epoch alone."""
    folder, _, features = data
    heads, scores = run_noise(folder, NOISE)
    h, given = append_constant(features["train"][heads["train_index"]]), heads["given"][1]
    expected = np.zeros(30)
    for epochs in (1, 2, 3):
        weight, _, _ = train_head(h, given, 3, SGD | {"epochs": epochs}, torch.device("cpu"))
        e = residuals(h.astype(float) @ weight.T, given, "loss")
        expected += 0.1 * (explicit(Gradients(e, h, np.arange(30))) ** 2).sum(axis=1)
    np.testing.assert_allclose(heads["tracin"][1], expected, rtol=1e-6)
    np.testing.assert_allclose(scores["tracin"][1], expected, rtol=1e-6)


def test_what_the_head_has_learnt_is_written_down(data):
    """A head that memorises could not be told from one that does not."""
    folder, _, features = data
    heads, _ = run_noise(folder, NOISE)
    fits = pd.read_csv(folder / "fits.csv").set_index("seed")
    h = append_constant(features["train"][heads["train_index"]]).astype(float)
    for k, seed in enumerate((0, 3)):
        found = (h @ heads["weights"][k].T).argmax(axis=1)
        given, true = heads["given"][k], heads["true"]
        assert fits.loc[seed, "n_train"] == 30
        assert fits.loc[seed, "accuracy_as_given"] == pytest.approx(np.mean(found == given))
        assert fits.loc[seed, "accuracy_as_true"] == pytest.approx(np.mean(found == true))
        share = np.mean((found == given)[given != true])
        assert fits.loc[seed, "memorised"] == pytest.approx(share)


def test_human_labels_are_used_once_and_row_by_row(data):
    """People's labels would be those of other images, or count five times."""
    folder, arrays, _ = data
    people = (arrays["train_labels"] + (np.arange(40) % 5 == 0)) % 3
    save_arrays(folder / "people", {"worse": people.astype(np.uint8)})
    noise = {"kind": "human", "labels": "worse"}
    heads, scores = run_noise(folder, noise, human=["people"])
    np.testing.assert_array_equal(heads["seeds"], [0])
    np.testing.assert_array_equal(heads["given"][0], people[heads["train_index"]])
    np.testing.assert_array_equal(scores["wrong"][0], heads["train_index"] % 5 == 0)


def test_copies_are_listed_those_under_two_labels_first(data, tmp_path):
    """The surest errors would be lost among harmless copies, or rows be those of another subset."""
    _, arrays, features = data
    rows = training_subset(40, 30, 3)
    h, labels = features["train"].copy(), arrays["train_labels"].copy()
    # Three copies with one label, two with two.
    h[rows[[9, 20]]], labels[rows[[4, 9, 20]]] = h[rows[4]], 1
    h[rows[25]], labels[rows[[2, 25]]] = h[rows[2]], [0, 2]
    save_arrays(tmp_path / "activations", features | {"train": h})
    save_arrays(
        tmp_path / "dataset", arrays | {"train_labels": labels}, {"classes": ["a", "b", "c"]}
    )
    found, table = find_copies(tmp_path)
    np.testing.assert_array_equal(found["train_index"], rows)
    assert list(table["index"]) == [*rows[[2, 25]], *rows[[4, 9, 20]]]
    assert list(table["size"]) == [2, 2, 3, 3, 3]
    assert list(table["labels_differ"]) == [True, True, False, False, False]
    assert list(table["given_label"]) == ["a", "c", "b", "b", "b"]
    # Without images their features are compared.
    assert table["exact"].all()
    groups = found["groups"]
    assert groups[4] == groups[9] == groups[20] != groups[2] == groups[25]


def test_exact_copies_are_those_with_the_same_pixels(data, tmp_path):
    """Two pictures that look alike would be removed as one."""
    _, arrays, features = data
    rows = training_subset(40, 30, 3)
    h = features["train"].copy()
    h[rows[[4, 9, 20]]] = h[rows[4]]
    images = np.arange(40 * 12, dtype=np.uint8).reshape(40, 2, 2, 3)
    images[rows[9]] = images[rows[20]]
    save_arrays(tmp_path / "activations", features | {"train": h})
    about = {"classes": ["a", "b", "c"]}
    save_arrays(tmp_path / "dataset", arrays | {"train_images": images}, about)
    _, table = find_copies(tmp_path)
    assert dict(zip(table["index"], table["exact"], strict=True)) == {
        rows[4]: False,
        rows[9]: True,
        rows[20]: True,
    }


def test_copies_are_held_out_together(data, tmp_path):
    """Heads that judge a copy would have seen its label."""
    _, arrays, features = data
    rows = training_subset(40, 30, 3)
    h = features["train"].copy()
    h[rows[:10]] = h[rows[10:20]]
    save_arrays(tmp_path / "activations", features | {"train": h})
    save_arrays(tmp_path / "dataset", arrays, {"classes": ["a", "b", "c"]})
    heads, scores = run_noise(tmp_path, NOISE, seeds=[0])
    groups = load_arrays(tmp_path / "copies")["groups"]
    activations, given = append_constant(h[rows]), heads["given"][0]
    rng = np.random.default_rng(0)
    flip_labels(heads["true"], "uniform", 0.2, 3, rng)
    expected = out_of_fold_logits(
        heads["weights"][0], activations, given, 3, RECIPE, torch.device("cpu"), rng, groups
    )
    np.testing.assert_allclose(heads["out_of_fold"][0], expected, atol=1e-4)
    z = logits(heads["weights"][0], activations)
    without = leave_one_out(
        *(z, activations, given, RECIPE["weight_decay"]),
        groups=groups,
        block_size=7,
        device=torch.device("cpu"),
    )
    loss = cross_entropy(without.logits, given)
    np.testing.assert_allclose(scores["leave_one_out_loss"][0], loss, rtol=1e-4)
