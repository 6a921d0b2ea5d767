"""Linear datamodeling scores of predictions that are exact, or of known noise."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from wtrak.removal.datamodels import (
    ceilings,
    mean_over_both,
    pseudo_values,
    random_subsets,
    rank_correlations,
    share_over_both,
    without_each_subset,
)


def test_score_of_an_exact_datamodel_is_one():
    """A perfect attribution would not score as one."""
    rng = np.random.default_rng(0)
    members = random_subsets(40, 50, 0.5, 1)
    effects = rng.standard_normal((7, 40))
    actual = effects @ members.T
    np.testing.assert_allclose(rank_correlations(effects @ members.T, actual), 1.0)
    np.testing.assert_allclose(rank_correlations(-effects @ members.T, actual), -1.0)
    assert mean_over_both(*jackknifed(actual, actual)) == pytest.approx((1.0, 1.0, 1.0))
    other = rng.standard_normal((7, 50))
    expected = [spearmanr(*pair).statistic for pair in zip(other, actual, strict=True)]
    np.testing.assert_allclose(rank_correlations(other, actual), expected)
    assert np.isnan(rank_correlations(np.ones((1, 50)), actual[:1])).all()


def test_a_linear_model_scores_one_with_its_influences():
    """The whole chain would lose an effect that is there: least squares has an exact datamodel."""
    rng = np.random.default_rng(1)
    # With orthogonal groups each training point acts on its own test point alone, and linearly.
    members = random_subsets(12, 40, 0.5, 2)
    targets = rng.standard_normal(12)
    retrained = members * targets
    scores = np.diag(targets)
    found = rank_correlations(scores @ members.T, retrained.T)
    np.testing.assert_allclose(found, 1.0)


def test_ceiling_is_what_a_perfect_prediction_reaches():
    """Attributions would be called poor for the noise of networks, or the noise be overlooked."""
    rng = np.random.default_rng(0)
    truth = rng.standard_normal((200, 100))
    for noise in (0.5, 2.0):
        runs = truth + noise * rng.standard_normal((5, 200, 100))
        reached = rank_correlations(truth, runs.mean(axis=0)).mean()
        assert ceilings(runs).mean() == pytest.approx(reached, abs=0.02)
    assert ceilings(rng.standard_normal((5, 200, 100))).mean() < 0.25


@pytest.mark.parametrize(("n", "share", "size"), [(10, 0.5, 5), (10, 0.26, 3), (7, 0.5, 4)])
def test_subsets_have_the_rounded_share_and_differ(n, share, size):
    """Networks would be trained on other numbers of examples, or all on the same ones."""
    members = random_subsets(n, 30, share, 4)
    assert members.dtype == bool and members.shape == (30, n)
    assert (members.sum(axis=1) == size).all()
    assert len(np.unique(members, axis=0)) > 10
    assert members.any(axis=0).all()
    np.testing.assert_array_equal(members, random_subsets(n, 30, share, 4))
    assert (members != random_subsets(n, 30, share, 5)).any()


def test_what_never_changes_has_no_correlation():
    """0/0 would count as no correlation, or as a perfect one."""
    steady, moving = np.ones((1, 6)), np.arange(6.0)[None]
    for pair in ((steady, moving), (moving, steady), (steady, steady)):
        with np.errstate(all="raise"):
            assert np.isnan(rank_correlations(*pair)).all()
    # Two subsets have the least spread of ranks.
    assert rank_correlations(moving[:, :2], -moving[:, :2]) == [-1.0]


def test_ceiling_by_hand():
    """Pairs of runs would be left out or counted twice, or the formula be of another count."""
    base = np.arange(6.0)
    runs = np.stack([base, base[[1, 0, 2, 3, 4, 5]], base[[0, 1, 5, 3, 4, 2]]])[:, None]
    pairs = [(0, 1), (0, 2), (1, 2)]
    single = np.mean([spearmanr(runs[a, 0], runs[b, 0]).statistic for a, b in pairs])
    assert single < 0.9
    expected = np.sqrt(3 * single / (1 + 2 * single))
    np.testing.assert_allclose(ceilings(runs), [expected], rtol=1e-12)
    # Runs that disagree leave nothing to predict.
    assert ceilings(np.stack([base, -base])[:, None]) == [0.0]


def jackknifed(predicted, actual):
    """Rank correlations, and the same without each subset."""
    both = predicted, actual
    return rank_correlations(*both), without_each_subset(rank_correlations, *both)


def test_statistics_without_each_subset_by_hand():
    """A subset would be left out of one of the two arrays, or another one."""
    rng = np.random.default_rng(0)
    predicted, actual = rng.standard_normal((2, 4, 6))
    without = without_each_subset(rank_correlations, predicted, actual)
    assert without.shape == (6, 4)
    for s in range(6):
        left = [k for k in range(6) if k != s]
        expected = [spearmanr(predicted[t, left], actual[t, left]).statistic for t in range(4)]
        np.testing.assert_allclose(without[s], expected, rtol=1e-12)
    # Subsets are the last axis of any number.
    runs = rng.standard_normal((3, 4, 6))
    without = without_each_subset(ceilings, runs)
    assert without.shape == (6, 4)
    np.testing.assert_allclose(without[2], ceilings(runs[..., [0, 1, 3, 4, 5]]), rtol=1e-12)


def test_pseudo_values_by_hand():
    """An interval would be that of other numbers, or of points without a correlation."""
    whole = np.array([0.5, np.nan, 0.3, 0.1])
    without = np.array([[0.4, 0.2, np.nan, 0.1], [0.5, 0.2, 0.3, 0.4], [0.6, 0.2, 0.3, 0.1]])
    expected = [[1.5 - 0.8, 0.3 - 0.2], [1.5 - 1.0, 0.3 - 0.8], [1.5 - 1.2, 0.3 - 0.2]]
    np.testing.assert_allclose(pseudo_values(whole, without), expected, rtol=1e-12)


@pytest.mark.parametrize("sign", [-1, 1])
def test_interval_of_a_correlation_ends_where_correlations_do(sign):
    """A correlation below −1 or above 1 would be shown."""
    whole = sign * np.array([0.9, 0.8, 0.7])
    without = sign * np.array([[0.6, 0.5, 0.4], [1.0, 0.9, 0.8], [1.0, 0.9, 0.9]])
    mean, low, high = mean_over_both(whole, without)
    assert mean == pytest.approx(sign * 0.8)
    assert (low, high)[sign > 0] == sign
    assert sign * (low, high)[sign < 0] < 0.8


def test_interval_leaves_out_test_points_without_a_correlation():
    """One constant prediction would make every interval undefined."""
    rng = np.random.default_rng(1)
    predicted, actual = rng.standard_normal((2, 5, 8))
    known = jackknifed(predicted[1:], actual[1:])
    predicted[0] = 1.0
    found = mean_over_both(*jackknifed(predicted, actual))
    assert found == pytest.approx(mean_over_both(*known), rel=1e-12)
    assert -1 <= found[1] < found[0] < found[2] <= 1
    assert pseudo_values(*jackknifed(predicted, actual)).shape == (8, 4)


def simulated(rng, m=30, count=20):
    """Predictions and outputs whose errors test points share, as they share the subsets."""
    signal, noise = rng.standard_normal((2, m, count))
    shared = rng.standard_normal((2, 1, count))
    return signal + 0.7 * shared[0], 0.5 * signal + noise + 0.7 * shared[1]


def test_interval_covers_over_new_test_points_and_subsets():
    """An interval over test points alone would miss the mean far too often."""
    rng = np.random.default_rng(2)
    truth = np.mean([rank_correlations(*simulated(rng)).mean() for _ in range(3000)])
    covered, alone = [], []
    for _ in range(300):
        score = jackknifed(*simulated(rng))
        mean, low, high = mean_over_both(*score)
        covered.append(low <= truth <= high)
        half = 1.96 * score[0].std(ddof=1) / np.sqrt(len(score[0]))
        alone.append(abs(mean - truth) <= half)
    assert 0.9 <= np.mean(covered) <= 0.99
    assert np.mean(alone) < 0.8


def test_share_of_a_perfect_prediction_covers_and_is_a_ratio_of_means():
    """A score could not be compared with what is possible."""
    rng = np.random.default_rng(3)
    predicted, actual = simulated(rng)
    score = jackknifed(predicted, actual)
    doubled = 2 * score[0], 2 * score[1]
    ratio, low, high = share_over_both(score, doubled)
    assert (ratio, low, high) == pytest.approx((0.5, 0.5, 0.5))
    fixed = np.full_like(score[0], 0.8), np.full_like(score[1], 0.8)
    mean, below, above = mean_over_both(*score)
    found = share_over_both(score, fixed)
    assert found == pytest.approx((mean / 0.8, below / 0.8, above / 0.8), rel=1e-9)
