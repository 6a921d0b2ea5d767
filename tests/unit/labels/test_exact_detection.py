"""Scores of wrong labels and their figures of merit, against values counted by hand."""

import numpy as np
import pytest
import torch
from sklearn.metrics import precision_score, recall_score

from problems import gradients
from wtrak.geometry.gradients import GRADIENTS
from wtrak.labels import detectors
from wtrak.labels.detectors import confident_learning, self_influence
from wtrak.labels.head_scores import gradients_at
from wtrak.labels.noise import curves, detection, recall_at

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("n", "unused"), [(20, "second_moment"), (40, "_self_influence_from_gram")]
)
def test_self_influence_takes_the_smaller_matrix(n, unused, monkeypatch):
    """Many classes, or many examples, would need more memory than there is."""
    g, _, _ = gradients(n=n, n_classes=4, p=7)

    def refused(*_, **__):
        raise AssertionError(f"{unused} for {n} examples in {g.dimension} dimensions")

    monkeypatch.setattr(detectors, unused, refused)
    assert self_influence(g, 0.1, block_size=8, device=CPU).shape == (n,)


@pytest.mark.parametrize("gradient", GRADIENTS)
def test_gradients_are_in_as_few_dimensions_as_they_span(gradient):
    """Q would have p eigenvalues that say nothing, or a logit's gradient lose one of its own."""
    g, z, y = gradients(n=60, n_classes=4, p=7)
    found = gradients_at(z, y, g.activations, gradient)
    assert found.dimension == (28 if gradient == "logit" else 21)
    assert list(found.index) == list(range(60))


def test_confident_learning_adds_what_a_label_lacks_to_what_is_pruned():
    """Pruned examples would not come first, or scores of both signs have no ratio of means."""
    rng = np.random.default_rng(0)
    true = rng.integers(4, size=400)
    labels = true.copy()
    labels[:20] = (true[:20] + 1) % 4
    # Unsure of the last 20, and right: not pruned, though hardly likelier than what is.
    sure = np.where(np.arange(400) < 380, 4.0, 0.2)[:, None]
    z = 0.3 * rng.standard_normal((400, 4)) + sure * np.eye(4)[true]
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    lacking = 1 - p[np.arange(400), labels]
    found = confident_learning(z, labels)
    np.testing.assert_allclose(found[:20], 1 + lacking[:20])
    np.testing.assert_allclose(found[20:380], lacking[20:380])
    assert np.isclose(found[380:], lacking[380:]).any()
    assert found.min() >= 0


def test_recalls_are_those_of_their_names():
    """Another share would be reviewed than the table says."""
    # Of 40 points, the 1st, 3rd, 5th and 20th are wrong: reviewed are 2, 4 and 8.
    scores = np.arange(40.0, 0, -1)
    wrong = np.isin(np.arange(40), [0, 2, 4, 19])
    found = detection(scores, wrong)
    figures = ["auroc", "average_precision", "separation"]
    assert list(found) == [*figures, "recall_5", "recall_10", "recall_20"]
    assert [found[f"recall_{share}"] for share in (5, 10, 20)] == [0.25, 0.5, 0.75]
    assert recall_at(scores, wrong, 0.0) == 0
    assert recall_at(scores, wrong, 0.5) == recall_at(scores, wrong, 1.0) == 1


def test_separation_is_a_ratio_of_means_for_scores_from_zero():
    """A score that is 0 somewhere would have none, or one with both signs would have one."""
    wrong = np.array([True, True, False, False, False])
    scores = np.array([3.0, 9.0, 0.0, 1.0, 5.0])
    assert detection(scores, wrong)["separation"] == pytest.approx(3)
    assert detection(scores + 0.25, wrong)["separation"] == pytest.approx(6.25 / 2.25)
    assert np.isnan(detection(scores - 1e-9, wrong)["separation"])


def test_precision_is_the_best_at_a_recall_or_above():
    """The curve would fall below what a threshold reaches, or be another's."""
    rng = np.random.default_rng(3)
    wrong = rng.random(60) < 0.3
    scores = np.round(rng.standard_normal(60) + wrong, 1)
    x, y = curves(scores, wrong)["precision"]
    np.testing.assert_allclose(x, np.arange(201) / 200)
    reached = [
        (recall_score(wrong, scores >= t), precision_score(wrong, scores >= t)) for t in scores
    ]
    for recall, precision in zip(x[1:], y[1:], strict=True):
        assert precision == pytest.approx(max(p for r, p in reached if r >= recall - 1e-12))
    # Nothing need be found for a recall of 0.
    assert y[0] == 1
