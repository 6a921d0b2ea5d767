"""Heads that are asked about what they have not seen, against fits written out fold by fold."""

import numpy as np
import pytest
import torch

from wtrak.errors import WtrakError
from wtrak.geometry.gradients import append_constant
from wtrak.geometry.head import logits, train_head
from wtrak.labels.out_of_fold import out_of_fold_logits

CPU = torch.device("cpu")
RECIPE = {"optimizer": "lbfgs", "weight_decay": 0.01, "gradient_norm": 1e-7, "max_iterations": 200}


@pytest.fixture(scope="module")
def problem():
    """Activations, labels and a head of all of them."""
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=22)
    h = append_constant((rng.standard_normal((22, 4)) + np.eye(3, 4)[labels]).astype(np.float32))
    return h, labels, train_head(h, labels, 3, RECIPE, CPU)[0]


def unseen(problem, folds):
    h, labels, weight = problem
    rng = np.random.default_rng(5)
    return out_of_fold_logits(weight, h, labels, folds, RECIPE, CPU, rng)


@pytest.mark.parametrize("folds", [4, 22])
def test_logits_are_of_a_head_of_the_other_folds(problem, folds):
    """A head would be asked about what it has learnt by heart."""
    h, labels, _ = problem
    found = unseen(problem, folds)
    assert found.shape == (22, 3) and found.dtype == np.float32
    part = np.random.default_rng(5).permutation(np.arange(22) % folds)
    for k in range(folds):
        held = part == k
        # Folds differ by one example at most.
        assert held.sum() in (22 // folds, -(-22 // folds))
        own, _, _ = train_head(h[~held], labels[~held], 3, RECIPE, CPU)
        np.testing.assert_allclose(found[held], logits(own, h[held]), atol=1e-4)


def test_head_on_all_labels_is_no_part_of_the_result(problem):
    """The start would tell a fold's head what was left out."""
    h, labels, weight = problem
    expected = unseen(problem, 4)
    found = unseen((h, labels, -2 * weight), 4)
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_labels_of_one_class_outside_a_fold_are_refused():
    """A head of one class would say nothing of the other."""
    h, labels = append_constant(np.eye(3, dtype=np.float32)), np.array([0, 0, 1])
    with pytest.raises(WtrakError, match="need two classes"):
        out_of_fold_logits(np.zeros((2, 4)), h, labels, 3, RECIPE, CPU, np.random.default_rng(0))
