"""What each row of a user's data says beside its features: label, split, id, text and path."""

import unicodedata
from collections import Counter
from dataclasses import dataclass

from wtrak.errors import WtrakError
from wtrak.sources.image_files import rare_classes

SPLITS = ("train", "test")
# Columns that are shown beside the results, if they are there.
SHOWN = ("id", "text", "path")
COLUMNS = ("label", "split", *SHOWN)
# Number of rows, columns or names that a message lists.
_LISTED = 5
# Up to half as many classes are no sign that the labels are none.
_FEW = 20
# A longer text is cut in lists.
_TEXT_LENGTH = 200


@dataclass(frozen=True)
class Annotations:
    """Columns of n rows, as text.

    Attributes
    ----------
    labels : list of str
    split : list of str or None
        ``train`` or ``test`` for each row; None if all are for training.
    shown : dict of str to list of str
        Those of `SHOWN` that there are.
    """

    labels: list
    split: list | None
    shown: dict

    def rows_of(self, split):
        """Rows of ``train`` or ``test``, as a list of int."""
        if self.split is None:
            return list(range(len(self.labels))) if split == "train" else []
        return [row for row, name in enumerate(self.split) if name == split]


def listed(items, most=_LISTED):
    """Items in words: the first few, and how many more there are."""
    items = list(items)
    shown = ", ".join(map(str, items[:most]))
    return f"{shown} and {len(items) - most:,} more" if len(items) > most else shown


def rows_in_words(rows, most=_LISTED):
    """Numbers of rows in words, as in "rows 3, 8 (counted from 0)"."""
    rows = list(rows)
    return f"row{'s' if len(rows) > 1 else ''} {listed(rows, most)} (counted from 0)"


def as_texts(where, name, values):
    """Each value of a column as text; "" if it is missing. Whole floats have no point.

    Parameters
    ----------
    where : path
        The file, for messages.
    name : str
        One of `COLUMNS`. A ``text`` is cut.
    values : list
        Python's own types, as ``tolist`` gives them.

    Raises
    ------
    WtrakError
        If bytes are not UTF-8, or a label is a number with a fraction: a quantity and no class.
    """
    if name == "label":
        for value in values:
            if isinstance(value, float) and value == value and not value.is_integer():
                raise WtrakError(
                    f"{where}: the label {value} is a number with a fraction; labels are names of "
                    "classes or whole numbers"
                )
    try:
        texts = list(map(_text_of, values))
    except UnicodeDecodeError as error:
        raise WtrakError(f"{where}: a {name} is no UTF-8 ({error})") from error
    return list(map(shortened, texts)) if name == "text" else texts


def _text_of(value):
    if isinstance(value, str):
        return value
    if value is None or value != value:
        return ""
    if isinstance(value, bytes):
        return value.decode("utf-8")
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def checked(where, columns):
    """`Annotations` of columns of text, after checks.

    Parameters
    ----------
    where : str
        The file, for messages.
    columns : dict of str to list of str
        ``label``, and any other of `COLUMNS`. "" is a missing value.

    Raises
    ------
    WtrakError
        If a label, split or id is missing, a split is none of `SPLITS`, there are rows of one split
        only, or an id stands twice. It names the first rows.
    """
    for name in ("label", "split", "id"):
        missing = [row for row, value in enumerate(columns.get(name, ())) if not value]
        if missing:
            raise WtrakError(
                f"{where}: the {name} is missing in {rows_in_words(missing)}; fill it or drop "
                f"{'these rows' if len(missing) > 1 else 'this row'}"
            )
    split = columns.get("split")
    _check_split(where, split)
    _check_ids(where, columns.get("id", ()))
    shown = {name: columns[name] for name in SHOWN if name in columns}
    return Annotations(columns["label"], split, shown)


def shortened(text):
    """A text on one line, cut to 200 characters."""
    line = " ".join(text[: 10 * _TEXT_LENGTH].split())
    return line if len(line) <= _TEXT_LENGTH else line[: _TEXT_LENGTH - 1] + "…"


