"""What the table of refitted heads says of the points that are removed, and of accuracy."""

import numpy as np
import pandas as pd
import pytest

import head_removal_table
from wtrak.removal.catalogue import ARMS


def test_ratios_of_traits_say_outlier_or_hard_by_being_above_1():
    """Points that are more ordinary than random ones would be called outliers."""
    rows = [
        {"seed": seed, "arm": arm, "agreement": 0.8, "loss": 1.0, "people_differ": 0.1}
        for seed in (0, 1)
        for arm in ARMS
    ]
    removed = pd.DataFrame(rows)
    odd, usual = removed["arm"] == "magnitude", removed["arm"] == "helpful"
    removed.loc[odd, ["agreement", "loss", "people_differ"]] = [0.4, 3.0, 0.4]
    removed.loc[usual, ["agreement", "loss", "people_differ"]] = [1.0, 0.5, 0.05]
    found = {(arm, trait): of for arm, trait, of in head_removal_table.trait_ratios(removed)}
    assert {arm for arm, _ in found} == {name for name in ARMS if not ARMS[name].control}
    expected = {
        ("magnitude", "agreement"): 2,
        ("magnitude", "loss"): 3,
        ("magnitude", "people_differ"): 4,
        ("helpful", "agreement"): 0.8,
        ("helpful", "loss"): 0.5,
        ("helpful", "people_differ"): 0.5,
    }
    for key, ratio in expected.items():
        assert list(found[key]) == pytest.approx([ratio, ratio])
    without = removed.drop(columns="people_differ")
    assert len(list(head_removal_table.trait_ratios(without))) == 2 * len(found) // 3


def test_stability_is_against_random_removal_of_as_many():
    """The best of many cells would decide, or the fit to all points be the reference."""
    rng = np.random.default_rng(0)
    rows = [{"seed": seed, "arm": "none", "share": 0.0, "accuracy": 0.9} for seed in range(3)]
    rows += [
        {"seed": seed, "arm": arm, "share": share, "accuracy": rng.random()}
        for seed in range(3)
        for arm in ARMS
        for share in (0.1, 0.2)
    ]
    curves = pd.DataFrame(rows)
    known = curves.set_index(["seed", "arm", "share"])["accuracy"]
    found = dict(head_removal_table.stability(curves))
    assert set(found) == {name for name in ARMS if not ARMS[name].control}
    for arm, gains in found.items():
        for seed in range(3):
            gain = [known[seed, arm, s] - known[seed, "random", s] for s in (0.1, 0.2)]
            assert gains[seed] == pytest.approx(np.mean(gain))
    numbers = pd.DataFrame(
        head_removal_table.numbers(
            "mine",
            curves,
            pd.DataFrame([{"seed": 0, "arm": a, "loss": 1.0} for a in ARMS]),
            pd.DataFrame(columns=["arm", "reading", "value", "low", "high"]),
        )
    )
    row = numbers[(numbers["quantity"] == "stability") & (numbers["arm"] == "loss")].iloc[0]
    assert row["value"] == pytest.approx(found["loss"].mean())
    assert row["low"] < row["value"] < row["high"]
