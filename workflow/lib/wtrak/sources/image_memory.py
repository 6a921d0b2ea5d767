"""Estimate and limit the memory for decoding images, before they are decoded."""

import contextlib
import struct
import threading
from pathlib import Path

# Limit for all images that are decoded at the same time: 1 GiB minus headers and Python.
MAX_BYTES = 880 * 1024**2
# Measured bytes for each pixel, including the upright copy in RGB.
_COST = {"AVIF": 24, "GIF": 9, "JPEG": 9, "MPO": 9, "JPEG2000": 28, "TIFF": 10, "WEBP": 17}
_OTHER_COST = 9
# The same for a progressive JPEG, which is first decoded at full size.
_PROGRESSIVE_COST = 9
# Further bytes for an image that is first brought into the mode RGBA.
_TRANSPARENT_COST = 4
# Formats whose decoder reads the whole file first.
_WHOLE = {"AVIF", "JPEG2000", "WEBP"}
# Pillow stores every part of a header. A part may have only four bytes.
_MAX_PARTS = 200_000
_SMALL_FILE = 2 * 1024**2


class TooLargeError(ValueError):
    """A file would take more memory than it may."""


class Budget:
    """Memory that threads share. A thread that needs more than is free waits."""

    def __init__(self, total):
        self._total, self._free, self._changed = total, total, threading.Condition()

    @contextlib.contextmanager
    def take(self, amount):
        """Reserve `amount` bytes while the block runs.

        Raises
        ------
        TooLargeError
            If it is more than the total.
        """
        if amount > self._total:
            raise TooLargeError(f"it would take {amount / 1024**2:,.0f} MiB to decode; too large")
        with self._changed:
            self._changed.wait_for(lambda: self._free >= amount)
            self._free -= amount
        try:
            yield
        finally:
            with self._changed:
                self._free += amount
                self._changed.notify_all()


def check_file(path):
    """Raise an error for files that would take too much memory when Pillow opens them.

    Raises
    ------
    TooLargeError
    """
    size = Path(path).stat().st_size
    if size > MAX_BYTES:
        raise TooLargeError(f"a file of {size:,} bytes is too large")
    with Path(path).open("rb") as file:
        start = file.read(32)
        file.seek(0)
        if start[:4] == b"RIFF" and start[12:16] == b"VP8X":
            width, height = (1 + int.from_bytes(start[k : k + 3], "little") for k in (24, 27))
            _check_pixels(width * height * _COST["WEBP"])
        elif size > _SMALL_FILE and start[:8] == b"\x89PNG\r\n\x1a\n":
            _count_parts(file, 8, ">I4x", 12, b"IEND")
        elif size > _SMALL_FILE and start[:2] == b"\xff\xd8":
            _count_parts(file, 2, ">2xH", 2, b"\xff\xda")


def _check_pixels(amount):
    if amount > MAX_BYTES:
        raise TooLargeError(f"it would take {amount / 1024**2:,.0f} MiB to decode; too large")


def _count_parts(file, place, form, more, last):
    """Raise an error for a header with more than `_MAX_PARTS` parts. Parts have their length."""
    for _ in range(_MAX_PARTS):
        file.seek(place)
        head = file.read(struct.calcsize(form))
        if len(head) < struct.calcsize(form) or last in head:
            return
        place += struct.unpack(form, head)[0] + more
    raise TooLargeError(f"a header of more than {_MAX_PARTS:,} parts")


def decoding_bytes(image, full_size, wide):
    """Bytes for decoding an opened image, converting it to RGB and removing its transparency.

    Parameters
    ----------
    image : PIL.Image.Image
        Opened but not decoded. Its size is that of the decoded image.
    full_size : tuple of int
        Width and height in the file.
    wide : bool
        Whether the file has 16 bits for each colour.
    """
    pixels = image.width * image.height
    total = pixels * _COST.get(image.format, _OTHER_COST)
    if image.has_transparency_data and image.mode not in ("RGBA", "LA"):
        total += pixels * _TRANSPARENT_COST
    if wide and image.mode in ("RGBA", "LA"):
        total += pixels * 2 * _TRANSPARENT_COST
    if image.format in ("JPEG", "MPO") and "progressive" in image.info:
        total += full_size[0] * full_size[1] * _PROGRESSIVE_COST
    if image.format == "TIFF":
        total += _piece_bytes(image)
    if image.format in _WHOLE:
        total += Path(image.filename).stat().st_size
    return total


def _piece_bytes(image):
    """Bytes of the largest piece of a TIFF that is unpacked at once, a tile or some rows."""
    tags = image.tag_v2
    rows = min(tags.get(278, image.height), image.height)
    width, height = tags.get(322, image.width), tags.get(323, rows)
    bits = tags.get(258, (1,))
    return width * height * (sum(bits) if isinstance(bits, tuple) else bits) // 8
