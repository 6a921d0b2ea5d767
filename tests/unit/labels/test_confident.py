"""Estimated numbers of wrong labels: against cleanlab, and against errors that were planted."""

import numpy as np
import pytest
from cleanlab.count import compute_confident_joint
from scipy.special import softmax
from sklearn.datasets import load_digits

from wtrak.labels.confident import (
    confident_joint,
    error_probabilities,
    estimate_errors,
    precision_at,
)
from wtrak.labels.detectors import cleanlab_issues
from wtrak.labels.out_of_fold import draw_folds, held_out_logits
from wtrak.labels.ranking import flag, suspects
from wtrak.linear_head import LinearHead, class_logits


@pytest.mark.parametrize("c", [2, 4])
@pytest.mark.parametrize("sure", [0.3, 2.0, 5.0])
def test_joint_is_that_of_cleanlab(c, sure):
    """The estimate would not be confident learning, and differ from what users know."""
    rng = np.random.default_rng(c)
    true = rng.integers(c, size=300)
    labels = np.where(rng.random(300) < 0.1, (true + 1) % c, true)
    p = softmax(rng.standard_normal((300, c)) + sure * np.eye(c)[true], axis=1)
    expected = compute_confident_joint(labels, p, calibrate=False)
    found = confident_joint(p, labels)
    np.testing.assert_allclose(found.sum(axis=1), np.bincount(labels, minlength=c))
    np.testing.assert_allclose(
        found / found.sum(axis=1, keepdims=True), expected / expected.sum(axis=1, keepdims=True)
    )


def test_weights_count_examples_as_often():
    """Bootstrap samples would be of other data."""
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=60)
    p = softmax(rng.standard_normal((60, 3)) + np.eye(3)[labels], axis=1)
    weights = rng.integers(3, size=60)
    twice = np.repeat(np.arange(60), weights)
    repeated = confident_joint(p[twice], labels[twice])
    found = confident_joint(p, labels, weights)
    np.testing.assert_allclose(
        found / found.sum(axis=1, keepdims=True),
        repeated / repeated.sum(axis=1, keepdims=True),
    )


@pytest.mark.parametrize("labels", [[0, 0, 2, 2], [1, 1, 1, 1]])
def test_a_class_without_examples_gives_no_gaps(labels):
    """Small data, or what is left after corrections, would have NaN errors."""
    labels = np.array(labels)
    z = np.eye(3)[[0, 1, 2, 2]] * 3
    estimate = estimate_errors(z, labels, 20, np.random.default_rng(0))
    assert np.isfinite(estimate.joint).all() and np.isfinite(estimate.class_high).all()
    assert estimate.low <= estimate.errors <= estimate.high
    p = error_probabilities(z, labels, estimate.joint, estimate.errors)
    assert ((p >= 0) & (p <= 1)).all()


def test_probabilities_follow_bayes_rule_and_sum_to_the_errors():
    """Precision would be of other examples, or say more errors than are estimated."""
    rng = np.random.default_rng(0)
    z, labels = rng.standard_normal((50, 3)), rng.integers(3, size=50)
    joint = np.array([[10.0, 1.0, 0.0], [2.0, 15.0, 1.0], [0.0, 1.0, 20.0]])
    found = error_probabilities(z, labels, joint, 0.0)
    assert not found.any()
    # By hand, for a head that is as sure as it should be.
    p = softmax(z, axis=1)
    given_for_true = joint / joint.sum(axis=0)
    expected = np.empty(50)
    for k in range(50):
        of_true = [p[k, true] * given_for_true[labels[k], true] for true in range(3)]
        expected[k] = 1 - of_true[labels[k]] / sum(of_true)
    np.testing.assert_allclose(
        error_probabilities(z, labels, joint, expected.sum()), expected, rtol=1e-3, atol=1e-6
    )
    for errors in (0.5 * expected.sum(), 1.02 * expected.sum()):
        found = error_probabilities(z, labels, joint, errors)
        assert found.sum() == pytest.approx(errors, rel=1e-4)


def planted(rate, kind, seed, penalty=1e-2):
    """Out-of-fold logits and labels of the digits, and which labels were made wrong."""
    X, y = load_digits(return_X_y=True)
    X, rng = X / 16, np.random.default_rng(seed)
    wrong = rng.random(len(y)) < rate
    labels = y.copy()
    labels[wrong] += rng.integers(1, 10, wrong.sum()) if kind == "uniform" else 1
    labels %= 10

    def fit(seen, held):
        head = LinearHead(penalty=penalty).fit(X[seen], labels[seen])
        return class_logits(head, X[held])

    return held_out_logits(draw_folds(len(y), 5, rng), 10, fit), labels, wrong


@pytest.mark.parametrize(
    ("rate", "kind", "within"),
    [(0.0, "uniform", 15), (0.02, "uniform", 12), (0.1, "uniform", 25), (0.1, "pair", 30)],
)
def test_planted_errors_are_counted_and_flagged(rate, kind, within):
    """Users would be told of errors that are not there, or look at far too many labels."""
    z, labels, wrong = planted(rate, kind, seed=1)
    estimate = estimate_errors(z, labels, 100, np.random.default_rng(0))
    assert abs(estimate.errors - wrong.sum()) <= within
    loss = -np.log(softmax(z, axis=1)[np.arange(len(labels)), labels])
    frame = suspects(
        np.arange(len(labels)),
        labels,
        {"loss": loss, "out_of_fold_loss": loss},
        z,
        list("0123456789"),
        "out_of_fold_loss",
        cleanlab=cleanlab_issues(z, labels),
    )
    frame = flag(frame, estimate.errors)
    is_wrong = wrong[frame["index"]]
    flagged = frame["flagged"].to_numpy()
    if rate:
        assert is_wrong[flagged].mean() > 0.8 and flagged[is_wrong].mean() > 0.8
        # About as good as what cleanlab would prune.
        pruned = frame["cleanlab"].to_numpy()
        f1 = [2 * (is_wrong & s).sum() / (is_wrong.sum() + s.sum()) for s in (flagged, pruned)]
        assert f1[0] > f1[1] - 0.06
    tops = [20, 100, 200, 400]
    found = precision_at(frame["index"].to_numpy(), tops, z, labels, estimate)
    for top, (share, low, high) in zip(tops, found, strict=True):
        assert 0 <= low <= share <= high <= 1
        assert abs(share - is_wrong[:top].mean()) < 0.2, (top, share, is_wrong[:top].mean())
    if rate:
        assert abs(found[2][0] - is_wrong[:200].mean()) < 0.08


def test_interval_holds_the_planted_number_mostly():
    """An interval that is far too narrow would give false certainty."""
    inside = []
    for seed in range(8):
        z, labels, wrong = planted(0.1, "uniform", seed)
        estimate = estimate_errors(z, labels, 60, np.random.default_rng(0))
        inside.append(estimate.low - 5 <= wrong.sum() <= estimate.high + 5)
        assert 5 < estimate.high - estimate.low < 120
    assert np.mean(inside) >= 0.75
