"""Every number that a reader sees stands in a CSV file, or in the provenance, with its unit."""

import html
import os
import re

import pytest

from results.shown import (
    agrees,
    html_rows,
    html_tables,
    latex_tables,
    markdown_tables,
    missing,
    read_numbers,
)
from wtrak.io import read_csv, read_json

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
    path = results / "index.html"
    # Checks may run before the page is written; the workflow runs them after it.
    return path.read_text("utf-8")


def test_page_shows_the_numbers_of_the_tables(results, page):
    """The page would be of another run than the tables."""
    for name, _, numbers in tables(results):
        (section,) = re.findall(rf"<details id={name}>(.*?)</details>", page, flags=re.S)
        assert not missing(html_tables(section), numbers), name


def test_verdicts_of_the_page_stand_in_the_ledger(results, page):
    """The front of the page would count or quote what the ledger does not say."""
    ledger = read_csv(results / "tables" / "claims.csv")
    chips = dict(re.findall(r"<b>(\d+)</b>([^<]+)</span>", page))
    counts = ledger["verdict"].value_counts()
    assert {html.unescape(name): int(count) for count, name in re.findall(
        r"<b>(\d+)</b>([^<]+)</span>", page
    )} == counts.to_dict(), chips
    (table,) = re.findall(r"<div id=verdicts>.*?<table>(.*?)</table>", page, flags=re.S)
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
    end = page[page.index("<h2 id=provenance>") :]
    assert f"Commit {record['commit']}. " in end
    for key, value in record["machine"].items():
        assert html.escape(f"{key}: {value}") in end
    _, *rows = html_rows(re.search(r"<table>(.*?)</table>", end, flags=re.S).group(1))
    seconds = {}
    for name, job in record["jobs"].items():
        seconds.setdefault(name.split("/")[0], []).append(job["seconds"])
    assert {cells[0] for cells in rows} == seconds.keys()
    for rule, jobs, total in rows:
        assert int(jobs) == len(seconds[rule])
        assert agrees(total, [sum(seconds[rule])]), rule
