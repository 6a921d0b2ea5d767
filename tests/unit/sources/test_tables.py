"""Tables in CSV and Parquet: text stays text, numbers are numbers, faults are named."""

import sys

import numpy as np
import pandas as pd
import pytest

from wtrak.errors import WtrakError
from wtrak.sources.tables import batches, header_of, text_column

TEXT = 'label,a,b,id\n01,1,2.5,NA\nNA,-3e2,,x\n"a,b",inf,NA,"two\nlines"\n'
NUMBERS = np.array([[1, 2.5], [-300, np.nan], [np.inf, np.nan]])


def written(folder, text, name="x.csv", encoding="utf-8"):
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return path


def read(path, text=("label",), numbers=("a", "b"), rows=2):
    """All blocks of a table, joined."""
    blocks = list(batches(path, text, numbers, rows))
    assert all(len(values) <= rows for values, _ in blocks)
    columns = {name: [cell for _, part in blocks for cell in part[name]] for name in text}
    return np.concatenate([values for values, _ in blocks]), columns


@pytest.mark.parametrize("rows", [1, 2, 10])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_cells_are_read_as_they_stand(tmp_path, rows, delimiter, encoding):
    """01 would become 1, the name NA a missing label, or a row fall between two blocks."""
    text = TEXT.replace('"a,b"', '"a|b"').replace(",", delimiter).replace('"a|b"', '"a,b"')
    path = written(tmp_path, text, encoding=encoding)
    assert header_of(path).names == ["label", "a", "b", "id"]
    assert header_of(path).numeric == ["a", "b"]
    assert header_of(path).most_rows >= 3
    values, columns = read(path, ["label", "id"], rows=rows)
    np.testing.assert_array_equal(values, NUMBERS)
    assert columns == {"label": ["01", "NA", "a,b"], "id": ["NA", "x", "two\nlines"]}
    assert columns == {name: text_column(path, name) for name in columns}


def test_columns_come_in_the_order_that_is_asked_for(tmp_path):
    """A feature would stand in the place of another one."""
    values, _ = read(written(tmp_path, TEXT), numbers=["b", "a"])
    np.testing.assert_array_equal(values, NUMBERS[:, ::-1])


def test_an_empty_label_is_missing(tmp_path):
    """It would be a class of its own."""
    _, columns = read(written(tmp_path, 'a,label\n1,\n2,""\n3, \n'), numbers=["a"])
    assert columns["label"] == ["", "", " "] == text_column(tmp_path / "x.csv", "label")


def test_empty_lines_are_no_rows(tmp_path):
    """Labels after one would belong to other rows."""
    path = written(tmp_path, "a,label\n1,x\n\n2,y\n\n")
    assert read(path, numbers=["a"])[1]["label"] == ["x", "y"] == text_column(path, "label")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        (",label\n0,a\n", "column 1 has no name; drop it, or name it id .pandas"),
        ("a,a,label\n1,2,x\n", "more than one column 'a'"),
    ],
)
def test_headers_that_cannot_be_used_are_refused(tmp_path, text, message):
    """The index of pandas would become a feature that gives the order of the rows away."""
    with pytest.raises(WtrakError, match=message):
        header_of(written(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("label,a,b\nx,1,2\ny,1,Paris\nz,3,4\n", r"column 'b' has 'Paris' in row 1 \(counted"),
        ("label,a,b\nx,1,2\ny,1,2\nz,1_0,4\n", "column 'a' has '1_0' in row 2"),
        ("label,a,b\nx,1,2\ny,1,2,3\n", "no readable CSV"),
        ("label,a,b\nx,1,2,3\ny,1,2,3\n", "no readable CSV"),
        ('label,a,b\nx,1,"2\n', "no readable CSV"),
    ],
)
def test_rows_that_cannot_be_read_are_named(tmp_path, text, message):
    """Cells would be shifted or dropped without a word."""
    with pytest.raises(WtrakError, match=message):
        read(written(tmp_path, text))


def test_a_table_in_another_encoding_is_refused(tmp_path):
    """Names would be garbled, or a user read a traceback."""
    path = written(tmp_path, "label,a,b\ncafé,1,2\n", encoding="latin-1")
    with pytest.raises(WtrakError, match="no readable CSV in UTF-8"):
        header_of(path)
    late = written(tmp_path, "label,a,b\n" + "x,1,2\n" * 5000 + "café,1,2\n", encoding="latin-1")
    with pytest.raises(WtrakError, match="no readable CSV in UTF-8"):
        read(late, rows=1000)


def test_the_limit_of_rows_is_none_too_low(tmp_path):
    """A right number would be refused before the table is read."""
    for text in ("a,label\n1,x\n2,y", "a,label\n" + "1,x\n" * 50, TEXT):
        path = written(tmp_path, text)
        assert header_of(path).most_rows >= len(pd.read_csv(path))


def test_columns_of_words_are_no_numbers(tmp_path):
    """A list of images would be taken for features."""
    text = "path,label,place,code,empty,nan\na.png,cat,Paris,1_0,,nan\nb.png,dog,3,2,,NA\n"
    assert header_of(written(tmp_path, text)).numeric == []
    # An id, a label and a split are none either.
    assert header_of(written(tmp_path, "id,label,split,x\n1,2,3,4\n")).numeric == ["x"]


# --- Parquet ---


def as_parquet(folder):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(
        {
            "label": ["01", None, "c"],
            "a": np.array([1, 2, 3], np.float16),
            "b": pd.array([1, None, 3], dtype="Int64"),
            "c": [True, False, True],
            "kind": pd.Categorical(["x", "y", "x"]),
            "number": [7, 8, 9],
        }
    )
    path = folder / "x.parquet"
    frame.to_parquet(path)
    return path


def test_parquet_is_read_like_csv(tmp_path):
    """A missing number would be another one, or words be taken for features."""
    path = as_parquet(tmp_path)
    header = header_of(path)
    assert header.names == ["label", "a", "b", "c", "kind", "number"]
    assert header.numeric == ["a", "b", "c", "number"] and header.most_rows == 3
    values, columns = read(path, ["label", "kind", "number"], ["c", "a", "b"])
    np.testing.assert_array_equal(values, [[1, 1, 1], [0, 2, np.nan], [1, 3, 3]])
    expected = {"label": ["01", None, "c"], "kind": ["x", "y", "x"], "number": [7, 8, 9]}
    assert columns == expected == {name: text_column(path, name) for name in columns}


def test_damaged_parquet_is_refused(tmp_path):
    """A user would read a traceback."""
    path = as_parquet(tmp_path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(WtrakError, match="no readable Parquet file"):
        header_of(path)


def test_without_pyarrow_the_message_says_what_to_install(tmp_path, monkeypatch):
    """A user would read that some engine is missing."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = written(tmp_path, "PAR1", "x.parquet")
    with pytest.raises(WtrakError, match=r"pip install pyarrow\), or save the table as CSV"):
        header_of(path)
