"""Read a folder of images with a sub-folder for every class."""

import os
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from wtrak.errors import WtrakError
from wtrak.sources.image_memory import MAX_BYTES, Budget, check_file, decoding_bytes

# Accepted formats. Pillow reads others too, but it starts another program for EPS, and takes nearly
# any file for TGA.
FORMATS = ("AVIF", "BMP", "GIF", "JPEG", "JPEG2000", "PNG", "PPM", "TIFF", "WEBP")
# Number of grey values that are scaled at a time.
_BAND_PIXELS = 2**20
_MEMORY = Budget(MAX_BYTES)


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
        Names of the sub-folders, in alphabetical order.
    skipped : list of dict
        ``path`` and ``reason`` of every file that is not used.
    """

    images: np.ndarray
    labels: np.ndarray
    files: list
    classes: list
    skipped: list


def read_image(path, side):
    """Read an image, turn it upright, and crop and scale it to a square in RGB.

    Parameters
    ----------
    path : path
        A file in one of `FORMATS`, of any size, grey or in colour. Of several frames the first is
        used.
    side : int
        Side of the square in pixels.

    Returns
    -------
    numpy.ndarray, shape (side, side, 3), uint8

    Raises
    ------
    Exception
        Of many types, if the file is not a readable image. `read_image_folder` catches them.
    """
    check_file(path)
    with Image.open(path, formats=FORMATS) as image:
        full_size = image.size
        # JPEG is decoded at a lower resolution, which is several times as fast for photographs.
        image.draft("RGB", (2 * side, 2 * side))
        with _MEMORY.take(decoding_bytes(image, full_size)):
            return _upright_square(image, side)


def _upright_square(image, side):
    # In place, because a copy would double the memory.
    ImageOps.exif_transpose(image, in_place=True)
    if image.mode.startswith("I") or image.mode == "F":
        image = _scaled_to_bytes(image)
    if image.mode != "RGB":
        image = image.convert("RGB")
    return np.asarray(ImageOps.fit(image, (side, side), Image.Resampling.BILINEAR))


def _scaled_to_bytes(image):
    """Scale grey values of more than eight bits, which Pillow's conversion would clip.

    White is 65535 if a value is above 255, 1 if all values are floats up to 1, and else 255.
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
    """Read every image below the sub-folders of `folder`. The sub-folder is the label.

    Files that are not readable images and files outside the sub-folders are listed with a reason.

    Parameters
    ----------
    folder : path
    side : int
        Images become squares of this side in pixels.
    classes : list of str, optional
        For a test set: the classes of the training folder.
    threads : int
        Number of threads that decode images.
    advance : callable
        Called with 1 after each file, to show progress.

    Returns
    -------
    ImageFolder
        In alphabetical order of the files.

    Raises
    ------
    WtrakError
        If the folder is missing, has no sub-folders, fewer than two classes or only one image; if a
        sub-folder has no readable image or a name that is not UTF-8; or if a class is not among
        `classes`.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise WtrakError(f"{folder} is no folder; give one with a sub-folder for every class")
    entries = sorted(folder.iterdir(), key=lambda path: path.name)
    folders = [path.name for path in entries if path.is_dir() and not path.name.startswith(".")]
    skipped = [
        {
            "path": _shown(path.name),
            "reason": "hidden" if path.is_dir() else "not in a class's sub-folder",
        }
        for path in entries
        if path.name not in folders
    ]
    if not folders:
        raise WtrakError(
            f"{folder} has no sub-folders; it needs one for every class, named after it, with the "
            "images in it"
        )
    nameless = [_shown(name) for name in folders if not _is_text(name)]
    if nameless:
        raise WtrakError(
            f"{folder} has sub-folders whose names are no UTF-8, so that no list can hold them: "
            f"{', '.join(nameless)}; rename them"
        )
    names = [_as_utf8(name) for name in folders]
    unknown = sorted(set(names) - set(classes or names))
    if unknown:
        raise WtrakError(
            f"{folder} has classes that the training images do not: {', '.join(unknown)}"
        )
    classes = classes or names
    paths = [
        path
        for name in folders
        for path in sorted((folder / name).rglob("*"), key=lambda path: path.as_posix())
        if not path.is_dir() or path.is_symlink()
    ]

    def read(path):
        if path.is_dir():
            return "a link to a folder"
        if not _is_text(str(path.relative_to(folder))):
            return "its name is no UTF-8, so that no list can hold it"
        try:
            # Reading a pipe or a device might never end.
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
    """A file's name decoded as UTF-8, even if the locale has another encoding."""
    return os.fsencode(name).decode("utf-8", "surrogateescape")


def _is_text(name):
    """Whether a file's name is valid UTF-8. On Linux it may be any bytes."""
    return _shown(name) == _as_utf8(name)


def _shown(name):
    """A file's name, with escapes for bytes that are not UTF-8."""
    return _as_utf8(name).encode("utf-8", "backslashreplace").decode()


def _check(folder, names, classes, labels, skipped):
    """Raise an error that names the folder if no head can be fitted to these images."""
    counts = dict(zip(classes, np.bincount(labels, minlength=len(classes)).tolist(), strict=True))
    empty = [name for name in names if not counts[name]]
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
