"""Claims on certificates and geometry turn with the results that decide them."""

import numpy as np
import pandas as pd
import pytest
import yaml

from conftest import REPOSITORY
from wtrak.job.io import write_json
from wtrak.reporting.claims import (
    DIRECTION,
    NOT_REPRODUCED,
    REPRODUCED,
    UNSTATED,
    evidence,
    verdict,
)
from wtrak_plan import paper

RULES = yaml.safe_load((REPOSITORY / "config.yaml").read_text("utf-8"))["claims"]["rules"]


def decided(name, path):
    """Value and range of a claim, and its verdict, by a results file that decides it."""
    (claim,) = [claim for claim in paper.claims() if claim["id"] == name]
    files = {"source": str(path), "sweep": str(path), "experiment": "cifar10"}
    found = evidence(claim, files)
    number = float(claim["paper_value"]) if claim["paper_value"] else None
    return found, verdict(found, number, RULES[claim["rule"]], claim["kind"])


@pytest.mark.parametrize(
    ("tenth", "one", "expected"),
    [(0.062, 5e-6, UNSTATED), (0.009, 5e-6, NOT_REPRODUCED), (0.9, 0.4, REPRODUCED)],
)
def test_non_vacuity_depends_on_the_radius(tmp_path, tenth, one, expected):
    """One radius would decide, which the paper does not state; or no result could fail."""
    record = {"share_at_one_deletion": {"natural": one, "euclidean": 0.0}}
    record |= {"share_at_tenth_of_deletion": {"natural": tenth, "euclidean": 0.5}}
    write_json(tmp_path / "frontier.json", record)
    found, name = decided("non_vacuous", tmp_path / "frontier.json")
    assert (found.value, found.sweep) == (one, (one, tenth))
    assert name == expected


@pytest.mark.parametrize(
    ("pair", "slope", "expected"),
    [
        (2.8e5, 2e4, REPRODUCED),
        (2.8e5, 530.0, UNSTATED),
        (5e3, 2e3, DIRECTION),
        (900.0, 30.0, NOT_REPRODUCED),
    ],
)
def test_explosion_is_that_of_constants_over_all_pairs(tmp_path, pair, slope, expected):
    """Steps along single eigenvectors would decide, or more than the paper claims would fail."""
    rows = [
        {"of": of, "aggregate": aggregate, "value": value * factor}
        for of, value in {"pair": pair, "aggregates": pair, "test_point": slope}.items()
        for aggregate, factor in {"median": 1.0, "mean": 1.01, "max": 1.02, "p10": 0.01}.items()
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "enlargement.csv", index=False)
    found, name = decided("amplification_met", tmp_path / "enlargement.csv")
    assert found.value == pair
    assert found.sweep == pytest.approx((slope, 1.02 * pair))
    assert name == expected


@pytest.mark.parametrize(
    ("distance", "directions", "expected"),
    [(-0.08, 0.24, UNSTATED), (-0.08, -0.01, NOT_REPRODUCED), (0.4, 0.5, REPRODUCED)],
)
def test_growth_with_distance_depends_on_the_distance(tmp_path, distance, directions, expected):
    """One of two distances would decide, of which the paper names neither."""
    row = {"experiment": "cifar10", "set": "test"}
    for label in ("si_true_label", "si_predicted"):
        row |= {f"{label}_spearman_distance": distance}
        row |= {f"{label}_spearman_distance_of_directions": directions}
    row["si_predicted_spearman_distance"] = distance - 0.005
    others = row | {"set": "noise"} | dict.fromkeys(list(row)[2:], 0.99)
    pd.DataFrame([row, others]).to_csv(tmp_path / "ood_table.csv", index=False)
    found, name = decided("ood", tmp_path / "ood_table.csv")
    assert found.value == distance
    np.testing.assert_allclose(found.sweep, (distance - 0.005, directions))
    assert name == expected


def test_the_explosion_is_measured_against_the_papers_number():
    """The rule would have another limit than the claim."""
    (claim,) = [claim for claim in paper.claims() if claim["id"] == "amplification_met"]
    assert RULES[claim["rule"]]["reproduced"] == float(claim["paper_value"])


def test_what_follows_from_a_definition_is_no_finding():
    """1/λ and 1 would be counted as reproduced."""
    kinds = {claim["id"]: claim["kind"] for claim in paper.claims()}
    assert kinds["amplification_natural"] == kinds["amplification_euclidean"] == "identity"
    assert kinds["amplification_met"] == "number"
