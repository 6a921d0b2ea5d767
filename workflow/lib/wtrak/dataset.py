"""Read features and labels from files into plain arrays, as the workflow does."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from wtrak.errors import InputError, as_input_errors
from wtrak.sources.features import FeatureFile, open_features
from wtrak.sources.scaling import SCALES, scaled_blocks, survey_of
from wtrak.sources.user_data import kind_of

# Images that a network gets at a time.
_BATCH = 64


@dataclass(frozen=True)
class Dataset:
    """Features and labels of n training and m test examples.

    Attributes
    ----------
    X : numpy.ndarray, shape (n, p), float32
        Scaled features.
    y : numpy.ndarray, shape (n,), text
        Labels.
    X_test : numpy.ndarray, shape (m, p), float32
    y_test : numpy.ndarray, shape (m,), text
    columns : pandas.DataFrame
        Columns ``id``, ``text`` and ``path`` of the training examples, if there are any; as many
        rows as X.
    feature_names : list of str or None
        Names of the p columns of a table.
    """

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    columns: pd.DataFrame
    feature_names: list | None


def read_dataset(path, test_path=None, *, scale="auto", network=None, side=224):
    """Read features of any kind that the workflow takes, or features of images by a network.

    The file is read in blocks, and all of X is held as float32.

    Parameters
    ----------
    path : path
        Features with labels: a ``.npz`` of arrays ``features`` and ``labels``, a ``.npy`` with
        labels beside it, or a CSV or Parquet table with a column ``label`` and columns of numbers.
        Images: a folder with a sub-folder for every class, or a CSV or Parquet list with the
        columns ``path`` and ``label``; these need Pillow. A column ``split`` (train or test) names
        test examples.
    test_path : path, optional
        The same with test examples, instead of a column ``split``.
    scale : {"auto", "rms", "columns", "none"}
        ``rms`` divides the features by one number, their root mean square; ``columns`` brings each
        column to mean 0 and standard deviation 1; ``auto`` is ``columns`` for tables and ``rms``
        for arrays and networks. All are computed from the training examples.
    network : callable, optional
        For images: maps an array of shape (k, side, side, 3), uint8, to features of shape (k, p).
    side : int
        Images are cropped to a centred square and scaled to this side in pixels.

    Returns
    -------
    Dataset

    Raises
    ------
    InputError
        A ValueError that names the file, and rows and columns in it.
    """
    if scale not in SCALES:
        raise InputError(f"scale is {scale!r}, expected one of {', '.join(SCALES)}")
    with as_input_errors():
        paths = [path] if test_path is None else [path, test_path]
        kind = kind_of(path)
        if kind == "features":
            sources = list(map(open_features, paths))
        elif network is None:
            raise InputError(
                f"{path} holds images; give a network that maps them to features, or use make "
                "suspects"
            )
        else:
            sources = _of_images(kind, path, test_path, network, side)
        found = survey_of(*sources, scale=scale)
        arrays = {s: np.empty(found.shape(s), np.float32) for s in ("train", "test")}
        filled = dict.fromkeys(arrays, 0)
        for split, block in scaled_blocks(found):
            arrays[split][filled[split] : filled[split] + len(block)] = block
            filled[split] += len(block)
    names = np.array(found.classes)
    return Dataset(
        arrays["train"],
        names[found.labels["train"]],
        arrays["test"],
        names[found.labels["test"]],
        pd.DataFrame(found.shown, index=pd.RangeIndex(len(arrays["train"]))),
        sources[0].names,
    )


def _of_images(kind, path, test_path, network, side):
    """One or two `FeatureFile` of what a network makes of images."""
    try:
        from wtrak.sources.image_folder import read_image_folder
        from wtrak.sources.image_list import read_image_list
    except ImportError as error:
        raise InputError(f"{path} holds images, which Pillow reads: pip install pillow") from error
    if kind == "image_folder":
        train = read_image_folder(path, side)
        parts = {"train": (train.images, train.labels, {"path": train.files})}
        if test_path is not None:
            test = read_image_folder(test_path, side, train=train)
            parts["test"] = (test.images, test.labels, {})
        classes = train.classes
    else:
        found = read_image_list(path, side, test_path=test_path)
        parts = {"train": (found.images["train"], found.labels["train"], found.shown)}
        if len(found.labels["test"]):
            parts["test"] = (found.images["test"], found.labels["test"], {})
        classes = found.classes
    return [
        _in_memory(
            path if split == "train" else test_path or path,
            _features_by(network, images),
            {"label": [classes[k] for k in labels]} | shown,
        )
        for split, (images, labels, shown) in parts.items()
    ]


def _features_by(network, images):
    parts = [np.asarray(network(images[k : k + _BATCH])) for k in range(0, len(images), _BATCH)]
    for part, first in zip(parts, range(0, len(images), _BATCH), strict=True):
        count = min(_BATCH, len(images) - first)
        if part.ndim != 2 or len(part) != count or part.dtype.kind not in "biuf":
            raise InputError(
                f"network gave an array of shape {part.shape} and type {part.dtype} for {count} "
                f"images, expected numbers of shape ({count}, p)"
            )
    return np.concatenate(parts)


def _in_memory(path, values, columns):
    def read(rows):
        for first in range(0, len(values), rows):
            part = slice(first, first + rows)
            yield values[part], {name: cells[part] for name, cells in columns.items()}

    return FeatureFile(Path(path), None, values.shape[1], len(values), False, read, ())
