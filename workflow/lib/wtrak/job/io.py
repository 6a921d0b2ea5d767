"""Read and write the files between rules: safetensors, JSON, CSV and text. Writes are atomic."""

import contextlib
import errno
import fcntl
import glob
import hashlib
import json
import os
import re
import shutil
import tempfile
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from wtrak.errors import WtrakError

# A single key, because safetensors writes several metadata keys in random order.
METADATA_KEY = "wtrak"


@contextlib.contextmanager
def atomic_path(path):
    """Yield a temporary path beside `path`; it replaces `path` if the block raises nothing.

    Temporary files that killed processes left for the same `path` are removed.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(path)
    handle, temporary = _locked_temporary(path)
    try:
        yield Path(temporary)
        # mkstemp makes files private. Results get the usual permissions of the umask.
        umask = os.umask(0)
        os.umask(umask)
        Path(temporary).chmod(0o666 & ~umask)
        os.replace(temporary, path)
    finally:
        os.close(handle)
        Path(temporary).unlink(missing_ok=True)


def _locked_temporary(path):
    """Handle and name of a new file beside `path`, which this process keeps locked.

    A locked file is in use, so it is not removed as a leftover. On network file systems without
    locks leftovers are never removed.
    """
    while True:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_SH)
        # Another process may have removed the file before it was locked.
        if os.fstat(handle).st_nlink:
            return handle, name
        os.close(handle)


def _remove_leftovers(path):
    for leftover in path.parent.glob(f".{glob.escape(path.name)}.*.part"):
        with contextlib.suppress(OSError), leftover.open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(_scratch_of(leftover), ignore_errors=True)
            leftover.unlink()


def _scratch_of(temporary):
    return Path(f"{temporary}.d")


@contextlib.contextmanager
def scratch(temporary):
    """Yield a folder for intermediate files, for use while a path of `atomic_path` is written.

    If the process is killed, the folder is removed together with that path.
    """
    folder = _scratch_of(temporary)
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@contextlib.contextmanager
def scratch_beside(path):
    """Yield a folder beside `path` for files that are only needed until `path` is written.

    If the process is killed, the next one that makes such a folder or writes `path` removes it.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(path)
    handle, temporary = _locked_temporary(path)
    try:
        with scratch(temporary) as folder:
            yield folder
    finally:
        os.close(handle)
        Path(temporary).unlink(missing_ok=True)


def save_arrays(path, arrays, metadata=None):
    """Write named numpy arrays, with a JSON-able `metadata` mapping, to a safetensors file."""
    contiguous = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    header = {METADATA_KEY: json.dumps(metadata or {}, sort_keys=True)}
    with atomic_path(path) as temporary, scratch(temporary) as folder:
        try:
            # safetensors itself makes a temporary file beside its target.
            save_file(contiguous, folder / "arrays", metadata=header)
            os.replace(folder / "arrays", temporary)
        except SafetensorError as error:
            # The Rust code reports errors of the file system as its own type.
            full = f"os error {errno.ENOSPC}" in str(error)
            raise OSError(errno.ENOSPC if full else errno.EIO, str(error), str(path)) from error


@contextlib.contextmanager
def _readable(path, kind):
    """Raise a `WtrakError` that names the file if it is missing or damaged."""
    if not Path(path).is_file():
        raise WtrakError(f"{path} is missing; run the workflow again to make it")
    try:
        yield
    # Damaged JSON, CSV and UTF-8 raise subclasses of ValueError.
    except (SafetensorError, ValueError) as error:
        raise WtrakError(
            f"{path} is truncated or is not a {kind} file ({error}); delete it and run again"
        ) from error


@contextlib.contextmanager
def _opened(path):
    with _readable(path, "safetensors"), safe_open(path, framework="numpy") as file:
        yield file


def load_arrays(path, names=None):
    """Read the arrays called `names` (all by default) of a safetensors file as a dict.

    Raises
    ------
    WtrakError
        If the file is missing, truncated, or lacks one of the names.
    """
    with _opened(path) as file:
        _check_names(path, file, names or ())
        return {name: file.get_tensor(name) for name in (names or file.keys())}


