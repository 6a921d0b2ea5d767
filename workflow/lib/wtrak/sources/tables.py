"""Tables in CSV and Parquet files: their columns at a glance, and their rows in blocks.

The modules that read whole tables are imported where they are used, because this one also serves
before the first job, when little time is to be spent.
"""

import csv
import itertools
import warnings
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from wtrak.errors import WtrakError
from wtrak.sources.annotations import COLUMNS, rows_in_words

CSV, PARQUET = (".csv", ".tsv"), (".parquet", ".pq")
TABLES = (*CSV, *PARQUET)
_DELIMITERS = ",;\t"
# Rows of Parquet that are read at a time for one column.
_ROWS = 2**16
# Rows of a CSV file that tell which of its columns are numbers.
_LOOKED_AT = 100
# Limit for one cell of a CSV file, in characters.
_MAX_CELL = 2**24
# Cells of a column of numbers that stand for a missing value.
_MISSING = ("", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "<NA>")
_NO_PYARROW = (
    "is Parquet, which is read by the package pyarrow, and that is not installed; install it "
    "(pip install pyarrow), or save the table as CSV"
)


@dataclass(frozen=True)
class Header:
    """Columns of a table.

    Attributes
    ----------
    names : list of str
    numeric : list of str
        Those that hold numbers, without the columns that describe rows (`annotations.COLUMNS`).
    most_rows : int
        Upper limit for the number of rows. For Parquet it is exact.
    """

    names: list
    numeric: list
    most_rows: int


def header_of(path):
    """The columns of a table, from its first rows.

    Raises
    ------
    WtrakError
        If the file cannot be read, or a column has no name or that of another one.
    """
    path = Path(path)
    header = _parquet_header(path) if path.suffix.lower() in PARQUET else _csv_header(path)
    nameless = [place for place, name in enumerate(header.names, 1) if not name.strip()]
    if nameless:
        raise WtrakError(
            f"{path}: column {nameless[0]} has no name; drop it, or name it id (pandas writes its "
            "index so, unless told index=False)"
        )
    twice = sorted({name for name in header.names if header.names.count(name) > 1})
    if twice:
        raise WtrakError(f"{path} has more than one column {twice[0]!r}; name each by itself")
    return header


