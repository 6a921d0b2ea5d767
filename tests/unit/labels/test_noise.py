"""Wrong labels are as many and as wrong as they should be, and scores are judged rightly."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from problems import gradients
from reference import covariance, explicit
from wtrak.errors import WtrakError
from wtrak.geometry.gradients import Gradients, reduce_to_sum_zero, residuals
from wtrak.labels.catalogue import DETECTORS
from wtrak.labels.detectors import (
    all_detectors,
    confident_learning,
    self_influence,
)
from wtrak.labels.noise import (
    KINDS,
    curves,
    detection,
    flip_labels,
    recall_at,
)
from wtrak.labels.tracin import epoch_influence
from wtrak.reporting.intervals import mean_with_interval

SEEDS = st.integers(0, 2**32 - 1)


@settings(max_examples=60, deadline=None)
@given(
    SEEDS,
    st.sampled_from(KINDS),
    st.floats(0, 1),
    st.integers(2, 10),
    st.integers(1, 200),
)
def test_flipped_labels_are_wrong_and_as_many_as_asked(seed, kind, rate, n_classes, n):
    """A flip to the same class would count as wrong and be right, or a label be out of range."""
    labels = np.random.default_rng(0).integers(n_classes, size=n).astype(np.uint8)
    before = labels.copy()
    given_ = flip_labels(labels, kind, rate, n_classes, np.random.default_rng(seed))
    np.testing.assert_array_equal(labels, before)
    assert given_.dtype == labels.dtype and given_.max() < n_classes
    assert (given_ != labels).sum() == round(rate * n)
    again = flip_labels(labels, kind, rate, n_classes, np.random.default_rng(seed))
    np.testing.assert_array_equal(given_, again)
    if kind == "pair":
        moved = given_ != labels
        np.testing.assert_array_equal(given_[moved], (labels[moved] + 1) % n_classes)


def test_uniform_flips_reach_every_other_class_alike():
    """Some classes would be favoured, and the noise be easier to find than it is."""
    labels = np.zeros(9000, np.int64)
    given_ = flip_labels(labels, "uniform", 1.0, 10, np.random.default_rng(1))
    counts = np.bincount(given_, minlength=10)
    assert counts[0] == 0
    assert np.abs(counts[1:] - 1000).max() < 6 * np.sqrt(1000)


def test_unknown_noise_is_refused():
    """A misspelt kind would leave labels as they are."""
    with pytest.raises(WtrakError, match="uniform, pair"):
        flip_labels(np.zeros(3, int), "random", 0.5, 3, np.random.default_rng(0))


def brute_auroc(scores, wrong):
    pairs = list(itertools.product(scores[wrong], scores[~wrong]))
    return np.mean([(a > b) + 0.5 * (a == b) for a, b in pairs])


def brute_recall(scores, wrong, count):
    """Expected over random orders of tied scores."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(4000):
        order = np.lexsort((rng.random(len(scores)), -scores))
        found.append(wrong[order[:count]].sum() / wrong.sum())
    return np.mean(found), np.std(found) / np.sqrt(len(found))


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_auroc_is_the_share_of_pairs_in_order_ties_counting_half(seed):
    """Ties would be counted as found, or as missed."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 6, size=40).astype(float)
    wrong = rng.permutation(np.arange(40) < 11)
    assert detection(scores, wrong)["auroc"] == pytest.approx(brute_auroc(scores, wrong))


def test_average_precision_is_that_of_its_definition():
    """Σ (R_k − R_{k−1})·P_k over thresholds, tied scores together."""
    scores = np.array([5.0, 4, 4, 3, 2, 2, 1])
    wrong = np.array([1, 0, 1, 0, 1, 0, 0], bool)
    expected = (1 / 3) * 1 + (1 / 3) * (2 / 3) + (1 / 3) * (3 / 6)
    assert detection(scores, wrong)["average_precision"] == pytest.approx(expected)


@pytest.mark.parametrize("share", [0.0, 0.05, 0.1, 0.2, 0.5, 1.0])
def test_recall_is_expected_over_tied_orders(share):
    """The order of rows would decide how many wrong labels are found."""
    rng = np.random.default_rng(3)
    scores = rng.integers(0, 4, size=60).astype(float)
    wrong = rng.random(60) < 0.3
    expected, error = brute_recall(scores, wrong, round(share * 60))
    assert recall_at(scores, wrong, share) == pytest.approx(expected, abs=5 * error + 1e-12)


def test_constant_scores_find_nothing():
    """A detector that says the same of all would seem to work."""
    wrong = np.arange(50) < 10
    found = detection(np.ones(50), wrong)
    assert found["auroc"] == 0.5
    assert found["average_precision"] == pytest.approx(0.2)
    assert found["recall_20"] == pytest.approx(0.2)
    assert found["separation"] == 1.0
    # A ratio of means says nothing of a score with both signs.
    assert np.isnan(detection(np.arange(50.0) - 25, wrong)["separation"])


@pytest.mark.parametrize("wrong", [np.zeros(5, bool), np.ones(5, bool)])
def test_nothing_to_tell_apart_is_an_error(wrong):
    """An AUROC of one class alone would be NaN, and be averaged."""
    with pytest.raises(WtrakError, match="all right or all wrong"):
        detection(np.arange(5.0), wrong)


def test_scores_that_are_not_finite_are_an_error():
    """NaN would be ranked somewhere."""
    with pytest.raises(WtrakError, match="not finite"):
        detection(np.array([1.0, np.nan, 2.0]), np.array([True, False, False]))


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_curves_bound_the_areas_that_the_table_gives(seed):
    """The figure would show another ranking than the table."""
    rng = np.random.default_rng(seed)
    wrong = rng.random(300) < 0.2
    scores = rng.standard_normal(300) + 1.5 * wrong
    drawn = curves(scores, wrong, points=2001)
    found = detection(scores, wrong)
    x, y = drawn["roc"]
    assert np.trapezoid(y, x) == pytest.approx(found["auroc"], abs=2e-3)
    x, y = drawn["precision"]
    assert np.all(np.diff(y) <= 1e-12)
    # The envelope lies on or above the steps whose area is the average precision.
    assert np.trapezoid(y, x) >= found["average_precision"] - 2e-3


def test_interval_is_students():
    """Five seeds would be given the interval of five thousand."""
    mean, half = mean_with_interval([1.0, 2.0, 3.0, 4.0, 5.0])
    assert mean == 3.0
    assert half == pytest.approx(2.776445 * np.sqrt(2.5) / np.sqrt(5), rel=1e-6)
    assert np.isnan(mean_with_interval([1.0])[1])
    assert mean_with_interval([1.0, 3.0])[1] == pytest.approx(12.706205 * np.sqrt(2 / 2), rel=1e-6)


@pytest.mark.parametrize("gradient", ["loss", "margin", "logit"])
def test_detectors_are_those_of_explicit_forms(gradient):
    """A detector would be computed for other labels, another head, or another Q."""
    g, z, _ = gradients(n=50, n_classes=4, p=7)
    h = g.activations
    rng = np.random.default_rng(5)
    weight = rng.standard_normal((4, 7))
    z = h.astype(float) @ weight.T
    labels = rng.integers(4, size=50)
    unseen, tracin = rng.standard_normal((50, 4)), rng.random(50)
    found = all_detectors(
        weight,
        unseen,
        tracin,
        h,
        labels,
        gradient=gradient,
        ridge=0.01,
        penalty=0.02,
        rng=np.random.default_rng(0),
        block_size=8,
        device=torch.device("cpu"),
    )
    assert set(found) == set(DETECTORS)
    assert all(len(values) == 50 and np.isfinite(values).all() for values in found.values())
    phi = explicit(Gradients(residuals(z, labels, gradient), h, np.arange(50)))
    si = np.einsum("nd,de,ne->n", phi, np.linalg.inv(covariance(phi, 0.01)), phi)
    np.testing.assert_allclose(found["self_influence"], si, rtol=1e-7)
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found["loss"], -np.log(p[np.arange(50), labels]), rtol=1e-8)
    q = np.exp(unseen) / np.exp(unseen).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(
        found["out_of_fold_loss"], -np.log(q[np.arange(50), labels]), rtol=1e-8
    )
    e = p - np.eye(4)[labels]
    np.testing.assert_allclose(found["el2n"], np.linalg.norm(e, axis=1), rtol=1e-8)
    np.testing.assert_allclose(
        found["gradient_norm"],
        np.linalg.norm(e, axis=1) * np.linalg.norm(h.astype(float), axis=1),
        rtol=1e-8,
    )
    np.testing.assert_array_equal(found["tracin"], tracin)
    # The Hessian as it is defined, on all C·p coordinates; its null space is no part of φ.
    curvature = np.einsum("nc,cd->ncd", p, np.eye(4)) - p[:, :, None] * p[:, None, :]
    hh = h[:, :, None].astype(float) * h[:, None, :]
    hessian = np.einsum("ncd,npq->cpdq", curvature, hh).reshape(28, 28) / 50
    hessian += 0.02 * np.kron(np.eye(4), np.diag([1.0] * 6 + [0.0]))
    own = explicit(Gradients(e, h, np.arange(50)))
    influence = np.einsum("nd,de,ne->n", own, np.linalg.pinv(hessian, rcond=1e-10), own)
    np.testing.assert_allclose(found["hessian_influence"], influence, rtol=1e-6)
    margin = [max(np.delete(z[k], labels[k])) - z[k, labels[k]] for k in range(50)]
    np.testing.assert_allclose(found["margin"], margin, rtol=1e-8)
    h = h.astype(float)
    inverse = np.linalg.inv(h.T @ h / 50 + 0.01 * np.eye(7))
    np.testing.assert_allclose(found["leverage"], np.einsum("np,pq,nq->n", h, inverse, h))


def test_self_influence_of_few_examples_comes_from_their_gram_matrix():
    """Images in many classes would need a Q that no memory holds, or get another SI."""
    for n in (20, 27, 28, 29):
        g, _, _ = gradients(n=n, n_classes=5, p=7)
        g = reduce_to_sum_zero(g)
        phi = explicit(g)
        expected = np.einsum("nd,de,ne->n", phi, np.linalg.inv(covariance(phi, 1e-3)), phi)
        found = self_influence(g, 1e-3, block_size=8, device=torch.device("cpu"))
        np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_an_epoch_adds_the_squared_norm_of_its_gradient():
    """TracIn would weigh epochs or examples by something else."""
    g, z, y = gradients(n=30)
    expected = 0.1 * (explicit(g) ** 2).sum(axis=1)
    np.testing.assert_allclose(epoch_influence(z, y, g.activations, 0.1), expected, rtol=1e-12)


def test_confident_learning_puts_planted_errors_first():
    """Probabilities and labels would reach cleanlab in another order or form."""
    rng = np.random.default_rng(0)
    true = rng.integers(4, size=400)
    given = true.copy()
    given[:20] = (true[:20] + 1) % 4
    z = 0.3 * rng.standard_normal((400, 4)) + 4 * np.eye(4)[true]
    scores = confident_learning(z, given)
    assert set(np.argsort(-scores)[:20]) == set(range(20))
    assert np.isfinite(scores).all()


def test_confident_learning_allows_a_class_without_labels():
    """A small set of one's own would crash."""
    rng = np.random.default_rng(0)
    scores = confident_learning(rng.standard_normal((30, 4)), rng.integers(3, size=30))
    assert scores.shape == (30,) and np.isfinite(scores).all()
