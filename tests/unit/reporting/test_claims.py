"""Verdicts follow from the numbers and the rules, and every claim has something that decides it."""

import csv
import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import yaml

import claims as claims_script
import claims_figure as figure_script
from chain import call
from conftest import REPOSITORY
from rulegraph import SHOWN
from wtrak.errors import WtrakError
from wtrak.reporting.claims import (
    DIRECTION,
    IDENTITY,
    NO_VERDICT,
    NOT_REPRODUCED,
    NOT_RUN,
    REFUTED,
    REPRODUCED,
    UNSTATED,
    VERDICTS,
    Evidence,
    evidence,
    has_interval,
    ours,
    reduced,
    selected,
    short,
    values_of,
    verdict,
)

RULES = yaml.safe_load((REPOSITORY / "config.yaml").read_text("utf-8"))["claims"]["rules"]


def rows_of(name):
    with (REPOSITORY / "workflow" / "resources" / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


CLAIMS = rows_of("paper_claims.csv")


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
    claim = {"select": "", "column": "a_b ** 0.5", "reduce": "value", "unit": "1"}
    sources = {"source": str(tmp_path / "s.json"), "experiment": "two"}
    assert evidence(claim, sources).value == 2
    claim |= {"select": "experiment={experiment}", "column": "value"}
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
        assert (kind.removesuffix("s"), name) in SHOWN, claim["id"]
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
        judged=True,
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


@pytest.mark.parametrize(
    ("found", "paper", "expected"),
    [
        (Evidence(1.5), 1.0, REPRODUCED),
        (Evidence(0.5), 1.0, REPRODUCED),
        (Evidence(2.0), 1.0, DIRECTION),
        (Evidence(2.125), 1.0, NOT_REPRODUCED),
        (Evidence(9.0, 1.0, 17.0), 1.0, REPRODUCED),
        (Evidence(9.0, 1.0, 17.0), 17.0, REPRODUCED),
        (Evidence(9.0, 1.0, 17.0), 0.875, NOT_REPRODUCED),
        (Evidence(9.0, sweep=(1.0, 17.0)), 1.0, UNSTATED),
        (Evidence(9.0, sweep=(1.0, 17.0)), 17.0, UNSTATED),
        (Evidence(9.0, sweep=(1.0, 17.0)), 17.125, NOT_REPRODUCED),
    ],
)
def test_a_limit_belongs_to_what_it_limits(found, paper, expected):
    """A value at the limit would be judged as one beyond it."""
    rule = {"compare": "absolute", "reproduced": 0.5, "direction": 1.0}
    assert verdict(found, paper, rule) == expected


def test_limits_of_rules_without_a_papers_value():
    """A value at its own limit would fail, or one beyond it pass."""
    least = {"compare": "at_least", "reproduced": 2.0, "direction": 0.5, "otherwise": REFUTED}
    most = {"compare": "at_most", "reproduced": 0.5, "direction": 2.0}
    expected = {2.0: REPRODUCED, 1.75: DIRECTION, 0.5: DIRECTION, 0.25: REFUTED}
    assert {value: verdict(Evidence(value), None, least) for value in expected} == expected
    expected = {0.5: REPRODUCED, 0.75: DIRECTION, 2.0: DIRECTION, 2.25: NOT_REPRODUCED}
    assert {value: verdict(Evidence(value), None, most) for value in expected} == expected


LEAST = {"compare": "at_least", "reproduced": 2.0, "direction": 1.0, "otherwise": REFUTED}
MOST = {"compare": "at_most", "reproduced": 1.0, "direction": 2.0}


@pytest.mark.parametrize(
    ("rule", "found", "expected"),
    [
        (LEAST, Evidence(3.0, 2.0, 4.0), REPRODUCED),
        (LEAST, Evidence(3.0, 1.75, 4.0), DIRECTION),
        (LEAST, Evidence(3.0, 0.5, 4.0), REFUTED),
        (MOST, Evidence(0.5, 0.0, 1.0), REPRODUCED),
        (MOST, Evidence(0.5, 0.0, 1.25), DIRECTION),
        (MOST, Evidence(0.5, -4.0, 4.0), NOT_REPRODUCED),
        (LEAST, Evidence(3.0, sweep=(2.0, 9.0)), REPRODUCED),
        (LEAST, Evidence(3.0, sweep=(1.5, 9.0)), UNSTATED),
        (LEAST, Evidence(0.5, sweep=(0.0, 0.75)), REFUTED),
        (LEAST, Evidence(0.5, sweep=(0.0, 1.0)), UNSTATED),
        (MOST, Evidence(9.0, sweep=(0.5, 9.0)), UNSTATED),
        (MOST, Evidence(9.0, sweep=(2.5, 9.0)), NOT_REPRODUCED),
    ],
)
def test_limits_judge_the_end_that_speaks_against(rule, found, expected):
    """Chance, or the choice that suits it best, would make a claim hold."""
    assert verdict(found, None, rule) == expected


def test_identities_are_no_evidence_for_the_paper():
    """A number that the setting fixes would be counted among what was reproduced."""
    count = RULES["count"]
    assert verdict(Evidence(10.0), 10.0, count, "identity") == IDENTITY
    assert verdict(Evidence(9.0), 10.0, count, "identity") == NOT_REPRODUCED
    assert verdict(Evidence(10.0), 10.0, count, "number") == REPRODUCED
    assert verdict(None, 10.0, count, "identity") == NOT_RUN


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        ("share", (0.0, 1.0)),
        ("correlation", (-1.0, 1.0)),
        ("%", (0.0, 100.0)),
        ("1", (-3.0, 400.0)),
    ],
)
def test_intervals_end_where_the_quantity_does(found, unit, expected):
    """A share above 1 would be shown."""
    frame = pd.DataFrame({"value": [0.5], "low": [-3.0], "high": [400.0]})
    claim = {"column": "value", "unit": unit}
    assert found(frame, claim) == Evidence(0.5, *expected)
    without = found(frame[["value"]], claim)
    assert np.isnan([without.low, without.high]).all()


