"""Make cells of tables: the text that a reader sees, the numbers behind it and their unit.

Units are written as in ``workflow/resources/columns.csv``; ``1`` is a pure number.
"""

import math

from wtrak.reporting.intervals import mean_with_interval
from wtrak.reporting.tables import Cell, number, percent

# Text for a missing number.
NONE = "–"


def _missing(value):
    return value is None or math.isnan(value)


def _text_of(value, digits):
    return number(value, digits) if math.isfinite(value) else "∞"


def plain(value, unit, digits=3):
    """A number to `digits` significant digits, as `tables.number` writes it."""
    return NONE if _missing(value) else Cell(_text_of(value, digits), unit, value)


def fixed(value, decimals, unit):
    """A number with a fixed number of decimals."""
    return NONE if _missing(value) else Cell(f"{value:,.{decimals}f}", unit, value)


def count(value, unit):
    """A whole number."""
    return NONE if _missing(value) else Cell(f"{int(value):,}", unit, int(value))


def percentage(share, low=math.nan, high=math.nan):
    """A share in per cent, with the ends of its interval if given."""
    if _missing(share):
        return NONE
    text = percent(share)
    if not math.isnan(low):
        text += f" ({percent(low).removesuffix(' %')} to {percent(high).removesuffix(' %')})"
    return Cell(text, "%", 100 * share, low=100 * low, high=100 * high)


def mean_cell(values, decimals, unit, sign=""):
    """Mean over seeds ± half of its 95 % interval.

    The cell is a dash if a value is missing. One seed has no interval. With `sign` "+", positive
    numbers get a plus.
    """
    if values.isna().any():
        return NONE
    mean, half = mean_with_interval(values)
    text = f"{mean:{sign}.{decimals}f}"
    if not math.isnan(half):
        text += f" ± {half:.{decimals}f}"
    return Cell(text, unit, mean, half)


def with_ends(value, low, high, unit, digits=2):
    """A number with the ends of its interval, unless they are equal; they may be infinite."""
    if _missing(value):
        return NONE
    if low == high:
        return plain(value, unit, digits)
    ends = f"{_text_of(low, digits)} to {_text_of(high, digits)}"
    return Cell(f"{_text_of(value, digits)} ({ends})", unit, value, low=low, high=high)


def with_decimals(value, low, high, decimals, unit):
    """A number and the ends of its interval, with a fixed number of decimals."""
    if _missing(value):
        return NONE
    text = f"{value:.{decimals}f} ({low:.{decimals}f} to {high:.{decimals}f})"
    return Cell(text, unit, value, low=low, high=high)


def span(low, high, unit):
    """The smallest and the largest of several values."""
    if _missing(low):
        return NONE
    return Cell(f"{number(low)} to {number(high)}", unit, low=low, high=high)
