"""Every number that a reader sees stands in a CSV file, or in the provenance, with its unit."""

import fnmatch
import html
import json
import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from results.shown import (
    agrees,
    html_rows,
    html_tables,
    latex_tables,
    markdown_tables,
    missing,
    numbers_in,
    read_numbers,
    text_columns,
)
from wtrak.job.io import read_csv, read_json

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [] if "WTRAK_RESULTS" in os.environ else pytest.mark.slow


def tables(results):
    """Name, path without suffix and numbers of each table."""
    paths = sorted((results / "tables").glob("*.html"))
    assert paths
    for path in paths:
        yield path.stem, path, read_numbers(path.with_suffix(".numbers.csv"))


def test_numbers_of_tables_stand_in_their_files(results):
    """Somebody could read a number that no file has in full, or that is another there."""
    for name, path, numbers in tables(results):
        assert len(numbers), name
        assert not missing(html_tables(path.read_text("utf-8")), numbers), name
        found = markdown_tables(path.with_suffix(".md").read_text("utf-8"))
        assert not missing(found, numbers), name


def test_latex_shows_the_numbers_of_the_page(results):
    """A number in a paper would be another than the one that was checked."""
    for name, path, numbers in tables(results):
        shown = html_tables(path.read_text("utf-8"))
        found = latex_tables(path.with_suffix(".tex").read_text("utf-8"))
        assert len(found) == len(shown), name
        for (heading, rows), of in zip(shown.items(), found, strict=True):
            assert len(rows) == len(of), (name, heading)
            first = numbers.loc[numbers["part"] == heading, "column"]
            words = min(map(rows[0].index, first))
            for wanted, cells in zip(rows[1:], of[1:], strict=True):
                cells = [cell.replace(r"\%", "%") for cell in cells]
                assert cells[words:] == wanted[words:], (name, heading)


@pytest.fixture(scope="module")
def page(results):
    return (results / "index.html").read_text("utf-8")


def test_page_shows_the_numbers_of_the_tables(results, page):
    """The page would be of another run than the tables."""
    for name, _, numbers in tables(results):
        (section,) = re.findall(rf'<details id="{name}">(.*?)</details>', page, flags=re.S)
        assert not missing(html_tables(section), numbers), name


def test_verdicts_of_the_page_stand_in_the_ledger(results, page):
    """The front of the page would count or quote what the ledger does not say."""
    ledger = read_csv(results / "tables" / "claims.csv")
    counts = ledger["verdict"].value_counts()
    chips = re.findall(r"<b>(\d+)</b>([^<]+)</span>", page)
    assert {name: int(count) for count, name in chips} == counts.to_dict()
    (table,) = re.findall(r'<div id="verdicts">.*?<table>(.*?)</table>', page, flags=re.S)
    _, *rows = html_rows(table)
    assert len(rows) == len(ledger)
    for cells, row in zip(rows, ledger.itertuples(), strict=True):
        assert (cells[0], cells[1]) == (row.claim, row.verdict)
        known = [value for value in (row.paper,) if value == value]
        assert agrees(cells[2], known), (row.id, cells[2])
        values = [value for value in (row.value,) if value == value]
        if row.low == row.low and row.low != row.high:
            values += [row.low, row.high]
        assert agrees(cells[3], values), (row.id, cells[3])


def test_provenance_on_the_page_is_that_of_the_record(results, page):
    """The page would name another commit, machine or time than the record."""
    record = read_json(results / "provenance.json")
    end = page[page.index('<h2 id="provenance">') :]
    assert f"Commit {record['commit']}. " in end
    for key, value in record["machine"].items():
        assert f"{key}: {value}" in html.unescape(end)
    _, *rows = html_rows(re.search(r"<table>(.*?)</table>", end, flags=re.S).group(1))
    seconds = {}
    for name, job in record["jobs"].items():
        seconds.setdefault(name.split("/")[0], []).append(job["seconds"])
    assert {cells[0] for cells in rows} == seconds.keys()
    for rule, jobs, total in rows:
        assert int(jobs) == len(seconds[rule])
        assert agrees(total, [sum(seconds[rule])]), rule