def test_mean_stands_beside_a_maximum(found):
    """The paper does not say which it took, and readers would see one of them."""
    frame = pd.DataFrame({"aggregate": ["max", "mean", "median"], "value": [9.0, 2.0, 1.0]})
    claim = {"select": "aggregate=max", "column": "value"}
    assert np.isnan(found(frame, claim).mean)
    both = found(frame, claim | {"mean_select": "aggregate=mean"})
    assert (both.value, both.mean) == (9, 2)


def test_other_experiments_than_the_papers_judge_nothing(tmp_path):
    """A run on 1,437 digits would refute the paper."""
    pd.DataFrame({"a": [3.0]}).to_csv(tmp_path / "t.csv", index=False)
    claim = {"id": "x", "where": "sec 1", "claim": "is 2", "kind": "number", "unit": "ratio"}
    claim |= {"experiment": "mine", "select": "", "column": "a", "reduce": "value"}
    claim |= {"target": "figures/x", "note": "", "rule": "order", "paper_value": "2"}
    sources = {"source": str(tmp_path / "t.csv"), "experiment": "mine"}
    row = claims_script.decided(claim, sources, RULES, judged=False)
    assert (row["value"], row["verdict"]) == (3, NO_VERDICT)
    assert claims_script.decided(claim, sources, RULES)["verdict"] == REFUTED


def test_zero_and_the_other_sign_are_no_factor_away():
    """A division by zero would end the run, or a negative number seem near."""
    rule = {"compare": "factor", "reproduced": 2.0}
    for value in (0.0, -4.0):
        assert verdict(Evidence(value), 4.0, rule) == NOT_REPRODUCED
    for value in (2.0, 8.0):
        assert verdict(Evidence(value), 4.0, rule) == REPRODUCED


def test_reductions_by_hand():
    """Two values would pass for one, an interval be turned round, or a ratio be a product."""
    with pytest.raises(WtrakError, match="2 values where value is wanted"):
        reduced(np.array([1.0, 1.0]), "value")
    assert reduced(np.array([2.0, 4.0, 6.0]), "spread")[0] == 3
    mean, low, high = reduced(np.array([1.0, 2.0, 6.0]), "mean")
    # Student's 97.5 % quantile of two degrees of freedom.
    half = 4.302652729911275 * np.sqrt(7 / 3)
    assert (mean, low, high) == pytest.approx((3, 3 - half, 3 + half), rel=1e-9)


def test_rows_are_found_by_what_is_true():
    """Truth values would be read as numbers."""
    frame = pd.DataFrame({"held": [True, False, True], "value": [1.0, 2.0, 3.0]})
    assert list(selected(frame, "held=True")["value"]) == [1, 3]
    assert list(selected(frame, "held=False")["value"]) == [2]


