"""Read features once for their labels, faults and scale, and again for the scaled rows.

Files are read in blocks of rows, so that memory does not grow with their number.
"""

import hashlib
from dataclasses import dataclass

import numpy as np

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
)
from wtrak.sources.features import open_features

SCALES = ("auto", "rms", "columns", "none")
# Rows and columns that a message names.
_NAMED = 5
# A column varies if its standard deviation is more than this share of its largest value.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Scaling:
    """Features less `shift`, divided by `divisor`.

    Attributes
    ----------
    name : str
        One of `SCALES`.
    shift, divisor : numpy.ndarray, shape (p,) or (1,), float64
    constant : list of int
        Columns that do not vary over the training rows, and become 0.
    """

    name: str
    shift: np.ndarray
    divisor: np.ndarray
    constant: list


class _Moments:
    """Mean and squares of rows that come in blocks, in float64."""

    def __init__(self, width):
        self.count, self.largest = 0, np.zeros(width)
        self.mean, self.squares = np.zeros(width), np.zeros(width)

    def add(self, values):
        """Merge a block, shape (k, p), by the update of Chan, Golub and LeVeque (1983)."""
        if not len(values):
            return
        total, mean = self.count + len(values), values.mean(axis=0)
        step = mean - self.mean
        self.squares += ((values - mean) ** 2).sum(axis=0)
        self.squares += step**2 * (self.count * len(values) / total)
        self.mean += step * (len(values) / total)
        self.largest = np.maximum(self.largest, np.abs(values).max(axis=0))
        self.count = total


@dataclass(frozen=True)
class Survey:
    """What a first reading of one or two files tells.

    Attributes
    ----------
    classes : list of str
    labels : dict of str to numpy.ndarray, shape (n,), uint16
        For ``train`` and ``test``: position in `classes`.
    shown : dict of str to list of str
        Columns ``id``, ``text`` and ``path`` of the training rows, if there are any.
    scaling : Scaling
    sources : list of (FeatureFile, numpy.ndarray)
        Each file, and whether each of its rows is for training.
    """

    classes: list
    labels: dict
    shown: dict
    scaling: Scaling
    sources: list

    def shape(self, split):
        """Rows and columns of the features of ``train`` or ``test``."""
        return len(self.labels[split]), self.sources[0][0].width


def survey(path, test_path=None, scale="auto"):
    """Read files of features once: labels, and the scale of the features.

    Parameters
    ----------
    path : path
        As in `features.open_features`. A column ``split`` says which rows are for testing.
    test_path : path, optional
        The same with test rows, instead of a column ``split``.
    scale : {"auto", "rms", "columns", "none"}
        ``rms`` divides all features by one number, their root mean square. ``columns`` subtracts
        from each column its mean and divides it by its standard deviation. ``auto`` is ``columns``
        for tables, whose columns have units of their own, and ``rms`` for arrays, whose
        directions and distances it keeps. All are computed from the training rows.

    Returns
    -------
    Survey

    Raises
    ------
    WtrakError
        If a label, a feature or an id is missing, wrong or not finite; it names rows and columns.
    """
    return survey_of(open_features(path), test_path and open_features(test_path), scale)


def survey_of(source, other=None, scale="auto"):
    """`survey` of one or two opened files.

    Parameters
    ----------
    source, other : FeatureFile
        The second holds test rows.
    """
    annotations, moments = _read_once(source)
    is_train = np.zeros(len(annotations.labels), bool)
    is_train[annotations.rows_of("train")] = True
    training = [annotations.labels[row] for row in np.flatnonzero(is_train)]
    tested = [annotations.labels[row] for row in np.flatnonzero(~is_train)]
    check_classes(source.path, training)
    sources, where = [(source, is_train)], source.path
    if other:
        check_one_split(source.path, annotations.split is not None, other.path)
        _check_same_columns(source, other)
        check_one_split(other.path, other.has_split, other.path)
        tested, where = _read_once(other)[0].labels, other.path
        sources.append((other, np.zeros(len(tested), bool)))
    classes = class_names(training)
    if len(classes) > np.iinfo(np.uint16).max:
        raise WtrakError(f"{source.path} has {len(classes):,} classes; at most 65,535 are taken")
    labels = {
        "train": np.array(numbers_of(source.path, training, classes), np.uint16),
        "test": np.array(numbers_of(where, tested, classes), np.uint16),
    }
    shown = {
        name: [values[row] for row in np.flatnonzero(is_train)]
        for name, values in annotations.shown.items()
    }
    return Survey(classes, labels, shown, _scaling(source, moments, scale), sources)


