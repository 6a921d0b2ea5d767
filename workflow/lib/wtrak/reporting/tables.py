"""Format numbers, and write tables as Markdown, LaTeX, HTML and CSV."""

import math
import re
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from wtrak.errors import WtrakError
from wtrak.job.io import write_csv, write_text
from wtrak.reporting.html import render

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_LATEX = {"%": r"\%", "_": r"\_", "&": r"\&", "#": r"\#", "ε": r"$\varepsilon$", "λ": r"$\lambda$"}
_LATEX |= {"κ": r"$\kappa$", "√": r"$\surd$", "–": "--", "‖": r"$\|$", "φ": r"$\varphi$"}

# Marks the beginning and the end of the part of a table's page that the results page includes.
MARKER = "table"
# Columns of the CSV file with a table's numbers.
NUMBERS = ["part", "row", "label", "column", "value", "half_width", "low", "high", "unit"]


@dataclass(frozen=True)
class Cell:
    """The text of one cell of a table, and the numbers that it shows at full precision.

    Attributes
    ----------
    text : str
        The rounded `value`, `half_width`, `low` and `high`, in this order. NaN are left out.
    unit : str
        Unit of all four numbers.
    """

    text: str
    unit: str
    value: float = math.nan
    half_width: float = math.nan
    low: float = math.nan
    high: float = math.nan

    def __str__(self):
        return self.text


def number(value, digits=3):
    """A number with `digits` significant digits, and a power of ten if it is small or large."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if value == 0:
        return "0"
    exponent = math.floor(math.log10(abs(value)))
    if -2 <= exponent < 5:
        decimals = max(digits - 1 - exponent, 0)
        text = f"{value:,.{decimals}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    mantissa, power = f"{value:.{digits - 1}e}".split("e")
    mantissa = f"{float(mantissa):g}" if float(mantissa).is_integer() else mantissa
    return f"{mantissa}×10{str(int(power)).translate(_SUPERSCRIPTS)}"


def percent(share):
    """A share as a percentage with one decimal. Small shares keep two digits."""
    if share is None or math.isnan(share):
        return "–"
    if share == 0:
        return "0 %"
    if share < 0.0005:
        return f"{number(100 * share, 2)} %"
    return f"{100 * share:.1f} %"


def markdown(frame):
    """A data frame of text as a Markdown table, with numbers aligned to the right."""
    frame = frame.map(_markdown_cell).rename(columns=_markdown_cell)
    align = ["left"] * _text_columns(frame) + ["right"] * (frame.shape[1] - _text_columns(frame))
    return frame.to_markdown(index=False, colalign=align, disable_numparse=True) + "\n"


def latex(frame, caption, label):
    """A data frame of text as a LaTeX table (booktabs)."""
    escaped = frame.map(_latex_cell).rename(columns=_latex_cell)
    text = _text_columns(frame)
    return escaped.to_latex(
        index=False,
        escape=False,
        caption=_latex_cell(caption),
        label=label,
        column_format="l" * text + "r" * (frame.shape[1] - text),
    )


def html_page(title, parts, footer):
    """Data frames of text as one self-contained HTML page.

    Parameters
    ----------
    parts : dict of str to pandas.DataFrame
        The tables by heading.
    """
    tables = [(heading, frame, _text_columns(frame)) for heading, frame in parts.items()]
    template = Path(__file__).with_suffix(".html")
    return render(template, title=title, parts=tables, footer=footer, marker=MARKER)


def embedded(page):
    """The tables and the footer of a page that `html_page` wrote, as HTML."""
    _, body, _ = page.split(f"<!-- {MARKER} -->")
    return body


def write_documents(output, title, parts, footer, label):
    """Write tables to ``output.md``, ``output.tex``, ``output.html`` and ``output.numbers``.

    The last is a CSV file with every number that the tables show (see `numbers_of`).

    Parameters
    ----------
    parts : dict of str to pandas.DataFrame
        The tables by heading. They hold words and `Cell`.
    footer : str
        Data, weights and notice.
    label : str
        Beginning of the LaTeX labels. The number of the table is added.
    """
    # LaTeX's comment ends with its line.
    footer = " ".join(footer.split())
    sections = [f"{heading}:\n\n{markdown(frame)}" for heading, frame in parts.items()]
    write_text(output.md, "\n".join([f"# {title}\n", *sections, f"{footer}\n"]))
    tables = [
        latex(frame, heading, f"{label}-{k}")
        for k, (heading, frame) in enumerate(parts.items(), start=1)
    ]
    write_text(output.tex, "\n".join([f"% {footer}", *tables]))
    write_text(output.html, html_page(title, parts, footer))
    write_csv(output.numbers, numbers_of(parts))


def labelled(parts, labels):
    """The same tables with experiments called by their labels.

    Parameters
    ----------
    parts : dict of str to pandas.DataFrame
        Heading of each table; those with a column ``experiment`` hold names there.
    labels : dict of str to str
        Label of each name.

    Returns
    -------
    dict of str to pandas.DataFrame
    """
    out = {}
    for heading, frame in parts.items():
        if "experiment" in frame:
            attributes = frame.attrs
            frame = frame.assign(experiment=frame["experiment"].map(labels))
            frame.attrs = attributes
        out[heading] = frame
    return out


def numbers_of(parts):
    """The numbers of some tables, one row for each cell.

    Parameters
    ----------
    parts : dict of str to pandas.DataFrame
        The tables by heading. The leading columns hold words. In the other columns every text with
        a digit is a `Cell`.

    Returns
    -------
    pandas.DataFrame
        Columns part, row (counted from 1), label (the words of the row), column, value,
        half_width, low, high and unit.

    Raises
    ------
    WtrakError
        If a column of numbers has a text with a digit that is not a `Cell`, or two columns have the
        same name.
    """
    rows = []
    for heading, frame in parts.items():
        words = frame.attrs.get("text_columns", 1)
        names = [str(name).strip() for name in frame.columns]
        if len(set(names)) < len(names):
            raise WtrakError(f"tables: {heading!r} has two columns with the same name")
        for place, cells in enumerate(frame.itertuples(index=False, name=None), start=1):
            label = ", ".join(map(str, cells[:words]))
            for name, cell in zip(names[words:], cells[words:], strict=True):
                if isinstance(cell, Cell):
                    about = {"part": heading, "row": place, "label": label, "column": name}
                    rows.append(about | {name: getattr(cell, name) for name in NUMBERS[4:]})
                elif re.search(r"\d|∞", str(cell)):
                    raise WtrakError(
                        f"tables: {cell!r} in {heading!r}, {name!r} is text without a number"
                    )
    return pd.DataFrame(rows, columns=NUMBERS)


def _markdown_cell(cell):
    """Escape `|`, which would end the cell."""
    return str(cell).replace("|", r"\|")


def _text_columns(frame):
    """Number of leading columns that hold words; the rest hold numbers."""
    return frame.attrs.get("text_columns", 1)


def _latex_cell(cell):
    out = "".join(_LATEX.get(char, char) for char in str(cell))
    if "×10" in out:
        mantissa, power = out.split("×10", 1)
        digits = "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"
        run = len(power) - len(power.lstrip(digits))
        plain = power[:run].translate(str.maketrans(digits, "-0123456789"))
        out = rf"${mantissa}\times10^{{{plain}}}${power[run:]}"
    return out.replace("×", r"$\times$") if r"\times" not in out else out
