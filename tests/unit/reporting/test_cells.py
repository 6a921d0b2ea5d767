"""Cells of tables: the text that a reader sees and the numbers behind it."""

import pandas as pd
import pytest

from wtrak.reporting.cells import (
    NONE,
    count,
    fixed,
    mean_cell,
    percentage,
    plain,
    span,
    with_decimals,
    with_ends,
)


def test_cells_without_a_number_are_dashes():
    """A reader would find nan in a cell."""
    nan = float("nan")
    cells = [plain(nan, "1"), fixed(None, 2, "1"), count(nan, "1"), percentage(None)]
    cells += [with_ends(nan, 1, 2, "1"), span(nan, nan, "1")]
    cells += [mean_cell(pd.Series([1.0, nan]), 2, "1"), with_decimals(nan, nan, nan, 2, "1")]
    assert cells == [NONE] * len(cells)
    assert str(mean_cell(pd.Series([1.0]), 2, "1")) == "1.00"
    assert str(with_ends(2.0, 2.0, 2.0, "ratio")) == "2"
    assert str(percentage(0.5, nan, nan)) == "50.0 %"


def test_a_share_shows_the_ends_of_its_interval():
    """0 % ± 0 would be printed where nothing was seen in a few cases."""
    cell = percentage(0.0, 0.0, 0.0713)
    assert str(cell) == "0 % (0 to 7.1)"
    assert (cell.value, cell.low, cell.high, cell.unit) == (0, 0, pytest.approx(7.13), "%")
    assert str(percentage(0.062, 0.06, 0.0641)) == "6.2 % (6.0 to 6.4)"
