"""Numbers as text, and tables in three formats."""

import pandas as pd
import pytest

from wtrak.reporting.tables import html_page, latex, markdown, number, percent


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (1.0, "1"),
        (76.4, "76.4"),
        (3015.2, "3,015"),
        (0.0123, "0.0123"),
        (1e-4, "1×10⁻⁴"),
        (7.71e7, "7.71×10⁷"),
        (99_999.0, "99,999"),
        (100_000.0, "1×10⁵"),
        (-2.5e-9, "-2.50×10⁻⁹"),
        (None, "–"),
        (float("nan"), "–"),
    ],
)
def test_number(value, text):
    """A table would show another number than was computed."""
    assert number(value) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0 %"), (0.687, "68.7 %"), (1.0, "100.0 %"), (4.85e-6, "4.9×10⁻⁴ %"), (None, "–")],
)
def test_percent_tells_little_from_nothing(share, text):
    """A share that is small but not zero would be printed as the paper's 0 %."""
    assert percent(share) == text


@pytest.fixture
def frame():
    frame = pd.DataFrame(
        {
            "experiment": ["a_b", "c"],
            "what": ["ε < 1 & κ", "x"],
            "value": ["1.5×10⁷ deletions", "–"],
        }
    )
    frame.attrs["text_columns"] = 2
    return frame


def test_bars_do_not_end_a_cell_of_markdown():
    """A column named Σ|τ| would be two, and every number below the wrong name."""
    frame = pd.DataFrame({"a|b": ["|x|"], "n": [1]})
    header, _, row = markdown(frame).splitlines()
    assert header.count("|") - header.count(r"\|") == 3
    assert row.count("|") - row.count(r"\|") == 3 and r"\|x\|" in row


def test_markdown_aligns_words_left_and_numbers_right(frame):
    """Columns of numbers could not be compared at a glance."""
    lines = markdown(frame).splitlines()
    assert lines[1].startswith("|:--") and lines[1].endswith("-:|")
    assert "| a_b " in lines[2] and "1.5×10⁷ deletions |" in lines[2]


def test_latex_escapes_and_typesets(frame):
    """The table would not compile."""
    text = latex(frame, "On κ & ε", "tab:x")
    assert r"a\_b & $\varepsilon$ < 1 \& $\kappa$ & $1.5\times10^{7}$ deletions" in text
    assert r"\caption{On $\kappa$ \& $\varepsilon$}" in text
    assert r"\begin{tabular}{llr}" in text


def test_html_escapes_and_says_its_footer(frame):
    """A name with < or & would break the page."""
    page = html_page("Title", {"Part <1>": frame}, "Data: x & y")
    assert "ε &lt; 1 &amp; κ" in page and "Part &lt;1&gt;" in page and "Data: x &amp; y" in page
    assert page.count("<tr>") == 3