@pytest.fixture
def found(tmp_path):
    """Maps a results table and a claim to its evidence."""

    def of(frame, claim, sweep=None):
        frame.to_csv(tmp_path / "table.csv", index=False)
        sources = {"source": str(tmp_path / "table.csv"), "experiment": "mine"}
        if sweep is not None:
            sweep.to_csv(tmp_path / "sweep.csv", index=False)
            sources["sweep"] = str(tmp_path / "sweep.csv")
        return evidence({"select": "", "reduce": "value", "unit": "1"} | claim, sources)

    return of


def test_what_is_absent_is_not_run_and_what_is_undefined_is_refused(found):
    """A gap in the results would decide a claim, or end the run."""
    frame = pd.DataFrame({"name": ["a", "b", "b"], "value": [np.nan, np.nan, 2.0]})
    for how in ("value", "mean", "most"):
        assert found(frame, {"select": "name=c", "column": "value", "reduce": how}) is None
    assert found(frame, {"select": "name=a", "column": "value"}) is None
    with pytest.raises(WtrakError, match="1 values are not a number"):
        found(frame, {"select": "name=a", "column": "value", "reduce": "most"})
    with pytest.raises(WtrakError, match="2 values where value is wanted"):
        found(frame, {"select": "name=b", "column": "value"})


def test_interval_is_that_of_one_row_alone(found):
    """The interval of the first of several rows would be taken for that of their mean."""
    frame = pd.DataFrame({"low": [1.0], "high": [4.0]})
    assert found(frame, {"column": "low * high"}) == Evidence(4.0, 1.0, 4.0)
    frame = pd.DataFrame({"value": [1.0, 3.0], "low": [0.0, 2.0], "high": [2.0, 4.0]})
    several = found(frame, {"column": "value", "reduce": "median"})
    assert several.value == 2 and np.isnan([several.low, several.high]).all()
    alone = found(frame[:1].drop(columns="low"), {"column": "value"})
    assert np.isnan([alone.low, alone.high]).all()


def test_sweep_is_of_the_experiment_and_of_numbers(found):
    """Another experiment's choices would bear on the claim, or an infinite one reach anything."""
    frame = pd.DataFrame({"value": [1.0]})
    sweep = pd.DataFrame(
        {"experiment": ["mine"] * 4 + ["other"], "x": [3.0, 2.0, np.inf, np.nan, 9.0]}
    )
    claim = {"column": "value", "sweep_select": "experiment={experiment}", "sweep_column": "x"}
    assert found(frame, claim, sweep).sweep == (2, 3)
    assert found(frame, claim, sweep[2:]).sweep == ()


def test_our_value_is_shown_with_an_interval_that_has_a_width():
    """An interval of one number would be shown, or one that is known be left out."""
    shown = {
        (2.5, 1.5, 3.5): "2.5 (1.5 to 3.5)",
        (2.5, 2.5, 2.5): "2.5",
        (2.5, np.nan, np.nan): "2.5",
        (np.nan, 1.5, 3.5): "–",
    }
    for numbers, text in shown.items():
        row = SimpleNamespace(**dict(zip(("value", "low", "high"), numbers, strict=True)))
        assert ours(row) == text
        assert has_interval(row) == (numbers[1:] == (1.5, 3.5))


def test_short_ledger_shows_what_the_paper_says_where_it_says_a_number():
    """A claim without a number would show one, or stand beside another's verdict."""
    ledger = pd.DataFrame(
        {
            "claim": ["is near", "holds"],
            "verdict": [REPRODUCED, REFUTED],
            "paper": [2.0, np.nan],
            "value": [2.5, 3.5],
            "low": [1.5, np.nan],
            "high": [3.5, np.nan],
            "unit": ["score per unit of |phi|", "1"],
            "where": ["sec 1", "sec 2"],
        }
    )
    frame = short(ledger)
    names = ["claim", "verdict", "paper", "ours", "unit", "where"]
    assert frame[names].to_numpy().tolist() == [
        ["is near", REPRODUCED, "2", "2.5 (1.5 to 3.5)", "score per unit of ‖φ‖", "sec 1"],
        ["holds", REFUTED, "–", "3.5", "–", "sec 2"],
    ]
    # Claims and verdicts are text, which is set to the left.
    assert frame.attrs["text_columns"] == 2
    # The published ledger may be older than its units.
    old = short(ledger.drop(columns="unit"))
    assert "unit" not in old and old["ours"].tolist() == frame["ours"].tolist()
