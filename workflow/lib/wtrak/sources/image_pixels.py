"""Decode one image file: upright, in RGB, without transparency, as a square."""

import contextlib
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageOps

from wtrak.sources.image_levels import Levels, has_16_bits, levels_of, scaled_to_bytes
from wtrak.sources.image_memory import (
    MAX_BYTES,
    Budget,
    TooLargeError,
    check_file,
    decoding_bytes,
)
from wtrak.sources.image_metadata import without_metadata

# Accepted formats. Pillow reads others too, but it starts another program for EPS, and takes nearly
# any file for TGA.
FORMATS = ("AVIF", "BMP", "GIF", "JPEG", "JPEG2000", "PNG", "PPM", "TIFF", "WEBP")
_MEMORY = Budget(MAX_BYTES)
# The EXIF tag that says how a camera was held, and how to turn the image then.
_ORIENTATION = 0x0112
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_LYING = (5, 6, 7, 8)
# With a smaller standard deviation of its grey values an image on white shows nothing.
_VISIBLE = 8


@dataclass(frozen=True)
class Picture:
    """A decoded image.

    Attributes
    ----------
    square : numpy.ndarray, shape (side, side, 3), uint8
    width, height : int
        Size in the file, turned upright, in pixels.
    levels : Levels or None
        Range of its values if they are not bytes.
    """

    square: np.ndarray
    width: int
    height: int
    levels: Levels | None


def read_image(path, side, known=None):
    """Read an image, turn it upright, and crop and scale it to a square in RGB.

    Transparent parts become white; black if the image would show nothing on white. If the metadata
    of a PNG or JPEG are damaged, it is read without them.

    Parameters
    ----------
    path : path
        A file in one of `FORMATS`, of any size, grey or in colour. Of several frames the first is
        used.
    side : int
        Side of the square in pixels.
    known : dict of str to Levels, optional
        Black and white of each kind of values that are not bytes. Those of other kinds are taken
        from the image itself.

    Returns
    -------
    Picture

    Raises
    ------
    Exception
        Of many types, if the file is not a readable image. `read_image_folder` catches them.
    """
    check_file(path)
    try:
        return _decoded(path, side, known or {})
    except (TooLargeError, Image.DecompressionBombError, MemoryError):
        raise
    except Exception:
        copy = without_metadata(path)
        # If the copy fails as well, the first error is the one that describes the file.
        with contextlib.suppress(Exception):
            if copy:
                return _decoded(copy, side, known or {}, len(copy.getbuffer()))
        raise


def _decoded(file, side, known, held=0):
    """`Picture` of a file, or of a copy in memory that holds `held` bytes."""
    with Image.open(file, formats=FORMATS) as image:
        width, height = image.size
        # JPEG is decoded at a lower resolution, which is several times as fast for photographs.
        image.draft("RGB", (2 * side, 2 * side))
        wide = has_16_bits(image)
        with _MEMORY.take(held + decoding_bytes(image, (width, height), wide)):
            image.load()
            pixels, levels = image, levels_of(image, wide)
            if levels:
                scale = known.get(levels.kind, levels)
                scale.check(levels)
                pixels = scaled_to_bytes(image, scale)
            square = _opaque_square(pixels, side)
        orientation = _orientation(image)
    if orientation in _TURNS:
        square = square.transpose(_TURNS[orientation])
    if orientation in _LYING:
        width, height = height, width
    return Picture(np.asarray(square), width, height, levels)


def _orientation(image):
    """Value of the EXIF tag, 1 for upright; 1 as well if the metadata cannot be read."""
    try:
        return image.getexif().get(_ORIENTATION, 1)
    except Exception:  # Pillow raises many types
        return 1


def _opaque_square(image, side):
    """The middle of an image as a square in RGB, without transparency."""
    size, bilinear = (side, side), Image.Resampling.BILINEAR
    if not image.has_transparency_data:
        image = image if image.mode == "RGB" else image.convert("RGB")
        return ImageOps.fit(image, size, bilinear)
    # Pillow weights colours by their opacity when it scales these two modes.
    image = image if image.mode in ("RGBA", "LA") else image.convert("RGBA")
    square = ImageOps.fit(image, size, bilinear).convert("RGBA")
    on_white, on_black = (
        Image.alpha_composite(Image.new("RGBA", size, (value,) * 3 + (255,)), square).convert("RGB")
        for value in (255, 0)
    )
    lost = _spread(on_white) < _VISIBLE and _spread(on_black) > _spread(on_white)
    return on_black if lost else on_white


def _spread(image):
    return np.asarray(image.convert("L")).std()
