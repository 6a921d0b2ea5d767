"""Memory that images take, from what they claim, before it is taken."""

import contextlib
import io
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
# Numbers of a tag, of which each becomes a Python object.
_MAX_NUMBER_BYTES = 4 * 1024**2
_TAG_BYTES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4}
_TAG_BYTES |= {16: 8, 17: 8, 18: 8}
_TEXT_TAGS = {1, 2, 7}
# Lists of tags within a list of tags: of the camera, the place and the file's kind; frames.
_NESTED_TAGS = {34665, 34853, 40965, 330}


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
        if start[:2] in (b"II", b"MM"):
            check_tags(file, size)
        elif start[:4] == b"RIFF" and start[12:16] == b"VP8X":
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


def check_tags(stream, size):
    """Refuse a TIFF, or EXIF data, of `size` bytes whose tags claim more than it can hold.

    Pillow copies the value of every tag, and thousands of tags may claim the same megabytes.

    Raises
    ------
    ValueError
    """
    start = stream.read(16)
    order = ">" if start[:2] == b"MM" else "<"
    # Read as Pillow's versions read it: the larger form has its own number, in either place.
    for large in {False, 43 in start[2:4]}:
        form = order + ("Q" if large else "I")
        begin = 8 if large else 4
        if len(start) < begin + struct.calcsize(form):
            return
        queue, seen, numbers, total = [*struct.unpack_from(form, start, begin)], set(), 0, 0
        while queue:
            place = queue.pop()
            if place in seen or place >= size:
                continue
            seen.add(place)
            for tag, kind, count, value in _tags(stream, place, order, large):
                claimed = _TAG_BYTES.get(kind, 0) * count
                total += claimed
                numbers += 0 if kind in _TEXT_TAGS else claimed
                if total > size or numbers > _MAX_NUMBER_BYTES:
                    raise ValueError("its tags claim more than it can hold")
                if tag in _NESTED_TAGS:
                    queue.append(value)


def _tags(stream, place, order, large):
    """Tag, kind, count and value or place of it, of each entry of a list of tags."""
    head, entry = (f"{order}Q", f"{order}HHQQ") if large else (f"{order}H", f"{order}HHII")
    stream.seek(place)
    raw = stream.read(struct.calcsize(head))
    if len(raw) < struct.calcsize(head):
        return
    count = min(struct.unpack(head, raw)[0], 2**16)
    raw = stream.read(count * struct.calcsize(entry))
    whole = len(raw) - len(raw) % struct.calcsize(entry)
    yield from struct.iter_unpack(entry, raw[:whole])


def decoding_bytes(image, full_size):
    """Bytes that decoding an open image takes, and turning it upright and into RGB.

    Parameters
    ----------
    image : PIL.Image.Image
        Opened and not decoded, its size that at which it will be.
    full_size : tuple of int
        Its size in the file.

    Raises
    ------
    ValueError
        If its EXIF data claim more than they can hold.
    """
    exif = image.info.get("exif")
    if exif is None and "Raw profile type exif" in image.info:
        exif = bytes.fromhex("".join(image.info["Raw profile type exif"].split("\n")[3:]))
    if exif:
        exif = exif.removeprefix(b"Exif\x00\x00")
        check_tags(io.BytesIO(exif), len(exif))
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
