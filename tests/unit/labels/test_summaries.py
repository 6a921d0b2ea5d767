"""Counts by class and pair, and the numbers of a whole list, against counts by hand."""

import numpy as np
import pandas as pd
import pytest

from wtrak.job.io import read_csv, write_csv
from wtrak.labels.confident import ErrorEstimate
from wtrak.labels.summaries import by_class, by_pair, estimates, reasons, summary

CLASSES = ["01", "NA", "c"]
JOINT = np.array([[2.0, 1.0, 0.0], [0.5, 1.5, 0.0], [0.0, 0.0, 0.0]])
ESTIMATE = ErrorEstimate(
    JOINT, 1.5, 0.4, 2.0, np.array([1.0, 0.5, 0.0]), np.zeros(3), np.array([1.5, 1.0, 0.0])
)


@pytest.fixture
def frame():
    return pd.DataFrame(
        {
            "rank": range(1, 6),
            "given_label": ["01", "NA", "01", "01", "NA"],
            "suggested_label": ["NA", "01", "NA", "01", "NA"],
            "flagged": [True, True, False, False, False],
            "cleanlab": [True, False, True, False, False],
        }
    )


def test_classes_are_counted_as_they_are_named(frame):
    """A class without examples would be missing, or errors stand beside another class."""
    found = by_class(frame, CLASSES, ESTIMATE).set_index("given_label")
    assert list(found.index) == ["01", "NA", "c"]
    assert found.loc["01"].tolist() == [3, 2, 1, 2, 1.0, 0.0, 1.5]
    assert found.loc["NA"].tolist() == [2, 1, 1, 0, 0.5, 0.0, 1.0]
    assert not found.loc["c"].any()


def test_pairs_are_of_given_and_another_label(frame):
    """Confusions would be read the wrong way round."""
    found = by_pair(frame, CLASSES, ESTIMATE)
    assert found.to_numpy().tolist() == [["01", "NA", 2, 1, 2, 1.0], ["NA", "01", 1, 1, 0, 0.5]]


def test_estimates_name_what_they_are_of():
    """A share would be read as a number of errors."""
    found = estimates(ESTIMATE, [(0.5, 0.25, 1.0)], [2], 5)
    assert found.to_numpy().tolist() == [
        ["errors", 5, 1.5, 0.4, 2.0],
        ["precision", 2, 0.5, 0.25, 1],
    ]


def test_reasons_are_counted_by_kind():
    """Every file's own message would be a kind of its own."""
    skipped = pd.DataFrame({"reason": ["OSError: a", "hidden", "ValueError: b: c", "no file: d"]})
    assert reasons(skipped) == {"cannot be read": 2, "hidden": 1, "no file": 1}
    assert reasons(skipped.iloc[:0]) == {}


def test_summary_says_what_was_found(frame):
    """The closing lines would say other numbers than the lists hold."""
    copies = pd.DataFrame(
        {
            "group": [3, 3, 0, 0, 0],
            "exact": [True, True, False, False, False],
            "labels_differ": [True, True, False, False, False],
        }
    )
    numbers = estimates(ESTIMATE, [(0.5, 0.25, 1.0)], [2], 5)
    found = summary(frame, numbers, copies, None)
    assert "skipped" not in found and "corrected" not in found
    assert (found["examples"], found["classes"], found["flagged"], found["cleanlab"]) == (
        5,
        2,
        2,
        2,
    )
    assert found["errors"] == {"value": 1.5, "low": 0.4, "high": 2.0}
    assert found["precision"] == {"2": {"value": 0.5, "low": 0.25, "high": 1.0}}
    expected = {"examples": 5, "exact": 2, "groups": 2, "groups_under_two_labels": 1}
    assert found["copies"] == expected
    frame["decision"] = ["", "keep", "", "relabel", "keep"]
    found = summary(frame, numbers, copies, pd.DataFrame({"reason": ["hidden"]}), removed=4)
    assert found["skipped"] == {"files": 1, "by_reason": {"hidden": 1}}
    assert found["corrected"] == {"keep": 2, "relabel": 1, "remove": 4}


def test_data_without_copies_and_skipped_files_have_none(frame, tmp_path):
    """Clean data would end in a traceback: an empty file has no types."""
    columns = ["group", "size", "labels_differ", "exact"]
    write_csv(tmp_path / "c.csv", pd.DataFrame(columns=columns))
    write_csv(tmp_path / "s.csv", pd.DataFrame(columns=["split", "path", "reason"]))
    numbers = estimates(ESTIMATE, [], [], 5)
    copies, skipped = read_csv(tmp_path / "c.csv"), read_csv(tmp_path / "s.csv")
    found = summary(frame, numbers, copies, skipped)
    assert set(found["copies"].values()) == {0}
    assert found["skipped"] == {"files": 0, "by_reason": {}}
