"""Table 1: constants beside the paper's, and what the inverse covariance enlarges."""

import numpy as np
import pandas as pd
import pytest

import table1_robustness as script
from chain import call
from wtrak.job.io import write_json

AGGREGATES = {"max": 900.0, "median": 20.0, "mean": 60.0}


def write_results(folder, reached=True):
    """Write results of one experiment, with a different number in each place."""
    constants = [
        {"metric": metric, "definition": definition, "aggregate": name, "lipschitz": scale * value}
        for (metric, definition), scale in {
            ("natural", "capped"): 1.0,
            ("euclidean", "gradient"): 10.0,
            ("euclidean", "spectral"): 1000.0,
        }.items()
        for name, value in AGGREGATES.items()
    ]
    pd.DataFrame(constants).to_csv(folder / "lipschitz.csv", index=False)
    names = {"max": 5.0, "median": 2.0, "mean": 3.0, "p10": 1.0, "p90": 4.0}
    enlarged = [
        {"of": of, "aggregate": name, "value": scale * value, "unit": unit}
        for of, scale, unit in (
            ("test_point", 1.0, "1/|phi|^2"),
            ("training_point", 10.0, "1/|phi|^2"),
            ("pair", 100.0, "1/|phi|^4"),
            ("aggregates", 1000.0, "1/|phi|^4"),
        )
        for name, value in names.items()
        if of != "aggregates" or not name.startswith("p")
    ]
    pd.DataFrame(enlarged).to_csv(folder / "enlargement.csv", index=False)
    at = {"natural": {"epsilon": 0.5, "deletions": 0.02}}
    at |= {"euclidean": {"epsilon": 0.1, "deletions": 0.004} if reached else None}
    record = {
        "paper_share": 0.687,
        "at_paper_share": at,
        "natural_over_euclidean_radius": 5.0 if reached else None,
        "euclidean_share_at_same_epsilon": 0.0,
        "euclidean_share_at_same_deletions": 0.01,
        "share_at_one_deletion": {"natural": 0.03, "euclidean": 0.0},
        "share_at_tenth_of_deletion": {"natural": 0.3, "euclidean": 0.04},
    }
    write_json(folder / "frontier.json", record)
    spaces = {"full": {"condition_number": 7.0}}
    spectrum = {"spaces": spaces, "n_train": 9, "ridge": 0.1, "effective_dimension": 4.0}
    write_json(folder / "spectrum.json", spectrum)
    accuracy = {"accuracy": 0.5}
    write_json(folder / "head.json", {"train": accuracy, "test": accuracy})
    record = {"dataset": "d", "weights": {"name": "w", "description": "w"}}
    write_json(folder / "provenance.json", record)


def written(folder, monkeypatch, paper, **changes):
    """The CSV file and the numbers shown of one experiment."""
    write_results(folder, **changes)
    monkeypatch.setattr(script, "provenance_line", lambda records, notice: notice)
    outputs = {"csv": "t.csv", "numbers": "n.csv", "md": "t.md", "tex": "t.tex", "html": "t.html"}
    inputs = {
        "lipschitz": ["lipschitz.csv"],
        "enlargements": ["enlargement.csv"],
        "frontiers": ["frontier.json"],
        "spectra": ["spectrum.json"],
        "heads": ["head.json"],
        "provenance": [],
    }
    given = {"experiments": ["mine"], "labels": {"mine": "my data"}, "notice": ""}
    call(script, folder, outputs, inputs=inputs, paper={"mine": paper}, **given)
    shown = pd.read_csv(folder / "n.csv")
    return pd.read_csv(folder / "t.csv"), shown, (folder / "t.md").read_text("utf-8")


def test_enlargements_and_radii_are_shown(tmp_path, monkeypatch):
    """A number would be that of another reading, metric or radius."""
    long, shown, _ = written(tmp_path, monkeypatch, {"amplification_euclidean": 1e4})
    rows = long[long["quantity"] == "enlargement"].set_index(["definition", "aggregate"])
    assert rows["value"]["pair", "median"] == 200 and rows["value"]["training_point", "p10"] == 10
    assert (rows["paper_value"] == 1e4).all() and len(rows) == 18
    value = shown.set_index(["part", "label", "column"]).sort_index()["value"]
    (part,) = [name for name in shown["part"].unique() if name.startswith("How many times")]
    for of, scale in {"pair": 100, "test_point": 1, "training_point": 10}.items():
        label = f"my data, {script.ENLARGED[of]}"
        assert value[part, label, "upper decile"] == 4 * scale
        assert value[part, label, "max"] == 5 * scale
    assert value[part, f"my data, {script.ENLARGED['aggregates']}", "mean"] == 3000
    (part,) = [name for name in shown["part"].unique() if name.startswith("Radius")]
    found = value[part, "my data"]
    assert dict(found) == {"Euclidean": 0.004, "natural": 0.02, "natural over Euclidean": 5.0}
    (part,) = [name for name in shown["part"].unique() if name.startswith("Pairs of")]
    found = value[part, "my data, a tenth of a deletion"]
    assert (found["Euclidean"], found["natural"]) == (4.0, 30.0)
    quantity = long.set_index(["quantity", "definition"])["value"]
    assert quantity["certified_natural", "a tenth of a deletion"] == 30
    assert quantity["certified_euclidean", "a tenth of a deletion"] == 4
    assert quantity["deletions_euclidean", "Euclidean certifies 68.7 %"] == 0.004
    assert quantity["radius_ratio"].item() == 5


def test_a_share_that_one_metric_does_not_reach_has_no_radius(tmp_path, monkeypatch):
    """The table would fail, or show a radius of the other metric."""
    long, shown, _ = written(tmp_path, monkeypatch, {}, reached=False)
    radii = shown[shown["part"].str.startswith("Radius")]
    assert list(radii["column"]) == ["natural"]
    assert long.loc[long["quantity"] == "radius_ratio", "value"].isna().all()


@pytest.mark.parametrize(
    ("paper", "name"), [(800, "max"), (61, "mean"), (30, "median"), (36, "mean")]
)
def test_the_aggregate_nearest_to_the_paper_is_named(paper, name):
    """The table would say that another aggregate is nearest; by ratio, as numbers span decades."""
    assert script.nearest(AGGREGATES, paper) == name


def test_every_aggregate_stands_beside_the_paper_s_number(tmp_path, monkeypatch):
    """A reader would compare the paper's number with the maximum alone."""
    _, shown, text = written(tmp_path, monkeypatch, {"lipschitz_natural": 55.0})
    natural = shown[shown["label"].str.contains("natural L,")].set_index("column")["value"]
    assert dict(natural) == AGGREGATES | {"paper": 55.0}
    (row,) = [line for line in text.splitlines() if "natural L," in line]
    assert row.split("|")[-2].strip() == "mean"
    (row,) = [line for line in text.splitlines() if "first over natural" in line]
    assert row.split("|")[-2].strip() == script.NONE
    assert script.nearest(AGGREGATES, None) == script.nearest(AGGREGATES, np.nan) == script.NONE