def _check_split(where, split):
    if split is None:
        return
    wrong = [row for row, name in enumerate(split) if name not in SPLITS]
    if wrong:
        names = listed(repr(name) for name in sorted({split[row] for row in wrong}))
        raise WtrakError(
            f"{where}: the split is {names} in {rows_in_words(wrong)}; train and test are taken"
        )
    for name, hint in (("train", "mark some"), ("test", "mark some, or drop the split")):
        if name not in split:
            raise WtrakError(f"{where}: the split has no {name} row; {hint}")


def _check_ids(where, ids):
    twice = [value for value, count in Counter(ids).items() if count > 1]
    if twice:
        rows = [row for row, value in enumerate(ids) if value == twice[0]]
        more = f"; {len(twice) - 1:,} more ids stand more than once" if len(twice) > 1 else ""
        raise WtrakError(
            f"{where}: the id {twice[0]!r} stands in {rows_in_words(rows)}{more}; give each row "
            "its own"
        )


def check_one_split(where, has_split, test_path):
    """Refuse a column ``split`` where a second file holds the test rows.

    Raises
    ------
    WtrakError
    """
    if has_split:
        raise WtrakError(
            f"{where} has a split, but all test rows are those of {test_path}; drop one of the two"
        )


def check_classes(where, labels):
    """Refuse training labels among which no wrong one could be found.

    Raises
    ------
    WtrakError
        If there are fewer than two rows; fewer than two classes, or than two that have two rows;
        more than ten classes and more than half the rows; or names of classes that differ only in
        spaces at their ends or in how Unicode writes an accent.
    """
    if len(labels) < 2:
        raise WtrakError(
            f"{where} holds {len(labels)} training row{'' if len(labels) == 1 else 's'}; there is "
            "nothing to compare"
        )
    classes = set(labels)
    if len(classes) < 2:
        raise WtrakError(
            f"{where} has only the class {labels[0]!r}; wrong labels can be found among two or more"
        )
    alike = {}
    for name in sorted(classes):
        alike.setdefault(unicodedata.normalize("NFC", name.strip()), []).append(name)
    for names in alike.values():
        if len(names) > 1:
            raise WtrakError(
                f"{where}: the classes {' and '.join(map(ascii, names))} differ only in spaces or "
                "in how an accent is written; give them one name"
            )
    if 2 * len(classes) > max(len(labels), _FEW):
        raise WtrakError(
            f"{where}: {len(labels):,} training rows have {len(classes):,} different labels, for "
            f"example {', '.join(map(repr, sorted(classes)[:3]))}; a label is a class that several "
            "rows share"
        )
    rare = sorted(rare_classes(Counter(labels)))
    if len(classes) - len(rare) < 2:
        raise WtrakError(
            f"{where}: {listed(f'{name} has 1 row' for name in rare)}; two classes with 2 training "
            "rows or more are needed, because an example is judged by others of its class"
        )


def class_names(labels):
    """Names of the classes in order: by number if all are whole numbers, else by letters."""
    names = set(labels)
    if all(_is_whole(name) for name in names):
        return sorted(names, key=int)
    return sorted(names)


def _is_whole(name):
    digits = name.removeprefix("-")
    # As Python writes the number: "01" stays a word.
    return digits.isascii() and digits.isdecimal() and str(int(name)) == name


def numbers_of(where, labels, classes):
    """Number of each label among the classes, as a list of int.

    Raises
    ------
    WtrakError
        If a label is none of the classes: a test row of a class without training rows.
    """
    number = {name: k for k, name in enumerate(classes)}
    unknown = sorted({name for name in labels if name not in number})
    if unknown:
        raise WtrakError(
            f"{where} has test rows of classes that no training row has: {listed(unknown)}"
        )
    return [number[name] for name in labels]
