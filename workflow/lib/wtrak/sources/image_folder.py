"""Read a folder of images with a sub-folder for every class."""

import warnings
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from wtrak.errors import WtrakError
from wtrak.sources.image_files import as_utf8, check_classes, check_test_classes, find_images, shown
from wtrak.sources.image_pixels import read_image
from wtrak.sources.image_quality import MEASURES, flags, measure


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
    Beside the images in `room`, some hundred bytes are kept for each, and the images that are being
    decoded.

    Parameters
    ----------
    folder : path
    side : int
        Images become squares of this side in pixels.
    train : ImageFolder, optional
        For a test set: the training images, whose classes and levels it has.
    threads : int
        Number of threads that decode images.
    advance : callable
        Called with 1 after each file, to show progress.
    room : callable
        Called with a shape and the type uint8, returns an array for the images.

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
    # Before anything is decoded; and again when it is known which files are images.
    check(folder, names, found, *([train.classes] if train else []))
    classes, known = (train.classes, train.levels) if train else (names, {})
    wanted = [file for file in found if not file.reason]
    images = room((len(wanted), side, side, 3), np.uint8)
    used, measures, levels, refused = [], [], {}, {}
    with warnings.catch_warnings(), ThreadPoolExecutor(threads) as pool:
        warnings.simplefilter("ignore")
        read, ahead = _reader(folder, side, known), 4 * threads
        for file, outcome in _in_order(pool, read, wanted, ahead):
            advance(1)
            if isinstance(outcome, str):
                refused[file.name] = outcome
                continue
            picture, numbers = outcome
            images[len(used)] = picture.square
            used.append((file, picture.levels))
            measures.append(numbers)
            if picture.levels:
                kind = picture.levels.kind
                levels[kind] = levels.get(kind, picture.levels) | picture.levels
        # Images that were scaled by their own black and white are scaled by those of all.
        rows = {
            file: row
            for row, (file, own) in enumerate(used)
            if own and own.kind not in known and _differ(own, levels[own.kind])
        }
        levels |= known
        for file, outcome in _in_order(pool, _reader(folder, side, levels), rows, ahead):
            if isinstance(outcome, str):
                raise WtrakError(
                    f"{folder}: {shown(file.name)} changed while it was read; run again"
                )
            images[rows[file]], measures[rows[file]] = outcome[0].square, outcome[1]
    found = [replace(file, reason=file.reason or refused.get(file.name, "")) for file in found]
    check(folder, names, found, *([train.classes] if train else []))
    files = [as_utf8(file.name) for file, _ in used]
    quality = pd.DataFrame(measures, columns=MEASURES)
    quality.insert(0, "path", files)
    return ImageFolder(
        images[: len(files)],
        np.array([classes.index(file.label) for file, _ in used], np.uint16),
        files,
        list(classes),
        [{"path": shown(file.name), "reason": file.reason} for file in found if file.reason],
        quality.assign(picture=flags(quality)),
        levels,
    )


def _reader(folder, side, levels):
    """A function from a file to its `Picture` and `measure`, or to the reason why it has none."""

    def read(file):
        path = Path(folder, file.name)
        try:
            picture = read_image(path, side, levels)
            return picture, measure(picture.square, picture.width, picture.height)
        except Exception as error:  # Pillow raises many types on files that are not images
            return f"{type(error).__name__}: {error}".replace(str(path), shown(path.name))

    return read


def _differ(own, common):
    return (own.black, own.white) != (common.black, common.white)


def _in_order(pool, function, items, ahead):
    """Yield each item and what a function makes of it, at most `ahead` of them before their turn.

    The pool's own `map` would keep the results of all that wait for a slow one.
    """
    waiting = deque()
    for item in items:
        waiting.append((item, pool.submit(function, item)))
        if len(waiting) >= ahead:
            item, future = waiting.popleft()
            yield item, future.result()
    while waiting:
        item, future = waiting.popleft()
        yield item, future.result()
