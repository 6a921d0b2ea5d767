"""Wrong labels reach the head, the residuals and self-influence, and no other labels do."""

import numpy as np
import pandas as pd
import pytest
import torch
from test_scripts import RECIPE, RIDGE, call, data  # noqa: F401

import detectors as detectors_script
import noisy_heads as noisy_heads_script
from reference import covariance, explicit
from wtrak.gradients import Gradients, append_constant, residuals
from wtrak.head import train_head
from wtrak.io import load_arrays, save_arrays
from wtrak.label_noise import detection, flip_labels

NOISE = {"kind": "uniform", "rate": 0.2}


def run_noise(folder, noise, seeds=(0, 3), human=()):
    """Heads on wrong labels, and every detector on them."""
    inputs = {"dataset": "dataset", "activations": "activations"}
    call(
        noisy_heads_script,
        folder,
        {"heads": "heads"},
        inputs=inputs | {"human_labels": list(human)},
        n_train=30,
        subset_seed=3,
        recipe=RECIPE,
        noise=noise,
        seeds=list(seeds),
        folds=3,
        device="cpu",
    )
    call(
        detectors_script,
        folder,
        {"table": "detection.csv", "curves": "curves.csv", "scores": "detectors"},
        inputs={"activations": "activations", "heads": "heads"},
        wildcards={"experiment": "mine", "noise": "some"},
        gradient="loss",
        ridge=RIDGE,
        block_size=7,
        device="cpu",
    )
    return load_arrays(folder / "heads"), load_arrays(folder / "detectors")


def test_wrong_labels_reach_head_residuals_and_self_influence(data):  # noqa: F811
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


def test_out_of_fold_logits_are_of_heads_that_saw_no_part_of_their_fold(data):  # noqa: F811
    """The loss out of fold would be the plain loss again."""
    folder, _, features = data
    heads, _ = run_noise(folder, NOISE)
    h, given = append_constant(features["train"][heads["train_index"]]), heads["given"][0]
    rng = np.random.default_rng(0)
    flip_labels(heads["true"], "uniform", 0.2, 3, rng)
    folds = rng.permutation(np.arange(30) % 3)
    for fold in range(3):
        held = folds == fold
        weight, _, _ = train_head(h[~held], given[~held], 3, RECIPE, torch.device("cpu"))
        expected = h[held].astype(float) @ weight.T
        np.testing.assert_allclose(heads["out_of_fold"][0][held], expected, atol=1e-4)


def test_human_labels_are_used_once_and_row_by_row(data):  # noqa: F811
    """People's labels would be those of other images, or count five times."""
    folder, arrays, _ = data
    people = (arrays["train_labels"] + (np.arange(40) % 5 == 0)) % 3
    save_arrays(folder / "people", {"worse": people.astype(np.uint8)})
    noise = {"kind": "human", "labels": "worse"}
    heads, scores = run_noise(folder, noise, human=["people"])
    np.testing.assert_array_equal(heads["seeds"], [0])
    np.testing.assert_array_equal(heads["given"][0], people[heads["train_index"]])
    np.testing.assert_array_equal(scores["wrong"][0], heads["train_index"] % 5 == 0)
