"""Find the numbers that tables and the page show, and compare them with the CSV files."""

import html
import math
import re

import pandas as pd

_DIGITS = "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"
_NUMBER = re.compile(rf"((?<![\w²])[-+−])?(\d[\d,]*(?:\.\d+)?)(?:×10([{_DIGITS}]+))?|∞")
_TAG = re.compile(r"<[^>]*>")


def numbers_in(text):
    """Numbers in a text, each with half a unit of its last digit.

    Returns
    -------
    list of tuple of float
        The number, and by how much what it was rounded from may differ.
    """
    found = []
    for match in _NUMBER.finditer(text):
        if match.group() == "∞":
            found.append((math.inf, 0.0))
            continue
        sign, digits, power = match.groups()
        digits = digits.rstrip(",").replace(",", "")
        scale = 10.0 ** int((power or "⁰").translate(str.maketrans(_DIGITS, "-0123456789")))
        half = 0.5 * 10.0 ** -len(digits.partition(".")[2])
        value = float(digits) * (-1 if sign in ("-", "−") else 1)
        # A whole number may stand for a rounded one, so it is taken as exact to two digits.
        half = half if "." in digits else min(half, 0.05 * abs(value))
        found.append((value * scale, half * scale))
    return found


def agrees(shown, values):
    """Whether the numbers in a text are rounded values of `values`, in this order."""
    found = numbers_in(shown)
    return len(found) == len(values) and all(
        number == value
        or (math.isfinite(value) and abs(number - value) <= half * (1 + 1e-6) + 1e-12 * abs(value))
        for (number, half), value in zip(found, values, strict=True)
    )


def html_tables(page):
    """Rows of cells of each table of an HTML page, by heading. The first row is the head."""
    out = {}
    pattern = r'<h3>(.*?)</h3>\s*(?:<div class="scroll">)?<table>(.*?)</table>'
    for heading, body in re.findall(pattern, page, flags=re.S):
        out[html.unescape(heading)] = html_rows(body)
    return out


def html_rows(body):
    """Rows of cells of one HTML table, without the small print in cells."""
    return [
        [
            html.unescape(_TAG.sub("", re.sub(r"<br><small>.*?</small>", "", cell, flags=re.S)))
            for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, flags=re.S)
        ]
        for row in re.findall(r"<tr>(.*?)</tr>", body, flags=re.S)
    ]


def markdown_tables(text):
    """Rows of cells of each table of a Markdown file, by heading."""
    out, heading = {}, None
    for line in text.splitlines():
        if line.startswith("|"):
            cells = re.split(r"(?<!\\)\|", line)[1:-1]
            rows = out.setdefault(heading, [])
            if not re.fullmatch(r"\|[:\-|]+", line):
                rows.append([cell.strip().replace(r"\|", "|") for cell in cells])
        elif line.endswith(":"):
            heading = line[:-1]
    return out


def latex_tables(text):
    """Rows of cells of each table of a LaTeX file, in order. Words keep their markup."""
    out = []
    for body in re.findall(r"\\toprule\n(.*?)\\bottomrule", text, flags=re.S):
        rows = []
        for line in body.replace("\\midrule\n", "").splitlines():
            line = line.removesuffix(r" \\")
            line = re.sub(r"\\times10\^{(-?\d+)}", _superscript, line)
            line = line.replace("--", "–").replace(r"$\times$", "×")
            rows.append([c.strip().replace("$", "") for c in re.split(r"(?<!\\)&", line)])
        out.append(rows)
    return out


def _superscript(match):
    return "×10" + match.group(1).translate(str.maketrans("-0123456789", _DIGITS))


def missing(tables, numbers):
    """Numbers that tables show and their CSV file lacks, or the other way round.

    Parameters
    ----------
    tables : dict of str to list
        Rows of cells by heading, the head first.
    numbers : pandas.DataFrame
        ``tables/*.numbers.csv``.

    Returns
    -------
    list of str
        One description for each number, with its place.
    """
    out, used = [], 0
    places = {(row["part"], row["row"], row["column"]): row for row in numbers.to_dict("records")}
    words = text_columns(tables, numbers)
    for heading, (head, *rows) in tables.items():
        for place, cells in enumerate(rows, start=1):
            label = ", ".join(cells[: words[heading]])
            for column, cell in list(zip(head, cells, strict=True))[words[heading] :]:
                row = places.get((heading, place, column))
                where = f"{heading}, row {place} ({label}), {column}: {cell!r}"
                if row is None:
                    if numbers_in(cell):
                        out.append(f"{where} is in no row of the CSV file")
                    continue
                used += 1
                values = [row[name] for name in ("value", "half_width", "low", "high")]
                values = [value for value in values if not math.isnan(value)]
                if not values or not agrees(cell, values):
                    out.append(f"{where}, but the CSV file has {values}")
                if str(row["label"]) != label:
                    out.append(f"{where}, but the CSV file calls the row {row['label']!r}")
                if not str(row["unit"]).strip() or row["unit"] != row["unit"]:
                    out.append(f"{where} has no unit")
    if used < len(numbers):
        out.append(f"{len(numbers) - used} rows of the CSV file are shown nowhere")
    return out


def text_columns(tables, numbers):
    """Number of leading columns of each table with words, from which row labels are made."""
    out = {}
    for heading, (_, *rows) in tables.items():
        group = numbers[numbers["part"] == heading]
        out[heading] = 1
        if len(group):
            first = group.iloc[0]
            cells = rows[min(int(first["row"]), len(rows)) - 1]
            for count in range(1, len(cells) + 1):
                if ", ".join(cells[:count]) == str(first["label"]):
                    out[heading] = count
    return out


def read_numbers(path):
    """``tables/*.numbers.csv``; labels stay text, even if they look like numbers."""
    return pd.read_csv(path, dtype={"label": str, "column": str, "unit": str}, keep_default_na=True)
