"""Data at their worst: constant and dead features, duplicates, absent classes, no numbers."""

import numpy as np
import pytest
import torch

from wtrak.errors import WtrakError
from wtrak.geometry.covariance import add_ridge, factorise, second_moment
from wtrak.geometry.gradients import (
    GRADIENTS,
    Gradients,
    append_constant,
    reduce_to_sum_zero,
    sums_to_zero,
)
from wtrak.geometry.head import train_head
from wtrak.geometry.scores import score, whitened
from wtrak.job.experiment import residuals_of

CPU = torch.device("cpu")
RECIPE = {
    "optimizer": "lbfgs",
    "weight_decay": 1e-2,
    "gradient_norm": 1e-8,
    "max_iterations": 2000,
}
ADAM = {"optimizer": "adam", "epochs": 3, "learning_rate": 1e-2, "batch_size": 16}
ADAM |= {"weight_decay": 0.0, "seed": 0}


def problem(n=80, p=6, n_classes=4):
    rng = np.random.default_rng(0)
    labels = rng.integers(n_classes, size=n)
    features = rng.standard_normal((n, p)) + np.eye(n_classes, p)[labels]
    return features.astype(np.float32), labels


def scores_of(features, labels, n_classes=4, recipe=RECIPE, gradient="loss", ridge=1e-3):
    """Self-influence and TRAK scores of a head fitted to the examples, on themselves."""
    weight, _, _ = train_head(append_constant(features), labels, n_classes, recipe, CPU)
    index = np.arange(len(labels))
    e, _ = residuals_of(features, index, labels, weight, gradient)
    g = Gradients(e, append_constant(features), index)
    g = reduce_to_sum_zero(g) if sums_to_zero(gradient) else g
    factor = factorise(add_ridge(second_moment(g, block_size=32, device=CPU), ridge))
    queries = whitened(g, factor, block_size=32)
    return score(g, factor, queries, queries, block_size=32)


def constant(features, labels):
    return np.full_like(features, 0.7), labels


def dead(features, labels):
    features = features.copy()
    features[:, ::2] = 0
    return features, labels


def all_dead(features, labels):
    return np.zeros_like(features), labels


def one_image_under_every_label(features, labels):
    return np.repeat(features[:1], len(features), axis=0), labels


def without_a_class(features, labels):
    return features, np.where(labels == 1, 3, labels)


def one_example_of_a_class(features, labels):
    labels = np.where(labels == 1, 3, labels)
    labels[5] = 1
    return features, labels


def huge(features, labels):
    return features * np.float32(1e15), labels


def tiny(features, labels):
    return features * np.float32(1e-30), labels


SPOILT = [constant, dead, all_dead, one_image_under_every_label, tiny]
SPOILT += [without_a_class, one_example_of_a_class]


@pytest.mark.parametrize("gradient", GRADIENTS)
@pytest.mark.parametrize("spoil", SPOILT, ids=lambda function: function.__name__)
def test_scores_stay_finite(spoil, gradient):
    """A folder of poor images would end in NaN, or in a factorisation that fails."""
    out = scores_of(*spoil(*problem()), gradient=gradient)
    for name in ("self_influence", "inverse_norms", "trak"):
        assert np.isfinite(getattr(out, name)).all(), name
    assert (out.self_influence >= 0).all()
    # SI = φᵀQ⁻¹φ ≤ n, whatever φ: rounding aside, of a point that is the only one of its kind.
    assert out.self_influence.max() <= 80 * (1 + 1e-6)


def test_duplicates_have_equal_scores_and_share_influence():
    """Copies of an image would be told apart by nothing but their place."""
    features, labels = problem()
    once = scores_of(features, labels)
    twice = scores_of(np.concatenate([features, features]), np.concatenate([labels, labels]))
    np.testing.assert_allclose(twice.self_influence[:80], twice.self_influence[80:], rtol=1e-9)
    # The mean over the examples, and so the head and Q, are those of the examples once.
    np.testing.assert_allclose(twice.self_influence[:80], once.self_influence, rtol=1e-5)


def test_values_beyond_float32_squares_are_scored_or_refused():
    """Overflow would give a number that is wrong."""
    try:
        out = scores_of(*huge(*problem()))
    except WtrakError as error:
        assert "float64" in str(error) or "gradient norm" in str(error) or "finite" in str(error)
    else:
        assert np.isfinite(out.self_influence).all()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("recipe", [RECIPE, ADAM], ids=["lbfgs", "adam"])
def test_values_that_are_no_numbers_are_refused(value, recipe):
    """A head of NaN would rank images by chance, and call it suspicion."""
    features, labels = problem()
    features[7, 2] = value
    with pytest.raises(WtrakError, match="not finite"):
        scores_of(features, labels, recipe=recipe)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.full(80, 2), "need two classes"),
        (np.arange(80) % 5, "labels run from 0 to 4, expected 0 to 3"),
        (np.arange(80) % 4 - 1, "labels run from -1 to 2"),
        (np.where(np.arange(80) % 2, 0, 1000), "labels run from 0 to 1000"),
    ],
    ids=["one class", "above", "below", "ids with gaps"],
)
def test_labels_that_cannot_be_are_refused(labels, message):
    """A label beyond the classes would read the memory behind a row, or count from its end."""
    features, _ = problem()
    with pytest.raises(WtrakError, match=message):
        scores_of(features, labels)
