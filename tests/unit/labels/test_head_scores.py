"""What a head says of its own examples, against forms that are written out."""

import numpy as np
import pytest

from problems import gradients
from reference import explicit
from wtrak.geometry.gradients import GRADIENTS
from wtrak.labels.head_scores import cross_entropy, gradients_at, head_scores


@pytest.mark.parametrize("gradient", GRADIENTS)
def test_gradients_are_in_as_few_dimensions_as_they_span(gradient):
    """Q would have p eigenvalues that say nothing, or a logit's gradient lose one of its own."""
    g, z, y = gradients(n=60, n_classes=4, p=7)
    found = gradients_at(z, y, g.activations, gradient)
    assert found.dimension == (28 if gradient == "logit" else 21)
    assert list(found.index) == list(range(60))
    full = explicit(g) if gradient == "loss" else None
    if full is not None:
        # Another basis of the same space: inner products stay.
        own = explicit(found)
        np.testing.assert_allclose(own @ own.T, full @ full.T, rtol=1e-9, atol=1e-9)


def test_scores_by_hand():
    """A label would be judged by the logits of another class or example."""
    # Probabilities 1/2, 1/4, 1/4 and, far out, 1 and twice 0.
    z = np.array([[np.log(2), 0.0, 0.0], [0.0, 900.0, -1.0]])
    labels, h = np.array([0, 2]), np.array([[3.0, 4.0], [1.0, 0.0]], np.float32)
    found = head_scores(z, labels, h)
    e = np.array([np.sqrt(1 / 4 + 1 / 16 + 1 / 16), np.sqrt(2)])
    np.testing.assert_allclose(found["loss"], [np.log(2), 901])
    np.testing.assert_allclose(found["el2n"], e)
    np.testing.assert_allclose(found["gradient_norm"], e * [5, 1])
    np.testing.assert_allclose(found["margin"], [-np.log(2), 901])
    np.testing.assert_array_equal(cross_entropy(z, labels), found["loss"])
    assert set(found) == {"loss", "el2n", "gradient_norm", "margin"}
    # What it is given stays as it is.
    assert z[0, 0] == np.log(2) and np.isfinite(z).all()
