"""Linear datamodeling scores of predictions that are exact, or of known noise."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from wtrak.removal.datamodels import ceilings, mean_over_points, random_subsets, rank_correlations


def test_score_of_an_exact_datamodel_is_one():
    """A perfect attribution would not score as one."""
    rng = np.random.default_rng(0)
    members = random_subsets(40, 50, 0.5, 1)
    effects = rng.standard_normal((7, 40))
    actual = effects @ members.T
    np.testing.assert_allclose(rank_correlations(effects @ members.T, actual), 1.0)
    np.testing.assert_allclose(rank_correlations(-effects @ members.T, actual), -1.0)
    assert mean_over_points(rank_correlations(actual, actual)) == (1.0, 1.0, 1.0)
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


def test_interval_of_a_mean_leaves_out_what_is_undefined():
    """A point without a score would make the mean undefined, or low and high change places."""
    values = np.array([0.1, 0.5, np.nan, 0.9, 0.2, np.inf])
    mean, low, high = mean_over_points(values)
    assert mean == pytest.approx(0.425)
    assert 0.1 <= low < mean < high <= 0.9
    many = np.random.default_rng(2).standard_normal(50)
    assert mean_over_points(many) == mean_over_points(many)
    known = [0.1, 0.5, 0.9, 0.2]
    draws = np.random.default_rng(1).choice(known, size=(20_000, 4)).mean(axis=1)
    assert (low, high) == pytest.approx(np.quantile(draws, [0.025, 0.975]), abs=0.04)
