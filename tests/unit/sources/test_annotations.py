"""Labels, splits and ids of a user's rows: what is missing or cannot be meant is named by row."""

import pytest

from wtrak.errors import WtrakError
from wtrak.sources.annotations import (
    as_texts,
    check_classes,
    check_one_split,
    checked,
    class_names,
    listed,
    numbers_of,
    rows_in_words,
    shortened,
)


def test_values_become_text_as_they_are_written():
    """A label would change its name, or a missing one become a class of its own."""
    values = ["01", "NA", "", None, 3, 3.0, float("nan"), True, "für".encode()]
    expected = ["01", "NA", "", "", "3", "3", "", "True", "für"]
    assert as_texts("x.csv", "label", values) == expected


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("label", 0.5, "x.npz: the label 0.5 is a number with a fraction"),
        ("label", b"\xff", "x.npz: a label is no UTF-8"),
        ("id", b"\xff", "x.npz: a id is no UTF-8"),
    ],
)
def test_values_that_are_no_text_are_refused(name, value, message):
    """A quantity would become thousands of classes, or a user read a traceback."""
    with pytest.raises(WtrakError, match=message):
        as_texts("x.npz", name, ["a", value])


def test_a_fraction_is_fine_where_it_is_no_label():
    """A time stamp could not be an id."""
    assert as_texts("x", "id", [0.5, 1.0]) == ["0.5", "1"]


def test_texts_are_cut_to_one_short_line():
    """A list would hold whole documents, or a row break in two."""
    assert shortened(" a\r\nb\t c ") == "a b c"
    long = shortened("word " * 10**5)
    assert len(long) == 200 and long.endswith("…") and "\n" not in long
    assert shortened("x" * 200) == "x" * 200
    assert as_texts("x", "text", ["a\nb"]) == ["a b"] and as_texts("x", "id", ["a\nb"]) == ["a\nb"]


def test_rows_are_found_by_split():
    """Test points would be ranked, or training points left out."""
    found = checked("x", {"label": list("abab"), "split": ["train", "test", "train", "train"]})
    assert found.rows_of("train") == [0, 2, 3] and found.rows_of("test") == [1]
    found = checked("x", {"label": list("ab"), "id": ["1", "2"], "text": ["s", "t"]})
    assert found.rows_of("train") == [0, 1] and found.rows_of("test") == []
    assert found.shown == {"id": ["1", "2"], "text": ["s", "t"]}


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"label": ["a", "", "b"]}, r"the label is missing in row 1 \(counted from 0\); fill it"),
        ({"label": [""] * 9}, "rows 0, 1, 2, 3, 4 and 4 more .counted from 0.; .* these rows"),
        ({"split": ["train", "", "test"]}, "the split is missing in row 1"),
        ({"split": ["train", "val", "dev"]}, "the split is 'dev', 'val' in rows 1, 2"),
        ({"split": ["train"] * 3}, "the split has no test row; mark some, or drop the split"),
        ({"split": ["test"] * 3}, "the split has no train row; mark some"),
        ({"id": ["1", "", "2"]}, "the id is missing in row 1"),
        ({"id": ["7", "1", "7"]}, "the id '7' stands in rows 0, 2 .counted from 0.; give each row"),
        ({"id": ["7", "7", "8", "8"], "label": list("abab")}, "1 more ids stand more than once"),
    ],
)
def test_what_is_missing_or_cannot_be_meant_is_named(columns, message):
    """The user would have to look for the row, or its result be that of another one."""
    with pytest.raises(WtrakError, match=message) as caught:
        checked("mine.csv", {"label": list("aba")} | columns)
    assert str(caught.value).startswith("mine.csv")


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([], "holds 0 training rows"),
        (["a"], "holds 1 training row;"),
        (["a", "a"], "has only the class 'a'"),
        (list("aabc"), "mine: b has 1 row, c has 1 row; two classes with 2 training rows or more"),
        (["a", "a ", "a"], "'a' and 'a ' differ only in spaces"),
        (["\u00e9", "e\u0301", "b", "b"], r"'e\\u0301' and '\\xe9' differ only"),
        (
            list("abcdefghijk"),
            "11 training rows have 11 different labels, for example 'a', 'b', 'c'",
        ),
    ],
)
def test_labels_that_cannot_be_checked_are_refused_at_once(labels, message):
    """The costly part would run first, or one class count as two."""
    with pytest.raises(WtrakError, match=message):
        check_classes("mine", labels)
    check_classes("mine", list("aabb"))
    # A small set may have a class of one row.
    check_classes("mine", list("aabbc"))


def test_two_sources_of_test_rows_are_refused():
    """One of them would be left out without a word."""
    check_one_split("a", False, "b")
    with pytest.raises(WtrakError, match="a has a split, but all test rows are those of b"):
        check_one_split("a", True, "b")


def test_classes_are_in_the_order_of_their_numbers():
    """10 would stand before 2 in every table."""
    assert class_names(["10", "2", "-1", "2"]) == ["-1", "2", "10"]
    # One of them is no number, so none is taken for one.
    assert class_names(["10", "2", "01"]) == ["01", "10", "2"]
    assert class_names(["b", "a"]) == ["a", "b"]


def test_labels_are_numbered_by_class():
    """A test row of a new class would get the number of another one."""
    assert numbers_of("x", ["b", "a", "b"], ["a", "b"]) == [1, 0, 1]
    with pytest.raises(WtrakError, match="x has test rows of classes that no training row has: c"):
        numbers_of("x", ["a", "c"], ["a", "b"])


def test_long_lists_are_cut_in_messages():
    """A message would fill the screen."""
    assert listed("abc") == "a, b, c" and listed(range(7)) == "0, 1, 2, 3, 4 and 2 more"
    assert rows_in_words([3]) == "row 3 (counted from 0)"
    assert rows_in_words([3, 4]) == "rows 3, 4 (counted from 0)"
