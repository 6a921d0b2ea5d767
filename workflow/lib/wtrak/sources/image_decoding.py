"""Decode many image files on several threads, within a bounded memory."""

import warnings
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from wtrak.errors import WtrakError
from wtrak.sources.image_files import shown
from wtrak.sources.image_pixels import read_image
from wtrak.sources.image_quality import MEASURES, flags, measure


@dataclass(frozen=True)
class DecodedImages:
    """Images, those that could not be decoded, and what is odd.

    Attributes
    ----------
    images : numpy.ndarray, shape (n, side, side, 3), uint8
    rows : list of int
        Position of each image in the list of files.
    refused : dict of int to str
        Reason of each other file, by its position.
    quality : pandas.DataFrame, n rows
        Columns `image_quality.MEASURES` and picture: what is odd about each image.
    levels : dict of str to Levels
        Black and white of each kind of values that are not bytes (see `image_levels`).
    """

    images: np.ndarray
    rows: list
    refused: dict
    quality: pd.DataFrame
    levels: dict


def decode_images(paths, side, *, known=None, threads=1, advance=lambda k: None, room=np.empty):
    """Read image files, all with the same black and white.

    Beside the images in `room`, some hundred bytes are kept for each, and the images that are being
    decoded.

    Parameters
    ----------
    paths : list of path
    side : int
        Images become squares of this side in pixels.
    known : dict of str to Levels, optional
        For test images: the levels of the training images.
    threads : int
        Number of threads that decode images.
    advance : callable
        Called with 1 after each file, to show progress.
    room : callable
        Called with a shape and the type uint8, returns an array for the images.

    Returns
    -------
    DecodedImages
        In the order of the files.

    Raises
    ------
    WtrakError
        If a file changes while it is read.
    """
    known, ahead = known or {}, 4 * threads
    images = room((len(paths), side, side, 3), np.uint8)
    rows, measures, own, levels, refused = [], [], [], {}, {}
    with warnings.catch_warnings(), ThreadPoolExecutor(threads) as pool:
        warnings.simplefilter("ignore")
        for row, outcome in enumerate(_in_order(pool, _reader(side, known), paths, ahead)):
            advance(1)
            if isinstance(outcome, str):
                refused[row] = outcome
                continue
            picture, numbers = outcome
            images[len(rows)] = picture.square
            rows.append(row)
            measures.append(numbers)
            own.append(picture.levels)
            if picture.levels:
                kind = picture.levels.kind
                levels[kind] = levels.get(kind, picture.levels) | picture.levels
        # Images that were scaled by their own black and white are scaled by those of all.
        again = [
            k
            for k, one in enumerate(own)
            if one and one.kind not in known and _differ(one, levels[one.kind])
        ]
        levels |= known
        files = [paths[rows[k]] for k in again]
        outcomes = _in_order(pool, _reader(side, levels), files, ahead)
        for k, path, outcome in zip(again, files, outcomes, strict=True):
            if isinstance(outcome, str):
                raise WtrakError(f"{shown(str(path))} changed while it was read; run again")
            images[k], measures[k] = outcome[0].square, outcome[1]
    quality = pd.DataFrame(measures, columns=MEASURES)
    quality["picture"] = flags(quality)
    return DecodedImages(images[: len(rows)], rows, refused, quality, levels)


def _reader(side, levels):
    """A function from a path to its `Picture` and `measure`, or to the reason why it has none."""

    def read(path):
        path = Path(path)
        try:
            # Reading a pipe or a device might never end.
            if not path.is_file():
                return "no file" if path.exists() else "no such file"
            picture = read_image(path, side, levels)
            return picture, measure(picture.square, picture.width, picture.height)
        except Exception as error:  # Pillow raises many types on files that are not images
            return f"{type(error).__name__}: {error}".replace(str(path), shown(path.name))

    return read


def _differ(one, other):
    return (one.black, one.white) != (other.black, other.white)


def _in_order(pool, function, items, ahead):
    """Yield what a function makes of each item, at most `ahead` of them before their turn.

    The pool's own `map` would keep the results of all that wait for a slow one.
    """
    waiting = deque()
    for item in items:
        waiting.append(pool.submit(function, item))
        if len(waiting) >= ahead:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()
