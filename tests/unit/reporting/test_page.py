"""The page holds every figure, table and verdict, and no caption or name breaks it."""

import re
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

import page as page_script
from conftest import REPOSITORY
from wtrak.job.io import write_json
from wtrak.reporting.claims import VERDICTS
from wtrak.reporting.tables import html_page

SVG = '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>'


@pytest.fixture
def written(tmp_path):
    """The page of two figures, one table and two claims."""
    claims = pd.DataFrame(
        {
            "claim": ["is <near> 1", "holds"],
            "where": ["sec 1", "sec 2"],
            "paper": [1.0, None],
            "value": [1.05, 3.0],
            "unit": ["ratio", "1"],
            "low": [1.0, None],
            "high": [1.1, None],
            "verdict": ["reproduced", "refuted"],
            "target": ["figures/claims_figure", "tables/table1_robustness"],
            "note": ["a & b", "the most"],
        }
    )
    claims.to_csv(tmp_path / "claims.csv", index=False)
    inputs = [{"dataset": "digits", "source": "embedded"}, {"weights": "none", "source": "seed"}]
    jobs = {"head/a": {"seconds": 2.0}, "head/b": {"seconds": 3.0}, "page": {"seconds": 1.0}}
    record = {"inputs": inputs, "machine": {"cores": 2}, "commit": "abc", "jobs": jobs}
    record |= {"versions": {"numpy": "2.0"}, "made_with_other_versions": {}}
    write_json(tmp_path / "provenance.json", record)
    for name in ("claims_figure", "noisy_gallery_mine"):
        (tmp_path / f"{name}.svg").write_text(SVG, encoding="utf-8")
    frame = pd.DataFrame({"a": ["x"], "b": ["1"]})
    (tmp_path / "table1_robustness.html").write_text(
        html_page("Table 1: <mine>", {"Part": frame}, "foot"), encoding="utf-8"
    )
    figures = [str(tmp_path / f"{name}.svg") for name in ("claims_figure", "noisy_gallery_mine")]
    captions = {
        "claims_figure": "**At a glance.**",
        "noisy_gallery": "*Wrong* labels of {{ snakemake.wildcards.experiment }}.",
    }
    smk = SimpleNamespace(
        input=SimpleNamespace(
            claims=tmp_path / "claims.csv",
            provenance=tmp_path / "provenance.json",
            figures=figures,
            tables=[str(tmp_path / "table1_robustness.html")],
        ),
        output=[tmp_path / "index.html"],
        params=SimpleNamespace(
            captions=captions | {"table1_robustness": "Numbers."}, notice="QUICK & small"
        ),
    )
    smk.scriptdir = str(Path(page_script.__file__).parent)
    page_script.main(smk)
    return (tmp_path / "index.html").read_text("utf-8")


def test_page_holds_everything(written):
    """A figure, a table, a caption or a verdict would be missing."""
    assert written.count("data:image/svg+xml;base64,") == 2
    assert (
        "<strong>At a glance.</strong>" in written and "<em>Wrong</em> labels of mine." in written
    )
    assert "Table 1: &lt;mine&gt;" in written and "foot" in written and "Numbers." in written
    assert "is &lt;near&gt; 1" in written and "1.05 (1 to 1.1)" in written
    assert "unit: ratio. a &amp; b" in written and "unit: –. the most" in written
    for name in re.findall(r'href="?#(\w+)', written):
        assert re.search(rf'id="?{name}\b', written), name
    assert re.search(r"<b>1</b>reproduced", written) and re.search(r"<b>1</b>refuted", written)
    assert "not run" not in written
    assert "QUICK &amp; small" in written and "digits: embedded" in written and "abc" in written
    assert re.search(r"<td[^>]*>head</td><td[^>]*>2</td><td[^>]*>5</td>", written)


def test_page_is_read_on_a_phone(written):
    """A wide table would make the whole page wide."""
    assert "width=device-width" in written
    tables = written.count("<table>")
    assert tables >= 3 and len(re.findall(r'<div class="scroll">\s*<table>', written)) == tables


def test_page_needs_no_other_file(written):
    """Sent by mail, it would show empty frames."""
    assert not re.findall(r'(?:src|href)="(?!data:|#)[^"]*"', written)


def test_every_verdict_has_a_colour():
    """A verdict would stop the page."""
    assert set(page_script.COLORS) == set(VERDICTS)


def test_captions_are_valid():
    """A mistake in a caption would show on the page as an error of docutils, or not at all."""
    paths = sorted((REPOSITORY / "workflow" / "report").glob("*.rst"))
    assert len(paths) > 20
    for path in paths:
        if path.stem != "workflow":
            name = f"{path.stem}_mine" if path.stem.endswith("gallery") else path.stem
            caption = page_script.caption_of(name, {path.stem: path.read_text("utf-8")})
            text = page_script.paragraphs(caption)
            assert text.startswith("<p>") and "system-message" not in text, path.name
            assert "{{" not in text and "{%" not in text, path.name
