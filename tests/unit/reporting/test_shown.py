"""The comparison of pages with CSV files sees every number that differs."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from results.shown import (
    agrees,
    html_tables,
    latex_tables,
    markdown_tables,
    missing,
    numbers_in,
    read_numbers,
)
from wtrak.errors import WtrakError
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
from wtrak.reporting.tables import numbers_of, write_documents

CELLS = {
    "plain": plain(1.2345e7, "ratio"),
    "count": count(12_345, "pairs"),
    "percent": percentage(5.42e-5, 1.2e-6, 1.5e-4),
    "mean": mean_cell(pd.Series([-0.12, -0.18]), 3, "share", "+"),
    "ends": with_ends(326.4, 99.1, np.inf, "ratio"),
    "decimals": with_decimals(0.36, -0.02, 0.4, 3, "correlation"),
    "span": span(2.594, 7.98e7, "ratio"),
    "fixed": fixed(1234.5678, 2, "seconds"),
    "infinite": plain(np.inf, "deletions"),
    "none": NONE,
}


@pytest.fixture
def written(tmp_path):
    """One table with a cell of every kind, in every format."""
    frame = pd.DataFrame([{"name": "a|b_2", "what": "x", **CELLS}])
    frame.attrs["text_columns"] = 2
    names = ("md", "tex", "html", "numbers")
    output = SimpleNamespace(**{name: tmp_path / f"t.{name}" for name in names})
    write_documents(output, "Title", {"Part, 95 %": frame}, "Data: 3.", "tab:t")
    return output


def found(output):
    """What is missing from the HTML and from the Markdown page."""
    numbers = read_numbers(output.numbers)
    return [
        missing(html_tables(output.html.read_text("utf-8")), numbers),
        missing(markdown_tables(output.md.read_text("utf-8")), numbers),
    ]


def test_pages_agree_with_their_file(written):
    """A sound table would be reported, or not be read at all."""
    assert found(written) == [[], []]
    assert len(read_numbers(written.numbers)) == len(CELLS) - 1
    (_, cells), (_, wanted) = (
        latex_tables(written.tex.read_text("utf-8"))[0],
        html_tables(written.html.read_text("utf-8"))["Part, 95 %"],
    )
    assert [cell.replace(r"\%", "%") for cell in cells[2:]] == wanted[2:]


@pytest.mark.parametrize("column", [name for name in CELLS if name != "none"])
@pytest.mark.parametrize("page", ["html", "md"])
def test_an_altered_number_of_a_page_is_seen(written, column, page):
    """A page could show a number that was never computed."""
    path = getattr(written, page)
    text, shown = path.read_text("utf-8"), str(CELLS[column])
    digit = next((c for c in shown if c.isdigit()), "∞")
    altered = shown.replace(digit, str((int(digit) + 1) % 10) if digit != "∞" else "7", 1)
    before, _, after = text.rpartition(shown)
    path.write_text(before + altered + after, "utf-8")
    assert sum(map(bool, found(written))) == 1


@pytest.mark.parametrize("column", [name for name in CELLS if name != "none"])
def test_a_number_dropped_from_the_file_is_seen(written, column):
    """A number could stand on the page alone."""
    numbers = pd.read_csv(written.numbers)
    numbers[numbers["column"] != column].to_csv(written.numbers, index=False)
    assert all(found(written))


def test_a_column_without_its_half_width_or_unit_is_seen(written):
    """An interval, or what a number is in, would stand nowhere."""
    numbers = pd.read_csv(written.numbers)
    for column in ("half_width", "low", "unit"):
        numbers.assign(**{column: np.nan}).to_csv(written.numbers, index=False)
        assert all(found(written)), column


def test_rows_that_nothing_shows_are_seen(written):
    """The file would be of another table than the page."""
    numbers = pd.read_csv(written.numbers)
    pd.concat([numbers, numbers.tail(1).assign(row=9)]).to_csv(written.numbers, index=False)
    assert all(found(written))


def test_a_digit_without_a_number_is_refused():
    """A new column could show text that no file holds as a number."""
    for cell in ("12", 12, "ε = 0.1", "∞"):
        with pytest.raises(WtrakError, match="text without a number"):
            numbers_of({"Part": pd.DataFrame({"name": ["a"], "b": [cell]})})
    twice = pd.DataFrame([["a", CELLS["plain"], CELLS["count"]]], columns=["name", "b", "b "])
    with pytest.raises(WtrakError, match="two columns"):
        numbers_of({"Part": twice})


def test_numbers_are_read_as_they_are_written():
    """A sign, a power or a separator would be lost, and any number agree."""
    read = [value for value, _ in numbers_in("−1,234.5 (-2×10⁻⁴ to ∞), 1–2, n−1, top_5")]
    assert read == [-1234.5, -2e-4, np.inf, 1, 2, 1, 5]
    assert agrees("1×10⁻⁴", [1.04e-4]) and not agrees("1×10⁻⁴", [1.1e-4])
    assert agrees("10", [10.4]) and not agrees("10", [10.6]) and not agrees("2", [2.4])
    assert agrees("0.36", [0.3649]) and not agrees("0.36", [0.3651])
    assert not agrees("1 ± 2", [1.0]) and not agrees("1", [1.0, 2.0])
