"""How much faster one order of removal raises the loss than another, by hand."""

import re

import numpy as np
import pandas as pd
import pytest

from wtrak.removal.arms import faster_rows, times_faster, times_faster_over_seeds
from wtrak.removal.catalogue import ARMS


def test_times_faster_is_the_ratio_of_rises():
    """ "2.1 times faster" would be read off losses, which are never below 1 times."""
    shares = np.array([0.1, 0.2])
    found = times_faster(shares, np.array([0.4, 0.2]), np.array([0.2, 0.4]))
    np.testing.assert_allclose(found["at"], [2.0, 0.5])
    assert found["largest"] == pytest.approx(2.0)
    assert found["area"] == pytest.approx((0.02 + 0.03) / (0.01 + 0.03))
    fell = times_faster(shares, np.array([0.1, 0.2]), np.array([-0.1, 0.0]))
    assert np.isnan(fell["at"]).all() and np.isnan(fell["area"]) and np.isnan(fell["largest"])
    both = times_faster(shares, np.array([[0.4, 0.2], [0.1, 0.2]]), np.array([[0.2, 0.4], [-1, 0]]))
    np.testing.assert_allclose(both["largest"], [2.0, np.nan])


def made_up_curves(rises, seeds=5):
    """Curves of arms whose losses rise by these at a removal of a tenth, one number a seed."""
    rows = [{"seed": k, "arm": "none", "share": 0.0, "loss": 1.0 + k} for k in range(seeds)]
    for arm in ARMS:
        of = rises.get(arm, rises["random"])
        rows += [
            {"seed": k, "arm": arm, "share": 0.1, "loss": 1.0 + k + of[k]} for k in range(seeds)
        ]
    return pd.DataFrame(rows)


def rows_of(curves):
    """Rows of the table by the title of their arm."""
    rows = faster_rows(times_faster_over_seeds(curves))
    return {row["removed first"]: {name: str(cell) for name, cell in row.items()} for row in rows}


def test_ratios_have_intervals_over_seeds():
    """A ratio of two noisy rises would look exact; or the levels of seeds would drown it."""
    even = made_up_curves({"random": [0.1] * 5, "helpful": [0.2, 0.2, 0.2, 0.2, 0.2]})
    rows = rows_of(even)
    assert len(rows) == len(ARMS) - 1
    assert rows[ARMS["helpful"].title]["at 10 %"].startswith("2 (2")
    uneven = made_up_curves({"random": [0.1] * 5, "helpful": [0.1, 0.3, 0.2, 0.15, 0.25]})
    cell = rows_of(uneven)[ARMS["helpful"].title]["areas"]
    middle, low, high = (float(part) for part in re.findall(r"[\d.]+", cell))
    assert middle == 2.0 and 1.2 <= low < 1.8 and 2.2 < high <= 2.8
    # Random removal of one seed in five lowers the loss: resamples of that seed know no ratio.
    unsure = made_up_curves({"random": [0.1, 0.1, 0.1, 0.1, -0.3], "helpful": [0.2] * 5})
    cell = rows_of(unsure)[ARMS["helpful"].title]["at 10 %"]
    assert cell.endswith("∞)")