def settings_of(results):
    """Numbers of the configuration and the inputs, as shares and as percentages, and few more."""
    record = read_json(results / "provenance.json")
    text = json.dumps([record["config"], record["inputs"]], ensure_ascii=False)
    text = re.sub(r'"[0-9a-f]{40,}"', '""', text)
    found = [value for value, _ in numbers_in(text)]
    found += map(float, re.findall(r"[\d.]+e-?\d+", text))
    # The confidence of intervals, and what formulas hold.
    return {round(factor * abs(value), 9) for value in [*found, 95, 1, 2] for factor in (1, 100)}


def test_words_of_tables_hold_settings_only(results):
    """A computed number in a heading, name or footer would stand in no file."""
    known = settings_of(results)
    for name, path, numbers in tables(results):
        page = path.read_text("utf-8")
        shown = html_tables(page)
        words = text_columns(shown, numbers)
        texts = [*shown, html.unescape(re.search(r'<p class="footer">(.*?)</p>', page).group(1))]
        for heading, (head, *rows) in shown.items():
            texts += head
            # Words of the ledger and of contradictions within the paper are typed, not computed.
            texts += [c for row in rows for c in row[: words[heading]] if name != "claims"]
        for text in texts:
            unknown = [v for v, _ in numbers_in(text) if round(abs(v), 9) not in known]
            assert not unknown, (name, text)


def test_numbers_in_figures_stand_in_a_file(results):
    """A legend would show what somebody has to read off a picture."""
    known = settings_of(results)
    files = [*(results / "tables").glob("*.numbers.csv"), *(results / "figures").glob("*.csv")]
    columns = ["value", "half_width", "low", "high"]
    frames = [read_csv(path).reindex(columns=columns) for path in files]
    values = np.concatenate([frame.to_numpy(float).ravel() for frame in frames])
    values = np.unique(values[np.isfinite(values)])
    for path in sorted((results / "figures").glob("*.svg")):
        # Titles of a gallery are labels of its images, and names in the ledger are typed.
        if path.stem.startswith(("gallery", "noisy_gallery")):
            continue
        claims = set(read_csv(results / "tables" / "claims.csv")["claim"])
        for text in re.findall(r"<!-- (.*?) -->", path.read_text("utf-8"), flags=re.S):
            # Ticks are numbers alone.
            if text in claims or not re.search(r"[^\W\d_]", re.sub(r"\\\w+", "", text)):
                continue
            for value, half in numbers_in(re.sub(r"[Qₖ]?\$\^?{?|}?\$", " ", text)):
                near = np.abs(np.abs(values) - abs(value)) <= half * (1 + 1e-6)
                assert round(abs(value), 9) in known or near.any(), (path.name, text, value)


# Tables of experiments, which show labels in the place of names.
LABELLED = ("assumptions_table", "detection_table", "head_removal_table", "ood_table")
LABELLED += ("attacks_table", "certificates_table", "suspects_table", "table1_robustness")


def test_tables_show_labels_instead_of_code_names(results):
    """A reader would have to know the configuration to understand a row."""
    config = read_json(results / "provenance.json")["config"]
    blocks = config["experiments"] | config["label_noise"]["settings"]
    names = {name for name, block in blocks.items() if "label" in block}
    for name in LABELLED:
        path = results / "tables" / f"{name}.html"
        shown = html_tables(path.read_text("utf-8")) if path.is_file() else {}
        cells = {cell for rows in shown.values() for row in rows for cell in row}
        assert not cells & names, name


def test_every_column_has_a_unit(results):
    """A reader could not say what a column is in."""
    columns = pd.read_csv(ROOT / "workflow" / "resources" / "columns.csv", dtype=str)
    assert columns["unit"].notna().all() and columns["meaning"].notna().all()
    assert not columns.duplicated(["files", "column"]).any()
    documented = list(zip(columns["files"], columns["column"], strict=True))
    found = [path for path in results.rglob("*.csv") if "published" not in path.parts]
    assert len(found) > 20
    for path in found:
        name = path.relative_to(results).as_posix()
        for column in pd.read_csv(path, nrows=0).columns:
            fitting = [
                (files, pattern)
                for files, pattern in documented
                if fnmatch.fnmatchcase(name, files) and fnmatch.fnmatchcase(column, pattern)
            ]
            # Rows of certain files before those of all, and a column's name before a pattern.
            special = [row for row in fitting if row[0] != "*"] or fitting
            named = [row for row in special if row[1] == column] or special
            assert len(named) == 1, (name, column, named)
