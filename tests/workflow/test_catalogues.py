"""A detector and a certificate are added at two places each, and reach scores, table and figure."""

import pandas as pd
import pytest

from conftest import QUICK, snakemake

pytestmark = pytest.mark.faults


def edit(path, before, after):
    """Replace a text that stands in a file once."""
    text = path.read_text("utf-8")
    assert text.count(before) == 1, (path, before)
    path.write_text(text.replace(before, after), "utf-8")


def made(repository, *targets):
    """Make targets of the quick run; returns its results."""
    snakemake(repository, *QUICK, *targets)
    return repository / "runs" / "quick" / "results"


def test_a_detector_needs_a_row_and_a_score(editable):
    """Its name would be missing in a table, or a figure break that does not know it."""
    labels = editable / "workflow" / "lib" / "wtrak" / "labels"
    edit(
        labels / "catalogue.py",
        '    "random": Detector(',
        '    "label_number": Detector("number of the label", "a dummy", ("red", "*", "-")),\n'
        '    "random": Detector(',
    )
    edit(
        labels / "detectors.py",
        '        "random": rng.random(len(labels)),',
        '        "label_number": labels.astype(float),\n        "random": rng.random(len(labels)),',
    )
    names = ("figures/detector_comparison.svg", "figures/noise_by_fit.svg")
    results = made(
        editable,
        "results/tables/detection_table.md",
        "results/tables/detection_by_fit_table.md",
        *(f"results/{name}" for name in names),
    )
    found = pd.read_csv(results / "tables" / "detection_table.csv")
    dummy = found[found["detector"] == "label_number"]
    assert len(dummy) == (found["detector"] == "random").sum() > 0
    assert dummy["auroc"].between(0, 1).all()
    for name in ("detection_table", "detection_by_fit_table"):
        assert "number of the label" in (results / "tables" / f"{name}.md").read_text("utf-8")
    for name in names:
        assert "number of the label" in (results / name).read_text("utf-8")


def test_a_certificate_needs_a_row_and_a_radius(editable):
    """It would be certified but not attacked, or missing in a table or a figure."""
    certificates = editable / "workflow" / "lib" / "wtrak" / "certificates"
    edit(
        certificates / "catalogue.py",
        '    ("natural", "direct"): Certificate(',
        '    ("natural", "halved"): Certificate("half of direct", True, "red", "-"),\n'
        '    ("natural", "direct"): Certificate(',
    )
    edit(
        certificates / "radii.py",
        '"direct": _direct}',
        '"direct": _direct, "halved": lambda pairs: _direct(pairs) / 2}',
    )
    tables = ("certificates_table", "attacks_table")
    figures = ("certificates_frontier", "certified_radii", "audit_tightness")
    results = made(
        editable,
        *(f"results/tables/{name}.md" for name in tables),
        *(f"results/figures/{name}.svg" for name in figures),
    )
    for folder in (results / "experiments").glob("digits*"):
        if (folder / "audit.csv").exists():
            audit = pd.read_csv(folder / "audit.csv")
            assert (audit["halved"] * 2 == audit["direct"]).all()
    for name in tables:
        assert "half of direct" in (results / "tables" / f"{name}.md").read_text("utf-8")
    for name in figures:
        assert "half of direct" in (results / "figures" / f"{name}.svg").read_text("utf-8")