def text_column(path, name):
    """One column of a table as a list, like the text of `batches`; without pandas for CSV.

    Raises
    ------
    WtrakError
        If the file is damaged.
    """
    path = Path(path)
    if path.suffix.lower() in PARQUET:
        return [
            cell for _, part in _parquet_batches(path, [name], [], _ROWS) for cell in part[name]
        ]
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, delimiter=_delimiter(path))
            place = next(reader).index(name)
            # Empty lines are no rows.
            return [row[place] if place < len(row) else "" for row in reader if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise WtrakError(f"{path} is no readable CSV in UTF-8 ({error})") from error


def batches(path, text, numbers, rows):
    """Yield a table in blocks of at most `rows` rows.

    Parameters
    ----------
    path : path
    text, numbers : list of str
        Columns to read as text and as numbers.
    rows : int

    Yields
    ------
    numbers : numpy.ndarray, shape (k, len(numbers)), float64
        NaN where a value is missing.
    text : dict of str to list
        Python's own types; None or "" where a value is missing. In CSV every cell is text as it
        stands there: 01 is not 1, and NA is a name.

    Raises
    ------
    WtrakError
        If a cell in a column of numbers is none, or the file is damaged.
    """
    path = Path(path)
    read = _parquet_batches if path.suffix.lower() in PARQUET else _csv_batches
    yield from read(path, list(text), list(numbers), rows)


# --- CSV ---


def _delimiter(path):
    """The most frequent of comma, semicolon and tab in the first line."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        line = file.readline(_MAX_CELL)
    return max(_DELIMITERS, key=line.count)


def _csv_header(path):
    csv.field_size_limit(_MAX_CELL)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, delimiter=_delimiter(path))
            names = next(reader, [])
            first = list(itertools.islice(reader, _LOOKED_AT))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise WtrakError(f"{path} is no readable CSV in UTF-8 ({error})") from error
    if not names:
        raise WtrakError(f"{path} is empty; its first line has to name the columns")
    cells = {name: [row[k] for row in first if k < len(row)] for k, name in enumerate(names)}
    numeric = [name for name in names if name not in COLUMNS and _are_numbers(cells[name])]
    # Each cell takes at least one character and what separates it from the next.
    return Header(names, numeric, (path.stat().st_size + 1) // (2 * len(names)))


def _are_numbers(cells):
    filled = [cell for cell in cells if cell.strip() not in _MISSING]
    return bool(filled) and all(map(_is_number, filled))


def _is_number(cell):
    try:
        float(cell)
    except ValueError:
        return False
    # Python reads 1_000 as a number; no table means that.
    return "_" not in cell


def _csv_batches(path, text, numbers, rows):
    import pandas as pd

    # All columns, because pandas would not notice a line with too many cells if some were left out.
    options = {
        "sep": _delimiter(path),
        "encoding": "utf-8-sig",
        "index_col": False,
        "keep_default_na": False,
        "low_memory": False,
        "chunksize": rows,
    }
    try:
        with pd.read_csv(
            path,
            dtype=defaultdict(lambda: "object", dict.fromkeys(numbers, "float64")),
            na_values=dict.fromkeys(numbers, _MISSING),
            **options,
        ) as parts:
            while (part := _next(parts)) is not None:
                yield (
                    part[numbers].to_numpy("float64"),
                    {name: part[name].tolist() for name in text},
                )
    except (pd.errors.ParserWarning, pd.errors.ParserError, UnicodeDecodeError) as error:
        raise WtrakError(f"{path} is no readable CSV in UTF-8 ({str(error).strip()})") from error
    except ValueError as error:
        _name_the_cell(path, numbers, options)
        raise WtrakError(f"{path} cannot be read ({error})") from error


def _next(parts):
    """The next block of a CSV file, or None. A line with more cells than columns is an error."""
    import pandas as pd

    with warnings.catch_warnings():
        # pandas would warn and drop the cells.
        warnings.simplefilter("error", pd.errors.ParserWarning)
        return next(parts, None)


def _name_the_cell(path, numbers, options):
    """Raise an error that names the first cell of a column of numbers that is none."""
    import pandas as pd

    with pd.read_csv(path, dtype="object", **options) as parts:
        for part in parts:
            for name in numbers:
                wrong = [
                    (row, cell)
                    for row, cell in zip(part.index, part[name], strict=True)
                    if cell not in _MISSING and not _is_number(cell)
                ]
                if wrong:
                    row, cell = wrong[0]
                    raise WtrakError(
                        f"{path}: column {name!r} has {cell!r} in {rows_in_words([row])}, which is "
                        "no number"
                    )


# --- Parquet ---


def _opened(path):
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise WtrakError(f"{path} {_NO_PYARROW}") from error
    try:
        return ParquetFile(path)
    except (ArrowException, OSError) as error:
        raise WtrakError(f"{path} is no readable Parquet file ({error})") from error


def _parquet_header(path):
    with _opened(path) as file:
        from pyarrow import types

        schema = file.schema_arrow
        numeric = [
            field.name
            for field in schema
            if field.name not in COLUMNS
            and any(
                test(field.type) for test in (types.is_floating, types.is_integer, types.is_boolean)
            )
        ]
        return Header(schema.names, numeric, file.metadata.num_rows)


def _parquet_batches(path, text, numbers, rows):
    import numpy as np

    with _opened(path) as file:
        from pyarrow import ArrowException

        try:
            for batch in file.iter_batches(rows, columns=[*text, *numbers]):
                values = np.empty((batch.num_rows, len(numbers)))
                for k, name in enumerate(numbers):
                    values[:, k] = _as_floats(batch.column(name))
                yield values, {name: batch.column(name).to_pylist() for name in text}
        except (ArrowException, OSError) as error:
            raise WtrakError(f"{path} is damaged or cut ({error})") from error


def _as_floats(column):
    """A column of numbers as float64, NaN where it is missing."""
    import numpy as np
    from pyarrow import types

    if types.is_boolean(column.type):
        column = column.cast("uint8")
    values = column.to_numpy(zero_copy_only=False)
    return np.asarray(values, dtype=np.float64)
