"""Images of one's own: a folder with a sub-folder for every class."""

import os
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from wtrak.errors import WtrakError
from wtrak.sources.image_memory import MAX_BYTES, Budget, check_file, decoding_bytes

# What images are kept in. Pillow reads more, but starts another program for some (EPS) and takes
# nearly anything for others (TGA).
FORMATS = ("AVIF", "BMP", "GIF", "JPEG", "JPEG2000", "PNG", "PPM", "TIFF", "WEBP")
# Of which grey values are scaled at a time.
_BAND_PIXELS = 2**20
_MEMORY = Budget(MAX_BYTES)


@dataclass(frozen=True)
class ImageFolder:
    """What a folder of images holds.

    Attributes
    ----------
    images : numpy.ndarray, shape (n, side, side, 3), uint8
    labels : numpy.ndarray, shape (n,), uint16
        Position in `classes`.
    files : list of str
        Path of each image below the folder, with slashes.
    classes : list of str
        Names of the sub-folders, in alphabetical order.
    skipped : list of dict
        ``path`` and ``reason`` of every file that is not among the images.
    """

    images: np.ndarray
    labels: np.ndarray
    files: list
    classes: list
    skipped: list


def read_image(path, side):
    """An image as a square: upright, in RGB, scaled to its shorter side and cut in the middle.

    Parameters
    ----------
    path : path
        One of `FORMATS`, of any size, grey or in colour; of several frames the first.
    side : int
        Of the square, in pixels.

    Returns
    -------
    numpy.ndarray, shape (side, side, 3), uint8

    Raises
    ------
    Exception
        Of many types, if the file is not a readable image: see `read_image_folder`.
    """
    check_file(path)
    with Image.open(path, formats=FORMATS) as image:
        full_size = image.size
        # Lets JPEG decode at a lower resolution: photographs are read several times as fast.
        image.draft("RGB", (2 * side, 2 * side))
        with _MEMORY.take(decoding_bytes(image, full_size)):
            return _upright_square(image, side)


def _upright_square(image, side):
    # In its place, as a copy would double what a large image takes.
    ImageOps.exif_transpose(image, in_place=True)
    if image.mode.startswith("I") or image.mode == "F":
        image = _scaled_to_bytes(image)
    if image.mode != "RGB":
        image = image.convert("RGB")
    return np.asarray(ImageOps.fit(image, (side, side), Image.Resampling.BILINEAR))


