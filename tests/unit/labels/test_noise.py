"""Wrong labels are as many and as wrong as they should be, and scores are judged rightly."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import precision_score, recall_score

from wtrak.errors import WtrakError
from wtrak.labels.noise import KINDS, curves, detection, flip_labels, recall_at

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
