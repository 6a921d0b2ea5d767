"""The table of attacks: broken pairs by certificate, and what refits turn among which pairs."""

import numpy as np
import pandas as pd
import pytest

import attacks_table
from wtrak.certificates.catalogue import of_metric
from wtrak.reporting.panels import share_over_panels


@pytest.fixture
def audit():
    """60 pairs of 12 test points, the first four of which are capped and broken."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"test_index": np.repeat(np.arange(12), 5)})
    frame["train_index_i"], frame["train_index_j"] = rng.permuted(
        np.tile(np.arange(30), (60, 1)), axis=1
    )[:, :2].T
    frame["capped"] = frame["test_index"] < 4
    frame["attack"] = 1.0
    for method in of_metric("natural"):
        frame[method] = 0.5
    frame.loc[frame["capped"], "paper"] = 2.0
    return frame


def test_broken_pairs_are_counted_with_the_cap_apart(audit):
    """The cap's failures would be put on the intervals."""
    rows = {row["certificate"]: row for row in attacks_table.rows_of("mine", audit)}
    paper = rows["paper"]
    assert (paper["pairs"], paper["broken"]) == (60, 20)
    assert paper["broken_with_capped_test_point"] == paper["pairs_with_capped_test_point"] == 20
    assert paper["largest_ratio"] == 2
    for name in of_metric("natural"):
        if name != "paper":
            assert rows[name]["broken"] == 0
            # Nothing seen is not nothing: 12 test points leave room for a quarter.
            assert 0.2 < rows[name]["most_broken"] < 0.3


def test_refits_are_counted_among_all_stable_and_proved_pairs():
    """Pairs that a theorem is about would be mixed with those that are only likely."""
    frame = pd.DataFrame(
        {
            "test_index": np.repeat([3, 5, 9], 4),
            "train_index_i": np.arange(12),
            "train_index_j": np.arange(12) + 20,
            "removed": 10,
            "kind": "random",
            "stable": [True] * 6 + [False] * 6,
            "proved": [True] * 3 + [False] * 9,
            "flipped_fixed": [False] * 5 + [True] * 7,
            "flipped_refitted": [False] * 2 + [True] * 10,
        }
    )
    table = attacks_table.display_refits({"mine": frame}).set_index("pairs")
    expected = {"all pairs": (12, 7, 10), "stable to first order": (6, 1, 4)}
    expected |= {"proved for any set": (3, 0, 1)}
    names = ["cases", "turned, features fixed", "turned, head refitted"]
    assert {title: tuple(cell.value for cell in table.loc[title, names]) for title in expected} == (
        expected
    )
    share = table.loc["all pairs", "share, head refitted"]
    points = (frame["test_index"], frame["train_index_i"], frame["train_index_j"])
    _, low, high = share_over_panels(frame["flipped_refitted"], *points)
    assert (share.low, share.high) == pytest.approx((100 * low, 100 * high))