def _scaled_to_bytes(image):
    """Grey values of more than eight bits, for which Pillow's own conversion would clip.

    White is 65535 where a value is above 255, and 1 where all values are real and none is above 1.
    """
    width, height = image.size
    rows = max(1, _BAND_PIXELS // max(width, 1))
    boxes = [(0, top, width, min(top + rows, height)) for top in range(0, height, rows)]
    largest = 0
    for box in boxes:
        values = np.asarray(image.crop(box), dtype=np.float64)
        if not np.isfinite(values).all():
            raise ValueError("a grey value is not finite")
        largest = max(largest, values.max(initial=0))
    top = 65535 if largest > 255 else 1 if image.mode == "F" and largest <= 1 else 255
    scaled = Image.new("L", image.size)
    for box in boxes:
        values = np.asarray(image.crop(box), dtype=np.float64) * (255 / top)
        scaled.paste(Image.fromarray(np.clip(values, 0, 255).round().astype(np.uint8)), box)
    return scaled


def read_image_folder(folder, side, *, classes=None, threads=1, advance=lambda k: None):
    """Every readable image below the sub-folders of `folder`, the sub-folder being its label.

    Nothing is left out silently: files that are no readable image, and files beside the
    sub-folders, are listed with the reason.

    Parameters
    ----------
    folder : path
    side : int
        Images become squares of this side in pixels.
    classes : list of str, optional
        The classes of another folder, of which this one is the test set.
    threads : int
        That decode side by side.
    advance : callable
        Told the number of files after each, for progress.

    Returns
    -------
    ImageFolder
        In alphabetical order of the files.

    Raises
    ------
    WtrakError
        If the folder is missing or has no sub-folders, one of them has no readable image or a name
        that is no UTF-8, there are fewer than two or only one image, or a class is not among
        `classes`.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise WtrakError(f"{folder} is no folder; give one with a sub-folder for every class")
    entries = sorted(folder.iterdir(), key=lambda path: path.name)
    own = [path.name for path in entries if path.is_dir() and not path.name.startswith(".")]
    skipped = [
        {
            "path": _shown(path.name),
            "reason": "hidden" if path.is_dir() else "not in a class's sub-folder",
        }
        for path in entries
        if path.name not in own
    ]
    if not own:
        raise WtrakError(
            f"{folder} has no sub-folders; it needs one for every class, named after it, with the "
            "images in it"
        )
    nameless = [_shown(name) for name in own if not _is_text(name)]
    if nameless:
        raise WtrakError(
            f"{folder} has sub-folders whose names are no UTF-8, so that no list can hold them: "
            f"{', '.join(nameless)}; rename them"
        )
    names = [_as_utf8(name) for name in own]
    unknown = sorted(set(names) - set(classes or names))
    if unknown:
        raise WtrakError(
            f"{folder} has classes that the training images do not: {', '.join(unknown)}"
        )
    classes = classes or names
    paths = [
        path
        for name in own
        for path in sorted((folder / name).rglob("*"), key=lambda path: path.as_posix())
        if not path.is_dir() or path.is_symlink()
    ]

    def read(path):
        if path.is_dir():
            return "a link to a folder"
        if not _is_text(str(path.relative_to(folder))):
            return "its name is no UTF-8, so that no list can hold it"
        try:
            # A pipe would be waited for, and a device read for ever.
            if not path.is_file():
                return "a link that leads nowhere" if path.is_symlink() else "no file"
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return read_image(path, side)
        except Exception as error:  # Pillow raises many types on files that are not images
            return f"{type(error).__name__}: {error}".replace(str(path), _shown(path.name))

    images = np.empty((len(paths), side, side, 3), np.uint8)
    files, labels = [], []
    with ThreadPoolExecutor(threads) as pool:
        for path, found in zip(paths, pool.map(read, paths), strict=True):
            name = path.relative_to(folder).as_posix()
            if isinstance(found, str):
                skipped.append({"path": _shown(name), "reason": found})
            else:
                images[len(files)] = found
                files.append(_as_utf8(name))
                labels.append(classes.index(files[-1].split("/")[0]))
            advance(1)
    _check(folder, names, classes, labels, skipped)
    return ImageFolder(
        images[: len(files)], np.array(labels, np.uint16), files, list(classes), skipped
    )


def _as_utf8(name):
    """A file's name as UTF-8 has it, where the locale takes it for bytes that are no text."""
    return os.fsencode(name).decode("utf-8", "surrogateescape")


def _is_text(name):
    """Whether a file's name, which on Linux is any bytes, can be written as UTF-8."""
    return _shown(name) == _as_utf8(name)


def _shown(name):
    """A file's name with the bytes that are no UTF-8 spelt out."""
    return _as_utf8(name).encode("utf-8", "backslashreplace").decode()


def _check(folder, own, classes, labels, skipped):
    """Refuse what no head can be fitted to, and say which folder is at fault."""
    counts = dict(zip(classes, np.bincount(labels, minlength=len(classes)).tolist(), strict=True))
    empty = [name for name in own if not counts[name]]
    if empty:
        several = len(empty) > 1
        unreadable = sum(entry["path"].split("/")[0] in empty for entry in skipped)
        hint = f" (files there that are no readable images: {unreadable})" if unreadable else ""
        raise WtrakError(
            f"{folder}: the sub-folder{'s' if several else ''} {', '.join(empty)} "
            f"hold{'' if several else 's'} no image that can be read{hint}; fill or remove "
            f"{'them' if several else 'it'}"
        )
    if len(labels) == 1:
        raise WtrakError(f"{folder} holds only one image; there is nothing to compare it with")
    if len(classes) < 2:
        raise WtrakError(
            f"{folder} has only the class {classes[0]}; wrong labels can be found among two or more"
        )
