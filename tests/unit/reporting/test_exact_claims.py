"""Verdicts and evidence at the edges: ties, intervals, what is absent and what is no number."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from wtrak.errors import WtrakError
from wtrak.reporting.claims import (
    DIRECTION,
    NOT_REPRODUCED,
    REFUTED,
    REPRODUCED,
    UNSTATED,
    Evidence,
    evidence,
    has_interval,
    ours,
    reduced,
    selected,
    short,
    verdict,
)


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
        return evidence({"select": "", "reduce": "value"} | claim, sources)

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
            "where": ["sec 1", "sec 2"],
        }
    )
    frame = short(ledger)
    names = ["claim", "verdict", "paper", "ours", "where"]
    assert frame[names].to_numpy().tolist() == [
        ["is near", REPRODUCED, "2", "2.5 (1.5 to 3.5)", "sec 1"],
        ["holds", REFUTED, "–", "3.5", "sec 2"],
    ]
    # Claims and verdicts are text, which is set to the left.
    assert frame.attrs["text_columns"] == 2
