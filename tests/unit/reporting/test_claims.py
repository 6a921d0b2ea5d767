"""Verdicts follow from the numbers and the rules, and every claim has something that decides it."""

import csv
import json

import numpy as np
import pandas as pd
import pytest
import yaml

import claims as claims_script
import claims_figure as figure_script
from chain import call
from conftest import REPOSITORY
from wtrak.errors import WtrakError
from wtrak.reporting.claims import (
    DIRECTION,
    NOT_REPRODUCED,
    NOT_RUN,
    REFUTED,
    REPRODUCED,
    UNSTATED,
    VERDICTS,
    Evidence,
    evidence,
    reduced,
    selected,
    values_of,
    verdict,
)

RULES = yaml.safe_load((REPOSITORY / "config.yaml").read_text("utf-8"))["claims"]["rules"]


def rows_of(name):
    with (REPOSITORY / "workflow" / "resources" / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


CLAIMS = rows_of("paper_claims.csv")
RULE_FILES = sorted((REPOSITORY / "workflow" / "rules").glob("*.smk"))
SHOWN = "".join(path.read_text("utf-8") for path in RULE_FILES)


@pytest.mark.parametrize(
    ("rule", "paper", "value", "expected"),
    [
        ("number", 100.0, 109.0, REPRODUCED),
        ("number", 100.0, 92.0, REPRODUCED),
        ("number", 100.0, 51.0, DIRECTION),
        ("number", 100.0, 199.0, DIRECTION),
        ("number", 100.0, 201.0, NOT_REPRODUCED),
        ("number", 100.0, -100.0, NOT_REPRODUCED),
        ("share", 0.97, 0.985, REPRODUCED),
        ("share", 0.80, 0.88, DIRECTION),
        ("percent", 68.7, 0.0, NOT_REPRODUCED),
        ("count", 5130.0, 5129.0, NOT_REPRODUCED),
        ("order", 2.0, 1.04, REFUTED),
        ("order", 2.0, 1.95, REPRODUCED),
        ("correlation", None, -0.1, NOT_REPRODUCED),
        ("correlation", None, 0.1, DIRECTION),
        ("never", None, 0.0, REPRODUCED),
        ("never", None, 1.0, REFUTED),
        ("always", None, 0.97, DIRECTION),
        ("bound", None, 1.01, REFUTED),
        ("constant", None, 1.5, DIRECTION),
    ],
)
def test_verdict_is_what_the_rule_says(rule, paper, value, expected):
    """A claim would be called reproduced that is not, or the other way round."""
    assert verdict(Evidence(value), paper, RULES[rule]) == expected


def test_interval_and_choices_bear_on_the_verdict():
    """Noise would count against the paper, and a lucky choice for it."""
    rule = RULES["number"]
    assert verdict(Evidence(150.0, 90.0, 210.0), 100.0, rule) == REPRODUCED
    assert verdict(Evidence(150.0, 140.0, 160.0), 100.0, rule) == DIRECTION
    assert verdict(Evidence(150.0, sweep=(10.0, 1e4)), 100.0, rule) == UNSTATED
    assert verdict(Evidence(1e6, sweep=(10.0, 1e7)), 100.0, rule) == UNSTATED
    assert verdict(Evidence(1e6, sweep=(200.0, 1e7)), 100.0, rule) == NOT_REPRODUCED
    # What is reproduced as configured depends on nothing.
    assert verdict(Evidence(101.0, sweep=(10.0, 1e4)), 100.0, rule) == REPRODUCED
    assert verdict(None, 100.0, rule) == NOT_RUN


def test_rows_and_values_are_those_that_are_named():
    """A claim would be decided by another number."""
    frame = pd.DataFrame(
        {"a": ["x", "x", "y"], "n": [1.0, 2.0, 2.0], "v": [3.0, 4.0, 5.0], "w": [1.0, 2.0, 5.0]}
    )
    assert list(selected(frame, "a=x;n=2")["v"]) == [4.0]
    assert list(selected(frame, "a=x|y; n=2.0")["v"]) == [4.0, 5.0]
    assert len(selected(frame, "")) == 3
    with pytest.raises(WtrakError, match="no column 'b'"):
        selected(frame, "b=1")
    np.testing.assert_allclose(values_of(frame, "v / w"), [3, 2, 1])
    np.testing.assert_allclose(values_of(frame, "v; w"), [3, 4, 5, 1, 2, 5])
    np.testing.assert_allclose(values_of(frame, "a != 'x'"), [0, 0, 1])


def test_reductions():
    """A mean would be a maximum, or one of many values be taken for the only one."""
    values = np.array([1.0, 2.0, 6.0])
    expected = {"median": 2, "sum": 9, "least": 1, "most": 6, "spread": 6}
    for how, value in expected.items():
        assert reduced(values, how)[0] == value
    mean, low, high = reduced(values, "mean")
    assert mean == 3 and low == pytest.approx(3 - (high - 3))
    assert reduced(values[:1], "value")[0] == 1
    for bad in (values, values[:0]):
        with pytest.raises(WtrakError, match="value is wanted"):
            reduced(bad, "value")
    with pytest.raises(WtrakError, match="not a number"):
        reduced(np.array([1.0, np.nan]), "most")
    with pytest.raises(WtrakError, match="expected one of"):
        reduced(values, "mode")


def test_evidence_from_files(tmp_path):
    """JSON and CSV would be read differently, or another experiment's rows."""
    (tmp_path / "s.json").write_text(json.dumps({"a": {"b": 4.0}}), encoding="utf-8")
    frame = pd.DataFrame({"experiment": ["one", "two"], "value": [3.0, 9.0], "low": [2.0, 8.0]})
    frame.assign(high=frame["value"] + 1).to_csv(tmp_path / "t.csv", index=False)
    claim = {"select": "", "column": "a_b ** 0.5", "reduce": "value"}
    sources = {"source": str(tmp_path / "s.json"), "experiment": "two"}
    assert evidence(claim, sources).value == 2
    claim = {"select": "experiment={experiment}", "column": "value", "reduce": "value"}
    claim |= {"sweep_select": "", "sweep_column": "value; low"}
    sources |= {"source": str(tmp_path / "t.csv"), "sweep": str(tmp_path / "t.csv")}
    assert evidence(claim, sources) == Evidence(9.0, 8.0, 10.0, (2.0, 9.0))
    assert evidence(claim, sources | {"experiment": "three"}) is None
    # A ratio to a rise that is none has no value, and decides nothing.
    assert evidence(claim | {"column": "value * 0 / (value - value)"}, sources) is None


def test_every_claim_can_be_decided():
    """A claim would have no verdict, or one by a rule that is not written down."""
    assert len({claim["id"] for claim in CLAIMS}) == len(CLAIMS) > 35
    for claim in CLAIMS:
        assert claim["rule"] in RULES, claim["id"]
        assert claim["source"] and claim["column"] and claim["reduce"], claim["id"]
        against_paper = RULES[claim["rule"]]["compare"] in ("factor", "absolute")
        assert not against_paper or claim["paper_value"], claim["id"]
        kind, _, name = claim["target"].partition("/")
        assert kind in ("figures", "tables") and f'"{name}"' in SHOWN, claim["id"]
        assert claim["where"] and claim["claim"] and claim["kind"] and claim["experiment"]


def test_ledger_and_figure(tmp_path):
    """The page that a reader comes for would be missing a claim, or a verdict its colour."""
    frame = pd.DataFrame({"a": [110.0], "low": [90.0], "high": [120.0]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    shared = {
        "where": "sec 1",
        "kind": "number",
        "unit": "ratio",
        "experiment": "mine",
        "select": "",
        "column": "a",
    }
    shared |= {"reduce": "value", "target": "figures/x", "note": "a | b"}
    claims = [
        shared | {"id": "near", "claim": "is near", "paper_value": "100", "rule": "number"},
        shared | {"id": "order", "claim": "is 2", "paper_value": "2", "rule": "order"},
        shared | {"id": "bound", "claim": "holds", "paper_value": "", "rule": "bound"},
        shared | {"id": "absent", "claim": "elsewhere", "paper_value": "1", "rule": "number"},
    ]
    sources = {
        claim["id"]: {"source": str(tmp_path / "t.csv"), "experiment": "mine"} for claim in claims
    } | {"absent": {}}
    outputs = {suffix: f"claims.{suffix}" for suffix in ("csv", "numbers", "md", "tex", "html")}
    against = rows_of("paper_inconsistencies.csv")
    call(
        claims_script,
        tmp_path,
        outputs,
        inputs={},
        claims=claims,
        inconsistencies=against,
        sources=sources,
        rules=RULES,
        notice="QUICK",
    )
    ledger = pd.read_csv(tmp_path / "claims.csv").set_index("id")
    assert list(ledger["verdict"]) == [REPRODUCED, REFUTED, REFUTED, NOT_RUN]
    assert ledger.loc["near", "low"] == 90
    text = (tmp_path / "claims.md").read_text("utf-8")
    assert "3,027" in text and "absent" in text and "QUICK" in text
    with pytest.raises(WtrakError, match="not configured"):
        claims_script.decided(claims[0] | {"rule": "nope"}, {}, RULES)
    images = {"svg": "f.svg", "pdf": "f.pdf"}
    call(figure_script, tmp_path, images, inputs={"ledger": "claims.csv"}, notice="")
    assert (tmp_path / "f.svg").read_text("utf-8").startswith("<?xml")
    assert set(figure_script.STYLES) == set(VERDICTS)
