"""Read images that a table lists, with their labels."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

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
from wtrak.sources.image_decoding import decode_images
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
    quality : pandas.DataFrame
        Columns split, path, `image_quality.MEASURES` and picture: what is odd about each image.
        Training images come first.
    levels : dict of str to Levels
        Black and white of each kind of values that are not bytes (see `image_levels`).
    """

    classes: list
    images: dict
    labels: dict
    shown: dict
    skipped: list
    quality: pd.DataFrame
    levels: dict


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


def read_image_list(
    path, side, *, test_path=None, threads=1, advance=lambda k: None, room=np.empty
):
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
    threads, advance, room
        As in `image_decoding.decode_images`.

    Returns
    -------
    ImageList
        In the order of the lists.

    Raises
    ------
    WtrakError
        If a list is wrong, the images that can be read are of fewer than two classes, or a file
        changes while it is read.
    """
    table = read_list(path)
    check_classes(path, [table.labels[row] for row in table.rows_of("train")])
    parts = {split: (Path(path), table, table.rows_of(split)) for split in ("train", "test")}
    if test_path:
        other = read_list(test_path)
        check_one_split(path, table.split is not None, test_path)
        check_one_split(test_path, other.split is not None, test_path)
        parts["test"] = (Path(test_path), other, other.rows_of("train"))
    images, kept, skipped, quality, levels = {}, {}, [], [], {}
    for split, (where, rows_from, rows) in parts.items():
        if not rows:
            images[split], kept[split] = np.empty((0, side, side, 3), np.uint8), []
            continue
        names = [rows_from.shown["path"][row] for row in rows]
        # Test images have the black and white of the training images.
        found = decode_images(
            [where.parent / name for name in names],
            side,
            known=levels,
            threads=threads,
            advance=advance,
            room=room,
        )
        images[split], kept[split] = found.images, [rows[k] for k in found.rows]
        refused = [
            {"split": split, "path": names[k], "reason": reason}
            for k, reason in found.refused.items()
        ]
        skipped += refused
        if not found.rows:
            raise WtrakError(
                f"{where}: no {split} image can be read; the first is {refused[0]['path']} "
                f"({refused[0]['reason']}). {_BESIDE}"
            )
        of_images = {"split": split, "path": [names[k] for k in found.rows]}
        quality.append(pd.DataFrame(of_images).join(found.quality))
        levels = levels or found.levels
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
    quality = pd.concat(quality, ignore_index=True)
    return ImageList(classes, images, labels, shown, skipped, quality, levels)


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