def _check_names(path, file, names):
    present = list(file.keys())
    for name in names:
        if name not in present:
            raise WtrakError(f"{path} has no array {name!r}; it holds {', '.join(present)}")


def load_rows(path, name, rows):
    """Read some rows of one array of a safetensors file, without reading the others.

    Parameters
    ----------
    rows : slice

    Raises
    ------
    WtrakError
        As `load_arrays` does.
    """
    with _opened(path) as file:
        _check_names(path, file, [name])
        return file.get_slice(name)[rows]


def each_row(path, name, rows):
    """Yield single rows of one array of a safetensors file, which is opened once.

    Parameters
    ----------
    rows : iterable of int

    Raises
    ------
    WtrakError
        As `load_arrays` does.
    """
    with _opened(path) as file:
        _check_names(path, file, [name])
        part = file.get_slice(name)
        for row in map(int, rows):
            yield part[row : row + 1][0]


def load_length(path, name):
    """Number of rows of one array of a safetensors file, without reading it."""
    with _opened(path) as file:
        _check_names(path, file, [name])
        return file.get_slice(name).get_shape()[0]


def load_names(path):
    """Names of the arrays of a safetensors file, as a set."""
    with _opened(path) as file:
        return set(file.keys())


def load_metadata(path):
    """The `metadata` mapping that `save_arrays` stored with a safetensors file."""
    with _opened(path) as file:
        return json.loads((file.metadata() or {}).get(METADATA_KEY, "{}"))


def write_json(path, value):
    """Write `value` as indented JSON with sorted keys; NaN and infinity are refused."""
    with atomic_path(path) as temporary:
        text = json.dumps(value, indent=2, sort_keys=True, allow_nan=False, ensure_ascii=False)
        temporary.write_text(text + "\n", encoding="utf-8")


def read_json(path):
    """Read a JSON file written by `write_json`; `WtrakError` if it is missing or damaged."""
    with _readable(path, "JSON"):
        return json.loads(Path(path).read_text(encoding="utf-8"))


# A spreadsheet takes a cell that begins with one of these for a formula, and may run it.
_FORMULA = re.compile("'*[=+\\-@\t\r\n＝＋－＠]")
# A quoted cell with all that is in it, or the end of a row.
_QUOTED_OR_END = re.compile('("(?:[^"]|"")*")|\r\n')


def write_csv(path, frame):
    """Write a data frame without its index, floats at full precision.

    A text that a spreadsheet would take for a formula gets an apostrophe before it, which
    `read_csv` and `without_apostrophes` remove. Carriage returns are quoted.
    """
    # Some versions of Python quote a carriage return only if rows end with one.
    text = _in_text(frame, _guarded).to_csv(index=False, lineterminator="\r\n")
    text = _QUOTED_OR_END.sub(lambda match: match[1] or "\n", text)
    with atomic_path(path) as temporary:
        temporary.write_bytes(text.encode())


def without_apostrophes(frame):
    """A data frame that `write_csv` wrote, with the texts as they were."""
    return _in_text(frame, _bare)


def _in_text(frame, change):
    """A data frame with every text changed."""
    changed = frame.copy(deep=False)
    for name in frame:
        if not pd.api.types.is_numeric_dtype(frame[name]):
            changed[name] = frame[name].map(change, na_action="ignore")
    return changed


def _guarded(value):
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value


def _bare(value):
    guarded = isinstance(value, str) and value.startswith("'") and _FORMULA.match(value[1:])
    return value[1:] if guarded else value


def read_csv(path):
    """Read a data frame written by `write_csv`, floats bit for bit.

    Raises
    ------
    WtrakError
        If the file is missing or damaged. A file that ends within a row counts as damaged.
    """
    with _readable(path, "CSV"):
        raw = Path(path).read_bytes()
        if raw and not raw.endswith(b"\n"):
            raise ValueError("its last line has no end")
        return without_apostrophes(pd.read_csv(BytesIO(raw)))


def write_text(path, text):
    """Write a UTF-8 text file."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def sha256_file(path):
    """Hex sha256 of a file's bytes."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
