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
