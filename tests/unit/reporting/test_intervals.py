"""Means over seeds and their Student intervals."""

import numpy as np
import pytest

from wtrak.reporting.intervals import mean_with_interval


def test_interval_is_students():
    """Five seeds would be given the interval of five thousand."""
    mean, half = mean_with_interval([1.0, 2.0, 3.0, 4.0, 5.0])
    assert mean == 3.0
    assert half == pytest.approx(2.776445 * np.sqrt(2.5) / np.sqrt(5), rel=1e-6)
    assert np.isnan(mean_with_interval([1.0])[1])
    assert mean_with_interval([1.0, 3.0])[1] == pytest.approx(12.706205 * np.sqrt(2 / 2), rel=1e-6)
