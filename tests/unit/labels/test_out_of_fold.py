"""Folds that keep copies together, and the heads that are fitted without each."""

import numpy as np
import pytest
import torch

from wtrak.errors import WtrakError
from wtrak.geometry.gradients import append_constant
from wtrak.geometry.head import logits, train_head
from wtrak.labels.duplicates import exact_copies
from wtrak.labels.out_of_fold import draw_folds, held_out_logits, out_of_fold_logits

CPU = torch.device("cpu")
RECIPE = {
    "optimizer": "lbfgs",
    "weight_decay": 1e-4,
    "gradient_norm": 1e-8,
    "max_iterations": 1000,
}


@pytest.mark.parametrize(("n_groups", "folds"), [(12, 4), (3, 5), (40, 5)])
def test_groups_stay_in_one_fold_and_no_fold_is_empty(n_groups, folds):
    """A copy would tell the head the label, or a fold that holds nothing would break the fit."""
    groups = np.arange(40) % n_groups
    part = draw_folds(40, folds, np.random.default_rng(0), groups)
    assert all(len(set(part[groups == g])) == 1 for g in range(n_groups))
    assert sorted(set(part)) == list(range(min(folds, n_groups)))
    of_groups = [len(set(groups[part == k])) for k in set(part)]
    assert max(of_groups) - min(of_groups) <= 1


def test_one_group_cannot_be_held_out():
    """A head would be fitted to no example."""
    with pytest.raises(WtrakError, match="all 6 examples are of one group"):
        draw_folds(6, 3, np.random.default_rng(0), np.zeros(6, int))


@pytest.mark.parametrize("seed", range(20))
def test_every_class_is_spread_over_the_folds(seed):
    """A rare class could lie in one fold, whose head would never have seen it."""
    rng = np.random.default_rng(seed)
    n, folds = 60, 5
    labels = rng.permutation(np.repeat(np.arange(4), [40, 12, 6, 2]))
    part = draw_folds(n, folds, rng, labels=labels)
    counts = np.array([np.bincount(part[labels == k], minlength=folds) for k in range(4)])
    assert (np.ptp(counts, axis=1) <= 1).all()
    assert np.ptp(counts.sum(axis=0)) <= 1
    # Copies stay together, and the groups of a class are spread.
    groups = np.unique(labels * n + rng.integers(20, size=n), return_inverse=True)[1]
    part = draw_folds(n, folds, rng, groups, labels)
    assert all(len(set(part[groups == g])) == 1 for g in set(groups))
    for k in range(4):
        of_class = np.unique(groups[labels == k])
        in_fold = [len(np.unique(groups[(labels == k) & (part == fold)])) for fold in range(folds)]
        assert sum(in_fold) == len(of_class) and max(in_fold) - min(in_fold) <= 1


def test_two_images_of_a_class_suffice_if_they_are_no_copies():
    """A user would be refused who has what is needed, or meet an error of the fit."""
    labels = np.array([0] * 30 + [1, 1])
    for seed in range(20):
        part = draw_folds(32, 5, np.random.default_rng(seed), labels=labels)
        assert part[30] != part[31]
    groups = np.array([*range(30), 30, 30])
    with pytest.raises(WtrakError, match=r"copies count as one example.*class 1 has 1$"):
        draw_folds(32, 5, np.random.default_rng(0), groups, labels)
    with pytest.raises(WtrakError, match="there is one class"):
        draw_folds(30, 5, np.random.default_rng(0), labels=labels[:30])


def test_every_example_is_judged_without_its_fold():
    """Its own label would reach the head, or another example's logits stand in its row."""
    part = np.array([2, 0, 1, 0, 2])
    calls = []

    def fit(seen, held):
        assert (seen != held).all()
        calls.append(held)
        return np.column_stack([np.flatnonzero(held), np.full(held.sum(), len(calls))])

    out = held_out_logits(part, 2, fit)
    np.testing.assert_array_equal(out[:, 0], np.arange(5))
    np.testing.assert_array_equal(out[:, 1], part + 1)


def test_a_copy_with_the_same_wrong_label_does_not_hide_it():
    """The head would know the wrong label from the copy, and call it right."""
    # More features than examples, so that a head knows by heart every label that it has seen.
    rng = np.random.default_rng(0)
    labels = np.arange(40) % 2
    x = rng.standard_normal((40, 60))
    x[:, 0] += 6 * labels
    x[1], labels[:2] = x[0], 1
    h = append_constant(x)
    weight, _, _ = train_head(h, labels, 2, RECIPE, CPU)

    def p_given(groups, seed):
        rng = np.random.default_rng(seed)
        z = out_of_fold_logits(weight, h, labels, 4, RECIPE, CPU, rng, groups)[:2].astype(float)
        return 1 / (1 + np.exp(z[:, 0] - z[:, 1]))

    together = exact_copies(h)
    assert (p_given(together, 1) < 0.2).all()
    apart = next(
        seed
        for seed in range(9)
        if np.ptp(draw_folds(40, 4, np.random.default_rng(seed), labels=labels)[:2])
    )
    assert (p_given(None, apart) > 0.8).all()


SMOOTH = {"optimizer": "lbfgs", "weight_decay": 0.01, "gradient_norm": 1e-7, "max_iterations": 200}


@pytest.fixture(scope="module")
def problem():
    """Activations, labels and a head of all of them."""
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=22)
    h = append_constant((rng.standard_normal((22, 4)) + np.eye(3, 4)[labels]).astype(np.float32))
    return h, labels, train_head(h, labels, 3, SMOOTH, CPU)[0]


def unseen(problem, folds):
    h, labels, weight = problem
    rng = np.random.default_rng(5)
    return out_of_fold_logits(weight, h, labels, folds, SMOOTH, CPU, rng)


@pytest.mark.parametrize("folds", [4, 22])
def test_logits_are_of_a_head_of_the_other_folds(problem, folds):
    """A head would be asked about what it has learnt by heart."""
    h, labels, _ = problem
    found = unseen(problem, folds)
    assert found.shape == (22, 3) and found.dtype == np.float32
    part = draw_folds(22, folds, np.random.default_rng(5), labels=labels)
    for k in range(folds):
        held = part == k
        # Folds differ by one example at most.
        assert held.sum() in (22 // folds, -(-22 // folds))
        own, _, _ = train_head(h[~held], labels[~held], 3, SMOOTH, CPU)
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
    fitting = (SMOOTH, CPU, np.random.default_rng(0), None, ["cat", "dog"])
    with pytest.raises(WtrakError, match=r"two classes need 2 or more, but class dog has 1$"):
        out_of_fold_logits(np.zeros((2, 4)), h, labels, 3, *fitting)
