"""Columns of a user's data that lists show beside the results: id, text and path."""

import numpy as np

from wtrak.job.io import load_arrays, load_metadata


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


def shown_columns(dataset, rows):
    """Columns that a dataset shows beside some of its training rows, by name.

    Parameters
    ----------
    dataset : path
        File of a dataset. One of a folder of images lists its files in the metadata.
    rows : numpy.ndarray, shape (n,), integers

    Returns
    -------
    dict of str to numpy.ndarray, shape (n,), object
        Those of ``id``, ``text`` and ``path`` that there are.
    """
    about, out = load_metadata(dataset), {}
    for name in about.get("shown", ()):
        found = load_arrays(dataset, [f"shown_{name}", f"shown_{name}_ends"])
        raw, ends = found[f"shown_{name}"].tobytes(), found[f"shown_{name}_ends"]
        starts = np.concatenate([[0], ends[:-1]])
        texts = [
            raw[start:end].decode("utf-8", "surrogatepass")
            for start, end in zip(starts[rows], ends[rows], strict=True)
        ]
        out[name] = np.array(texts, dtype=object)
    if "files" in about:
        out["path"] = np.array(about["files"], dtype=object)[rows]
    return out
