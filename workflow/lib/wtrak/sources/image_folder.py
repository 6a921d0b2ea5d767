"""Read a folder of images with a sub-folder for every class."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from wtrak.sources.image_decoding import decode_images
from wtrak.sources.image_files import as_utf8, check_classes, check_test_classes, find_images, shown


@dataclass(frozen=True)
class ImageFolder:
    """Images, labels and unusable files of a folder of images.

    Attributes
    ----------
    images : numpy.ndarray, shape (n, side, side, 3), uint8
    labels : numpy.ndarray, shape (n,), uint16
        Position in `classes`.
    files : list of str
        Path of each image below the folder, with slashes.
    classes : list of str
        Names of the sub-folders, in alphabetical order, in the composed form of Unicode.
    skipped : list of dict
        ``path`` and ``reason`` of every file that is not used.
    quality : pandas.DataFrame
        Columns path, `image_quality.MEASURES` and picture: what is odd about each image.
    levels : dict of str to Levels
        Black and white of each kind of values that are not bytes (see `image_levels`).
    """

    images: np.ndarray
    labels: np.ndarray
    files: list
    classes: list
    skipped: list
    quality: pd.DataFrame
    levels: dict


def read_image_folder(
    folder, side, *, train=None, threads=1, advance=lambda k: None, room=np.empty
):
    """Read every image below the sub-folders of `folder`. The sub-folder is the label.

    Files that are not readable images and files outside the sub-folders are listed with a reason.

    Parameters
    ----------
    folder : path
    side : int
        Images become squares of this side in pixels.
    train : ImageFolder, optional
        For a test set: the training images, whose classes and levels it has.
    threads, advance, room
        As in `image_decoding.decode_images`.

    Returns
    -------
    ImageFolder
        In alphabetical order of the files.

    Raises
    ------
    WtrakError
        If the folder is missing, cannot be opened or has no sub-folders; if its classes cannot be
        told apart (see `image_files.check_classes`); if a sub-folder has no readable image or a
        name that is not UTF-8; if a class is not among those of the training images; or if a file
        changes while it is read.
    """
    names, found = find_images(folder)
    check = check_test_classes if train else check_classes
    also = [train.classes] if train else []
    # Before anything is decoded; and again when it is known which files are images.
    check(folder, names, found, *also)
    classes, known = (train.classes, train.levels) if train else (names, {})
    wanted = [file for file in found if not file.reason]
    decoded = decode_images(
        [Path(folder, file.name) for file in wanted],
        side,
        known=known,
        threads=threads,
        advance=advance,
        room=room,
    )
    refused = {wanted[row].name: reason for row, reason in decoded.refused.items()}
    found = [replace(file, reason=file.reason or refused.get(file.name, "")) for file in found]
    check(folder, names, found, *also)
    used = [wanted[row] for row in decoded.rows]
    files = [as_utf8(file.name) for file in used]
    return ImageFolder(
        decoded.images,
        np.array([classes.index(file.label) for file in used], np.uint16),
        files,
        list(classes),
        [{"path": shown(file.name), "reason": file.reason} for file in found if file.reason],
        pd.DataFrame({"path": files}).join(decoded.quality),
        decoded.levels,
    )
