"""Memory that images take, from what they claim, before it is taken."""

import contextlib
import struct
import threading
from pathlib import Path

# For all images that are decoded at a time: 1 GiB, less what their headers and Python take.
MAX_BYTES = 880 * 1024**2
# Bytes for each pixel, measured, from the decoder to the upright copy in RGB.
_COST = {"AVIF": 24, "GIF": 9, "JPEG": 9, "JPEG2000": 28, "TIFF": 10, "WEBP": 17}
_OTHER_COST = 9
# Of a progressive JPEG, which is decoded at full size first.
_PROGRESSIVE_COST = 9
# Decoders that read all of a file first.
_WHOLE = {"AVIF", "JPEG2000", "WEBP"}
# Pillow keeps each part of a header, which may be as short as four bytes.
_MAX_PARTS = 200_000
_SMALL_FILE = 2 * 1024**2


class Budget:
    """Memory that threads share: who needs more than is free waits for others to be done."""

    def __init__(self, total):
        self._total, self._free, self._changed = total, total, threading.Condition()

    @contextlib.contextmanager
    def take(self, amount):
        """Hold so many bytes while the block runs.

        Raises
        ------
        ValueError
            If it is more than there is in all.
        """
        if amount > self._total:
            raise ValueError(f"it would take {amount / 1024**2:,.0f} MiB to decode; too large")
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
    """Refuse what would take too much memory as soon as Pillow opens it.

    Raises
    ------
    ValueError
    """
    size = Path(path).stat().st_size
    if size > MAX_BYTES:
        raise ValueError(f"a file of {size:,} bytes is too large")
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
        raise ValueError(f"it would take {amount / 1024**2:,.0f} MiB to decode; too large")


def _count_parts(file, place, form, more, last):
    """Refuse a header of more parts than `_MAX_PARTS`; parts say their own length."""
    for _ in range(_MAX_PARTS):
        file.seek(place)
        head = file.read(struct.calcsize(form))
        if len(head) < struct.calcsize(form) or last in head:
            return
        place += struct.unpack(form, head)[0] + more
    raise ValueError(f"a header of more than {_MAX_PARTS:,} parts")


def decoding_bytes(image, full_size):
    """Bytes that decoding an open image takes, and turning it upright and into RGB.

    Parameters
    ----------
    image : PIL.Image.Image
        Opened and not decoded, its size that at which it will be.
    full_size : tuple of int
        Its size in the file.
    """
    total = image.width * image.height * _COST.get(image.format, _OTHER_COST)
    if image.format == "JPEG" and "progressive" in image.info:
        total += full_size[0] * full_size[1] * _PROGRESSIVE_COST
    if image.format == "TIFF":
        total += _piece_bytes(image)
    if image.format in _WHOLE:
        total += Path(image.filename).stat().st_size
    return total


def _piece_bytes(image):
    """Bytes of the largest piece of a TIFF that is unpacked at once: a tile, or rows."""
    tags = image.tag_v2
    rows = min(tags.get(278, image.height), image.height)
    width, height = tags.get(322, image.width), tags.get(323, rows)
    bits = tags.get(258, (1,))
    return width * height * (sum(bits) if isinstance(bits, tuple) else bits) // 8
