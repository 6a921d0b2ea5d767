"""Small images that claim much are refused before it is taken, and threads share what there is."""

import struct
import threading
import zlib

import pytest
from PIL import Image

from limits import within_limits
from wtrak.sources.image_memory import Budget
from wtrak.sources.image_pixels import read_image


def chunk(kind, body):
    checksum = struct.pack(">I", zlib.crc32(kind + body))
    return struct.pack(">I", len(body)) + kind + body + checksum


def png(width, height, bits, colour, *chunks, rows=b""):
    """A PNG of a claimed size and kind, with further chunks before its pixels."""
    header = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, 0)
    parts = [chunk(b"IHDR", header), *chunks, chunk(b"IDAT", zlib.compress(rows, 1))]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts) + chunk(b"IEND", b"")


def tags(*entries, large=False):
    """A TIFF's header and list of tags, each of tag, kind, count, and value or place."""
    entries = sorted(entries)
    if large:
        body = b"".join(struct.pack("<HHQQ", *entry) for entry in entries)
        return struct.pack("<2sHHHQQ", b"II", 43, 8, 0, 16, len(entries)) + body + bytes(8)
    body = b"".join(struct.pack("<HHII", *entry) for entry in entries)
    return struct.pack("<2sHIH", b"II", 42, 8, len(entries)) + body + bytes(4)


# An image of 8 × 8 grey pixels, which are not there.
SMALL = [(256, 3, 1, 8), (257, 3, 1, 8), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 1)]
STRIP = [(273, 4, 1, 0), (278, 3, 1, 8), (279, 4, 1, 64)]
MEGABYTES = 4 << 20
# Values of all of these tags are the same bytes of the file.
OVERLAPPING = [(40000 + k, 7, MEGABYTES, 64) for k in range(1000)]


def overlapping(*, large=False, nested=False):
    """Tags that claim 4 GB of 4 MB."""
    if not nested:
        return tags(*SMALL, *STRIP, *OVERLAPPING, large=large) + bytes(MEGABYTES)
    start = tags(*SMALL, *STRIP, (34665, 4, 1, 4096))
    inner = tags(*OVERLAPPING)[8:]
    return start + bytes(4096 - len(start)) + inner + bytes(MEGABYTES)


def tile(side):
    """A TIFF whose one tile is far larger than the image."""
    place = [(322, 4, 1, side), (323, 4, 1, side), (324, 4, 1, 512), (325, 4, 1, 100)]
    packed = [(259, 3, 1, 8) if tag[0] == 259 else tag for tag in SMALL]
    start = tags(*packed, *place)
    return start + bytes(512 - len(start)) + zlib.compress(bytes(10_000))


def riff(width, height):
    """A WebP that claims a canvas and has next to nothing on it."""
    size = b"".join((side - 1).to_bytes(3, "little") for side in (width, height))
    body = b"WEBPVP8X" + struct.pack("<II", 10, 0x02) + size
    body += b"ANIM" + struct.pack("<IIH", 6, 0, 0)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def grey_of_16_bits(side):
    return png(side, side, 16, 0, rows=bytes((1 + 2 * side) * side))


BOMBS = {
    "169 million pixels": (lambda: grey_of_16_bits(13_000), "would take"),
    "a WebP of 65,000 pixels a side": (lambda: riff(65_000, 65_000), "would take"),
    "a tile of a billion pixels": (lambda: tile(33_000), "would take"),
    "a million words": (
        lambda: png(8, 8, 8, 0, *(chunk(b"tEXt", b"%07d\0" % k) for k in range(1_500_000))),
        "more than 200,000 parts",
    ),
    "ten million empty segments": (
        lambda: b"\xff\xd8" + b"\xff\xe5\0\2" * 10_000_000,
        "more than 200,000 parts",
    ),
}


# Pillow bounds these itself, and may read the picture that is beside them.
TAGS = {
    "tags of the same bytes": overlapping,
    "the same in the larger form": lambda: overlapping(large=True),
    "the same in a list within": lambda: overlapping(nested=True),
    "the same in EXIF data": lambda: png(8, 8, 8, 0, chunk(b"eXIf", overlapping()), rows=bytes(72)),
    "numbers by the million": lambda: (
        tags(*SMALL, *STRIP[1:], (273, 3, 30_000_000, 512)) + bytes(60_000_512)
    ),
}


@pytest.mark.parametrize("case", TAGS)
@pytest.mark.filterwarnings("ignore")
def test_tags_cost_no_more_than_they_may(tmp_path, case):
    """If it failed, thousands of tags could each make a copy of the same megabytes."""
    (tmp_path / "picture").write_bytes(TAGS[case]())
    assert within_limits(read_image, tmp_path / "picture", 16).square.shape == (16, 16, 3)


@pytest.mark.parametrize("case", BOMBS)
@pytest.mark.filterwarnings("ignore")
def test_bomb_is_refused_before_it_is_decoded(tmp_path, case):
    """If it failed, one file of a folder could take the machine down."""
    make, reason = BOMBS[case]
    (tmp_path / "picture").write_bytes(make())
    with pytest.raises(ValueError, match=reason):
        within_limits(read_image, tmp_path / "picture", 16)


def test_large_photographs_are_still_read(tmp_path):
    """If it failed, the guard would refuse what cameras make."""
    Image.new("RGB", (9504, 6336), (200, 30, 40)).save(tmp_path / "a.jpg", quality=30)
    photograph = within_limits(read_image, tmp_path / "a.jpg", 16)
    assert abs(photograph.square.astype(int) - (200, 30, 40)).max() < 4
    rows = bytes((1 + 3 * 9504) * 6336)
    (tmp_path / "b.png").write_bytes(png(9504, 6336, 8, 2, rows=rows))
    assert within_limits(read_image, tmp_path / "b.png", 16).square.max() == 0


def test_threads_wait_for_memory_that_others_hold():
    """If it failed, as many large images as there are cores would be decoded at a time."""
    budget, held, most = Budget(100), [], []

    def decode():
        for _ in range(50):
            with budget.take(40):
                held.append(40)
                most.append(sum(held))
                held.pop()

    threads = [threading.Thread(target=decode) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert not any(thread.is_alive() for thread in threads) and max(most) <= 80
    with pytest.raises(ValueError, match="too large"), budget.take(101):
        pass
