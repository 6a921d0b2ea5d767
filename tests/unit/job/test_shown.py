"""Columns that lists show come back as they were, row by row."""

import numpy as np

from wtrak.job.io import save_arrays
from wtrak.job.shown import WITH_PICTURE, packed_columns, shown_columns

LABELS = {"train_labels": np.zeros(4, np.uint8)}


def saved(folder, columns, **about):
    path = folder / "dataset"
    save_arrays(path, LABELS | packed_columns(columns), {"shown": list(columns)} | about)
    return path


def test_columns_come_back_for_the_rows_that_are_asked_for(tmp_path):
    """An id would stand beside another row."""
    columns = {"id": ["a", "", "für ☂", "d"], "text": ["one", "two\nlines", "", "x" * 300]}
    path = saved(tmp_path, columns)
    found = shown_columns(path, np.array([3, 0, 2, 2]))
    assert list(found) == ["id", "text"]
    assert found["id"].tolist() == ["d", "a", "für ☂", "für ☂"]
    assert found["text"].tolist() == ["x" * 300, "one", "", ""]


def test_columns_may_be_empty(tmp_path):
    """An empty column would not be written."""
    assert shown_columns(saved(tmp_path, {"id": [""] * 4}), np.arange(4))["id"].tolist() == [""] * 4
    assert shown_columns(saved(tmp_path, {}), np.arange(4)) == {}


def test_only_columns_that_are_wanted_come(tmp_path):
    """What is odd about an image would stand in the list of copies; or no name in corrections."""
    path = saved(tmp_path, {"path": list("abcd"), "picture": ["", "dark", "", ""]})
    assert list(shown_columns(path)) == ["path"]
    assert shown_columns(path, names=WITH_PICTURE)["picture"].tolist() == ["", "dark", "", ""]
    assert shown_columns(path, np.array([1]), ["picture", "id"])["picture"].tolist() == ["dark"]


def test_any_length_fits(tmp_path):
    """The metadata of a file are limited to 100 MB, which texts of a large dataset pass."""
    columns = {"text": ["x" * 200] * 100_000}
    found = shown_columns(saved(tmp_path, columns), np.array([99_999]))
    assert found["text"].tolist() == ["x" * 200]
    assert saved(tmp_path, columns).stat().st_size < 22 * 10**6
