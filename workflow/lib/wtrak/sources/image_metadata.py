"""Copies of image files without metadata, for files whose metadata are damaged."""

import io
import struct
from pathlib import Path

# A larger file is not copied into memory.
_MAX_BYTES = 32 * 1024**2
_PNG = b"\x89PNG\r\n\x1a\n"
# Segments of a JPEG that decide how its pixels are decoded: JFIF and Adobe.
_DECODING = (0xE0, 0xEE)
_START_OF_SCAN = 0xDA


def without_metadata(path):
    """A copy of a PNG or JPEG in memory that has only what its pixels need.

    Parameters
    ----------
    path : path

    Returns
    -------
    io.BytesIO or None
        None for other formats, for files of more than 32 MiB, and for a header without an end.
    """
    if Path(path).stat().st_size > _MAX_BYTES:
        return None
    content = Path(path).read_bytes()
    if content.startswith(_PNG):
        pieces = _png_chunks(content)
    elif content.startswith(b"\xff\xd8"):
        pieces = _jpeg_segments(content)
    else:
        return None
    try:
        return io.BytesIO(b"".join(pieces))
    except struct.error:
        return None


def _png_chunks(content):
    """Yield the signature, the critical chunks, whose names begin with a capital, and tRNS."""
    yield _PNG
    place = len(_PNG)
    while place < len(content):
        length, name = struct.unpack_from(">I4s", content, place)
        end = place + 12 + length
        if name[:1].isupper() or name == b"tRNS":
            yield content[place:end]
        place = end


def _jpeg_segments(content):
    """Yield the segments before the scan without application data and comments, and the rest."""
    yield content[:2]
    place = 2
    while True:
        prefix, kind, length = struct.unpack_from(">BBH", content, place)
        if prefix != 0xFF:
            raise struct.error
        if kind == 0xFF:  # padding
            place += 1
            continue
        if kind == _START_OF_SCAN:
            break
        if (not 0xE0 <= kind <= 0xEF or kind in _DECODING) and kind != 0xFE:
            yield content[place : place + 2 + length]
        place += 2 + length
    yield content[place:]
