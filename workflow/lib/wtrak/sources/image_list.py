"""Read images that a table lists, with their labels."""

import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from wtrak.errors import WtrakError
from wtrak.sources.annotations import (
    COLUMNS,
    as_texts,
    check_classes,
    check_one_split,
    checked,
    class_names,
    listed,
    numbers_of,
)
from wtrak.sources.tables import batches, header_of

_ROWS = 2**16
_BESIDE = "Relative paths begin in the folder of the list"


@dataclass(frozen=True)
class ImageList:
    """Images of a list by split, and rows of it that cannot be used.

    Attributes
    ----------
    classes : list of str
    images : dict of str to numpy.ndarray, shape (n, side, side, 3), uint8
        For ``train`` and ``test``.
    labels : dict of str to numpy.ndarray, shape (n,), uint16
        Position in `classes`.
    shown : dict of str to list of str
        ``path``, and ``id`` and ``text`` if there are any, of the training images.
    skipped : list of dict
        ``split``, ``path`` and ``reason`` of every row that is not used.
    """

    classes: list
    images: dict
    labels: dict
    shown: dict
    skipped: list


def read_list(path):
    """The columns of a list of images, as `annotations.Annotations`.

    Raises
    ------
    WtrakError
        As `annotations.checked` does.
    """
    names = [name for name in header_of(path).names if name in COLUMNS]
    columns = {name: [] for name in names}
    for _, block in batches(path, names, [], _ROWS):
        for name in names:
            columns[name] += as_texts(path, name, block[name])
    return checked(path, columns)


def read_image_list(path, side, *, test_path=None, threads=1, advance=lambda k: None):
    """Read every image that a list names.

    Files that are no readable images are listed with a reason.

    Parameters
    ----------
    path : path
        A table with the columns ``path`` and ``label``, and optionally ``split`` (train or test),
        ``id`` and ``text``. Relative paths begin in the folder of the table.
    side : int
        Images become squares of this side in pixels.
    test_path : path, optional
        Another list, of test images, instead of a column ``split``.
    threads : int
        Number of threads that decode images.
    advance : callable
        Called with 1 after each file, to show progress.

    Returns
    -------
    ImageList
        In the order of the lists.

    Raises
    ------
    WtrakError
        If a list is wrong, or the images that can be read are of fewer than two classes.
    """
    table = read_list(path)
    check_classes(path, [table.labels[row] for row in table.rows_of("train")])
    parts = {split: (Path(path), table, table.rows_of(split)) for split in ("train", "test")}
    if test_path:
        other = read_list(test_path)
        check_one_split(path, table.split is not None, test_path)
        check_one_split(test_path, other.split is not None, test_path)
        parts["test"] = (Path(test_path), other, other.rows_of("train"))
    images, kept, skipped = {}, {}, []
    with ThreadPoolExecutor(threads) as pool:
        for split, (where, rows_from, rows) in parts.items():
            names = [rows_from.shown["path"][row] for row in rows]
            files = [where.parent / name for name in names]
            pixels, used = np.empty((len(rows), side, side, 3), np.uint8), []
            found = pool.map(lambda file: _decoded(file, side), files)
            for row, name, image in zip(rows, names, found, strict=True):
                if isinstance(image, str):
                    skipped.append({"split": split, "path": name, "reason": image})
                else:
                    pixels[len(used)] = image
                    used.append(row)
                advance(1)
            images[split], kept[split] = pixels[: len(used)], used
            if rows and not used:
                raise WtrakError(
                    f"{where}: no {split} image can be read; the first is {skipped[-1]['path']} "
                    f"({skipped[-1]['reason']}). {_BESIDE}"
                )
    training = [table.labels[row] for row in kept["train"]]
    _check_readable(path, parts["train"], training, skipped)
    classes = class_names(training)
    labels = {
        split: np.array(
            numbers_of(where, [rows_from.labels[row] for row in kept[split]], classes), np.uint16
        )
        for split, (where, rows_from, _) in parts.items()
    }
    shown = {name: [values[row] for row in kept["train"]] for name, values in table.shown.items()}
    return ImageList(classes, images, labels, shown, skipped)


def _decoded(file, side):
    """Pixels of an image, or the reason why there are none."""
    # Imports Pillow, which the names of a list do not need.
    from wtrak.sources.image_folder import read_image

    try:
        # Reading a pipe or a device might never end.
        if not file.is_file():
            return "a folder" if file.is_dir() else "no such file"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return read_image(file, side)
    except Exception as error:  # Pillow raises many types on files that are not images
        return f"{type(error).__name__}: {error}".replace(str(file), file.name)


def _check_readable(path, part, training, skipped):
    """Raise an error if the images that can be read leave a class without any."""
    _, table, rows = part
    empty = sorted({table.labels[row] for row in rows} - set(training))
    if empty:
        first = skipped[0]
        raise WtrakError(
            f"{path}: no image can be read of the class{'es' if len(empty) > 1 else ''} "
            f"{listed(empty)}; the first file that cannot is {first['path']} ({first['reason']}). "
            f"{_BESIDE}"
        )
    check_classes(path, training)
