"""Features that a user has computed, of anything, with labels: arrays or the columns of a table.

A file is read in blocks of rows, so that memory does not grow with their number.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from wtrak.errors import WtrakError
from wtrak.sources.annotations import COLUMNS, listed
from wtrak.sources.arrays import stored_arrays
from wtrak.sources.tables import TABLES, batches, header_of

ARRAYS = (".npy", ".npz")
# Names of arrays in a .npz, of which one of each has to be there.
FEATURE_NAMES, LABEL_NAMES = ("features", "X", "embeddings"), ("labels", "y", "label")
# The array that a folder has to hold, and what its labels may be called, here or after its name
# and an underscore.
FOLDER_ARRAY = "features.npy"
LABEL_FILES = ("labels.npy", "labels.csv", "labels.parquet", "labels.txt")
# Bytes of features, as float64, that are held at a time.
_BLOCK_BYTES = 8 * 1024**2


@dataclass(frozen=True)
class FeatureFile:
    """A file of n rows of p features, which are read when they are asked for.

    Attributes
    ----------
    path : Path
    names : list of str or None
        Names of the p columns; None if the features are an array.
    width : int
        p.
    most_rows : int
        Upper limit for n. It is exact unless the file is CSV.
    has_split : bool
        Whether there is a column that says which rows are for testing.
    read : callable
        Maps a number of rows to an iterator over blocks of so many rows: features, shape (k, p),
        and a dict of lists, the columns of `annotations.COLUMNS` that there are.
    files : tuple of Path
        All that is read.
    """

    path: Path
    names: list | None
    width: int
    most_rows: int
    has_split: bool
    read: Callable
    files: tuple

    def blocks(self):
        """Yield the first row of each block, its features, and its other columns."""
        rows = max(1, _BLOCK_BYTES // (8 * self.width))
        first = 0
        for values, columns in self.read(rows):
            yield first, values, columns
            first += len(values)


def features_file(path):
    """The file of features that a path names: itself, or the array in a folder."""
    path = Path(path)
    return path / FOLDER_ARRAY if path.is_dir() else path


def labels_beside(path):
    """The file with the labels of a ``.npy``: in its folder, by the name of the array or by none.

    Raises
    ------
    WtrakError
        If there is none, or more than one.
    """
    own = [path.with_name(f"{path.stem}_{name}") for name in LABEL_FILES]
    plain = [path.with_name(name) for name in LABEL_FILES]
    for candidates in (own, plain):
        found = [file for file in candidates if file.is_file()]
        if len(found) > 1:
            names = " and ".join(file.name for file in found)
            raise WtrakError(f"{path} has labels in both {names}; keep one")
        if found:
            return found[0]
    names = ", ".join(file.name for file in (*own, *plain))
    raise WtrakError(f"{path} has no labels beside it; looked for {names} in its folder")


def open_features(path):
    """A file of features with labels, of any kind that is taken. Only its beginning is read.

    Parameters
    ----------
    path : path
        A ``.npz``, a ``.npy`` with labels beside it, a folder of such a pair, or a table.

    Returns
    -------
    FeatureFile

    Raises
    ------
    WtrakError
        If arrays or columns are missing, of another kind, or of other lengths.
    """
    path = features_file(path)
    if path.suffix.lower() in TABLES:
        return _open_table(path)
    arrays = stored_arrays(path)
    if path.suffix.lower() == ".npy":
        features, labels = arrays[""], labels_beside(path)
        names, read = _columns_beside(labels, rows_of(features))
        files = (path, labels)
    else:
        features = _one_of(path, arrays, FEATURE_NAMES)
        found = {"label": _one_of(path, arrays, LABEL_NAMES)}
        found |= {name: arrays[name] for name in COLUMNS[1:] if name in arrays}
        names, read = _columns_of_arrays(found, rows_of(features))
        files = (path,)

    def blocks(rows):
        yield from zip(features.blocks(rows), read(rows), strict=True)

    return FeatureFile(
        path, None, features.shape[1], features.shape[0], "split" in names, blocks, files
    )


def rows_of(array):
    """Number of rows of a stored array of features.

    Raises
    ------
    WtrakError
        If it holds no numbers, or is not of the shape (rows, columns).
    """
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise WtrakError(
            f"{array.name} is of the type {array.dtype}; features are float16, float32, float64 or "
            "whole numbers"
        )
    if len(array.shape) != 2 or 0 in array.shape:
        raise WtrakError(
            f"{array.name} has the shape {array.shape}; features have the shape (rows, columns)"
        )
    return array.shape[0]


def _one_of(path, arrays, names):
    found = [name for name in names if name in arrays]
    if len(found) != 1:
        raise WtrakError(
            f"{path} holds the arrays {listed(arrays) or '(none)'}; it needs exactly one of "
            f"{', '.join(names)}"
        )
    return arrays[found[0]]


def _columns_of_arrays(found, n):
    """Names of columns in stored arrays of n entries, and a function that reads their blocks."""
    for name, array in found.items():
        if array.shape != (n,):
            raise WtrakError(
                f"{array.name} has the shape {array.shape}, but there are {n:,} rows of features; "
                f"one {name} for each is needed"
            )
        if array.dtype.kind not in "biufUS":
            raise WtrakError(
                f"{array.name} is of the type {array.dtype}; a {name} is text or a number"
            )

    def read(rows):
        for block in zip(*(array.blocks(rows) for array in found.values()), strict=True):
            yield {name: values.tolist() for name, values in zip(found, block, strict=True)}

    return list(found), read


def _columns_beside(path, n):
    """The same for the file of labels beside an array. It is read when it is asked for."""
    if path.suffix.lower() == ".npy":
        return _columns_of_arrays({"label": stored_arrays(path)[""]}, n)
    names = ["label"]
    if path.suffix.lower() in TABLES:
        names = [name for name in header_of(path).names if name in COLUMNS]
        if "label" not in names:
            raise WtrakError(f"{path} has no column label")

    def read(rows):
        columns = {name: [] for name in names}
        if path.suffix.lower() in TABLES:
            for _, block in batches(path, names, [], rows):
                for name in names:
                    columns[name] += block[name]
        else:
            columns["label"] += _lines(path)
        if len(columns["label"]) != n:
            raise WtrakError(
                f"{path} holds {len(columns['label']):,} labels, but there are {n:,} rows of "
                "features"
            )
        for first in range(0, n, rows):
            yield {name: values[first : first + rows] for name, values in columns.items()}

    return names, read


def _lines(path):
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise WtrakError(f"{path} is no readable text in UTF-8 ({error})") from error
    return text.removesuffix("\n").split("\n")


def _open_table(path):
    header = header_of(path)
    if "label" not in header.names:
        raise WtrakError(f"{path} has the columns {listed(header.names)}, but no column label")
    other = [name for name in header.names if name not in {*COLUMNS, *header.numeric}]
    if other:
        several = len(other) > 1
        raise WtrakError(
            f"{path}: the column{'s' if several else ''} {listed(map(repr, other))} hold"
            f"{'' if several else 's'} no numbers; drop or encode {'them' if several else 'it'}, "
            f"because features are numbers, and beside them only {', '.join(COLUMNS)} are taken"
        )
    if not header.numeric:
        raise WtrakError(f"{path} has no columns of numbers, which would be the features")
    text = [name for name in header.names if name in COLUMNS]
    return FeatureFile(
        path,
        header.numeric,
        len(header.numeric),
        header.most_rows,
        "split" in text,
        lambda rows: batches(path, text, header.numeric, rows),
        (path,),
    )