def _read_once(source):
    """`Annotations` of a file, and the moments of its training rows."""
    columns, bad, moments = {}, _NotFinite(source), _Moments(source.width)
    for first, values, found in source.blocks():
        values = np.asarray(values, np.float64)
        for name, part in found.items():
            columns.setdefault(name, []).extend(as_texts(source.path, name, part))
        bad.add(first, values)
        split = columns.get("split")
        rows = [name == "train" for name in split[first:]] if split else slice(None)
        # Of values that are not finite, which are named when all rows have been read.
        with np.errstate(all="ignore"):
            moments.add(values[rows])
    bad.check()
    if not columns:
        raise WtrakError(f"{source.path} has no rows")
    return checked(source.path, columns), moments


def _check_same_columns(source, other):
    if (source.names, source.width) == (other.names, other.width):
        return
    if source.names and other.names and set(source.names) != set(other.names):
        differ = sorted(set(source.names) ^ set(other.names))
        raise WtrakError(
            f"{other.path} and {source.path} have other columns; only one of them has "
            f"{listed(map(repr, differ))}"
        )
    if source.width != other.width or (source.names is None) != (other.names is None):
        raise WtrakError(
            f"{other.path} has {other.width:,} features, but {source.path} has {source.width:,}; "
            "both have to be of the same kind"
        )
    raise WtrakError(f"{other.path} and {source.path} have their columns in another order")


class _NotFinite:
    """Rows and columns of features that are missing or infinite."""

    def __init__(self, source):
        self._source, self._rows, self._columns, self._count = source, [], {}, 0

    def add(self, first, values):
        finite = np.isfinite(values)
        rows = np.flatnonzero(~finite.all(axis=1))
        self._count += len(rows)
        self._rows += (first + rows[: _NAMED - len(self._rows)]).tolist()
        self._columns |= dict.fromkeys(np.flatnonzero(~finite.all(axis=0)).tolist())

    def check(self):
        """Raise an error if there are any."""
        if not self._count:
            return
        names = self._source.names
        columns = [repr(names[k]) if names else k for k in sorted(self._columns)]
        more = f" and {self._count - len(self._rows):,} more" if self._count > _NAMED else ""
        raise WtrakError(
            f"{self._source.path}: features are missing or not finite in {self._count:,} "
            f"row{'s' if self._count > 1 else ''}: {', '.join(map(str, self._rows))}{more} "
            f"(counted from 0), column{'s' if len(columns) > 1 else ''} {listed(columns)}; fill "
            "them, or drop the rows or columns"
        )


def _scaling(source, moments, scale):
    if scale == "auto":
        scale = "columns" if source.names else "rms"
    shift, divisor, constant = np.zeros(1), np.ones(1), []
    with np.errstate(all="ignore"):
        deviation = np.sqrt(moments.squares / moments.count)
        if scale == "columns":
            varies = deviation > _ROUNDING * moments.largest
            shift, divisor = moments.mean, np.where(varies, deviation, 1.0)
            constant = np.flatnonzero(~varies).tolist()
        elif scale == "rms":
            divisor = np.sqrt(np.mean(moments.mean**2 + deviation**2, keepdims=True))
    if not np.isfinite(divisor).all():
        raise WtrakError(f"{source.path}: features are so large that their squares overflow")
    if not divisor.all() or len(constant) == source.width:
        raise WtrakError(f"{source.path}: all features are the same in all training rows")
    return Scaling(scale, shift, divisor, constant)


# --- the second reading ---


def scaled_blocks(found):
    """Yield the scaled features of a `Survey` in order, as float32, in blocks of rows.

    Yields
    ------
    split : str
        ``train`` or ``test``.
    block : numpy.ndarray, shape (k, p), float32

    Raises
    ------
    WtrakError
        If a feature is too large for float32. It names the row.
    """
    shift, divisor = found.scaling.shift, found.scaling.divisor
    for source, is_train in found.sources:
        for first, values, _ in source.blocks():
            with np.errstate(over="ignore"):
                block = ((np.asarray(values, np.float64) - shift) / divisor).astype(np.float32)
            rows = np.flatnonzero(~np.isfinite(block).all(axis=1))
            if len(rows):
                raise WtrakError(
                    f"{source.path}: a feature is too large for float32 in "
                    f"{rows_in_words((first + rows).tolist())}"
                )
            train = is_train[first : first + len(block)]
            for split, chosen in (("train", train), ("test", ~train)):
                if chosen.any():
                    yield split, block if chosen.all() else block[chosen]


class ContentHash:
    """Hash of labels and scaled features. It does not depend on the size of the blocks.

    Parameters
    ----------
    labels : dict of str to numpy.ndarray
        For ``train`` and ``test``.
    """

    def __init__(self, labels):
        self._digests = {
            split: hashlib.sha256(values.tobytes()) for split, values in labels.items()
        }

    def add(self, split, block):
        """Add the next rows of a split, output of `scaled_blocks`."""
        self._digests[split].update(np.ascontiguousarray(block).tobytes())

    def hexdigest(self):
        """sha256 in hexadecimal digits."""
        parts = [self._digests[split].hexdigest() for split in sorted(self._digests)]
        return hashlib.sha256("".join(parts).encode()).hexdigest()
