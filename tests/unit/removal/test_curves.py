"""Curves of removal: what is drawn is the mean over fits, from the fit to all points on."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from wtrak.removal.catalogue import ARMS
from wtrak.removal.curves import draw_curves


@pytest.fixture
def drawn():
    """An axis with curves of two fits each, and the values of the arms."""
    rows = [{"arm": "none", "share": 0.0, "loss": loss} for loss in (0.9, 1.1)]
    for k, arm in enumerate(ARMS):
        for share in (0.5, 0.1):
            rows += [
                {"arm": arm, "share": share, "loss": 1 + k * share + half} for half in (-0.2, 0.2)
            ]
    figure, axis = plt.subplots()
    draw_curves(axis, pd.DataFrame(rows), "loss", 100)
    yield axis
    plt.close(figure)


def test_curves_are_means_that_start_at_the_fit_to_all(drawn):
    """A curve would be of one fit, of another arm, or start anywhere."""
    assert len(drawn.lines) == len(ARMS)
    for k, (line, arm) in enumerate(zip(drawn.lines, ARMS.values(), strict=True)):
        np.testing.assert_allclose(line.get_xdata(), [0, 10, 50])
        np.testing.assert_allclose(line.get_ydata(), [100, 100 + 10 * k, 100 + 50 * k])
        assert line.get_label() == arm.title and line.get_color() == arm.color


def test_bands_are_student_intervals_and_stay_out_of_the_scale(drawn):
    """A reader would trust two fits too much, or see flat curves below wide bands."""
    # Of two values ±0.2 apart from their mean: t quantile · 0.2·√2 / √2.
    half = 100 * 12.706205 * 0.2
    band = drawn.collections[3].get_paths()[0].vertices
    at = band[np.isclose(band[:, 0], 50), 1]
    assert [at.min(), at.max()] == pytest.approx([250 - half, 250 + half], rel=1e-5)
    # The start has no band; the scale is that of the means, 100 to 450, and a little room.
    assert set(band[band[:, 0] == 0, 1]) == {100.0}
    assert drawn.get_ylim() == pytest.approx((100 - 0.15 * 350, 450 + 0.15 * 350))
