"""Columns of a user's data that lists show beside the results: id, text and path, and picture."""

import numpy as np

from wtrak.job.io import load_arrays, load_metadata
from wtrak.sources.annotations import SHOWN

# What is odd about an image is shown beside its label alone.
WITH_PICTURE = (*SHOWN, "picture")


def packed_columns(columns):
    """Arrays that hold columns of text, for `wtrak.job.io.save_arrays`.

    The metadata of a file could hold them only while they are short; there ``shown`` lists their
    names.

    Parameters
    ----------
    columns : dict of str to list of str

    Returns
    -------
    dict of str to numpy.ndarray
        For each column ``shown_<name>``, the texts in UTF-8 one after the other, uint8, and
        ``shown_<name>_ends``, shape (n,), int64: where each of them ends.
    """
    out = {}
    for name, values in columns.items():
        texts = [text.encode("utf-8", "surrogatepass") for text in values]
        out[f"shown_{name}"] = np.frombuffer(b"".join(texts), np.uint8)
        out[f"shown_{name}_ends"] = np.cumsum([len(text) for text in texts], dtype=np.int64)
    return out


def shown_columns(dataset, rows=None, names=SHOWN):
    """Columns that a dataset shows beside some of its training rows, by name.

    Parameters
    ----------
    dataset : path
        File of a dataset.
    rows : numpy.ndarray, shape (n,), integers, optional
        All rows by default.
    names : sequence of str
        Columns that are wanted.

    Returns
    -------
    dict of str to numpy.ndarray, shape (n,), object
        Those of the names that there are.
    """
    there = load_metadata(dataset).get("shown", ())
    return {name: _column(dataset, name, rows) for name in names if name in there}


def _column(dataset, name, rows):
    found = load_arrays(dataset, [f"shown_{name}", f"shown_{name}_ends"])
    raw, ends = found[f"shown_{name}"].tobytes(), found[f"shown_{name}_ends"]
    starts = np.concatenate([[0], ends[:-1]]).astype(np.int64)
    rows = np.arange(len(ends)) if rows is None else rows
    texts = [
        raw[start:end].decode("utf-8", "surrogatepass")
        for start, end in zip(starts[rows], ends[rows], strict=True)
    ]
    return np.array(texts, dtype=object)
