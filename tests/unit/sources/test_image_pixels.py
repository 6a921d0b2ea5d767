"""An image file becomes a square that shows what a viewer would show, and nothing is lost."""

import struct
import zlib

import numpy as np
import pytest
from PIL import Image, ImageDraw

from wtrak.sources.image_levels import Levels
from wtrak.sources.image_pixels import read_image


def save(folder, name, image, **options):
    image.save(folder / name, **options)
    return folder / name


def square(path, side):
    return read_image(path, side).square


def test_the_middle_of_the_image_is_kept_and_its_shape(tmp_path):
    """Images would be squeezed, or a corner shown."""
    pixels = np.zeros((20, 60, 3), np.uint8)
    pixels[:, 20:40] = 255
    path = save(tmp_path, "x.png", Image.fromarray(pixels))
    assert (square(path, 20) == 255).all()
    path = save(tmp_path, "y.png", Image.fromarray(pixels.transpose(1, 0, 2)))
    assert (square(path, 20) == 255).all()


def test_images_are_turned_as_the_camera_says(tmp_path):
    """Photographs would lie on their side."""
    pixels = np.zeros((32, 32, 3), np.uint8)
    pixels[:, :16] = 255
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by a quarter, clockwise
    path = tmp_path / "x.png"
    Image.fromarray(pixels).save(path, exif=exif)
    turned = square(path, 32)
    assert (turned[:15] == 255).all() and (turned[17:] == 0).all()


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        (Image.fromarray(np.full((8, 8), 200 * 257, np.uint16)), 200),
        (Image.fromarray(np.full((8, 8), 90, np.int32)), 90),
        (Image.fromarray(np.full((8, 8), 90.0, np.float32)), 90),
        (Image.new("1", (8, 8), 1), 255),
        (Image.new("LA", (8, 8), (70, 128)), 162),
        (Image.fromarray(np.full((8, 8), 0.4, np.float32)), 102),
        (Image.new("CMYK", (8, 8), (0, 0, 0, 155)), 100),
    ],
    ids=["16 bits", "32 bits", "floats", "one bit", "with transparency", "shares", "inks"],
)
def test_every_kind_of_grey_becomes_rgb(tmp_path, image, expected):
    """Pillow's own conversion turns grey of more than eight bits white."""
    path = save(tmp_path, "x.tif" if image.mode in ("F", "I", "CMYK") else "x.png", image)
    assert (square(path, 8) == expected).all()


def test_of_an_animation_the_first_frame_counts(tmp_path):
    """An image would be another on every reading, or all its frames as many images."""
    frames = [Image.new("L", (8, 8), value) for value in (40, 200)]
    for name in ("moving.gif", "moving.webp", "pages.tif"):
        frames[0].save(tmp_path / name, save_all=True, append_images=frames[1:])
        assert np.abs(square(tmp_path / name, 8).astype(int) - 40).max() <= 2


TURNED = {
    1: ((0, 0), (30, 20)),
    2: ((0, 1), (30, 20)),
    3: ((1, 1), (30, 20)),
    4: ((1, 0), (30, 20)),
    5: ((0, 0), (20, 30)),
    6: ((0, 1), (20, 30)),
    7: ((1, 1), (20, 30)),
    8: ((1, 0), (20, 30)),
}


@pytest.mark.parametrize("orientation", TURNED)
def test_every_way_to_hold_a_camera(tmp_path, orientation):
    """An image would be mirrored, or its size be that of another orientation."""
    image = Image.new("RGB", (30, 20))
    # In the quarter of the top left of the file.
    image.paste((255, 255, 255), (0, 0, 15, 10))
    exif = Image.Exif()
    exif[0x0112] = orientation
    picture = read_image(save(tmp_path, "x.png", image, exif=exif), 20)
    (down, right), size = TURNED[orientation]
    quarters = picture.square.reshape(2, 10, 2, 10, 3).mean(axis=(1, 3, 4))
    assert np.argwhere(quarters > 200).tolist() == [[down, right]]
    assert (picture.width, picture.height) == size


def mark(ink, background):
    """A cross of one ink on another, of which only the ink is opaque."""
    image = Image.new("RGBA", (64, 64), (*background, 0))
    draw = ImageDraw.Draw(image)
    for line in ((8, 8, 56, 56), (8, 56, 56, 8)):
        draw.line(line, fill=(*ink, 255), width=6)
    return image


def palette(ink, background):
    """The same with a palette whose colours are all that of the ink, and differ in opacity."""
    image = Image.new("P", (64, 64))
    image.putpalette([*background, *ink])
    image.putdata([int(a > 0) for a in mark(ink, background).getchannel("A").tobytes()])
    return image


BLACK, WHITE = (0, 0, 0), (255, 255, 255)
KINDS = {
    "RGBA": (lambda ink, behind: mark(ink, behind), "png", {}),
    "grey": (lambda ink, behind: mark(ink, behind).convert("LA"), "png", {}),
    "palette": (palette, "png", {"transparency": 0}),
    "GIF": (palette, "gif", {"transparency": 0}),
    "WebP": (lambda ink, behind: mark(ink, behind), "webp", {"lossless": True, "exact": True}),
    "TIFF": (lambda ink, behind: mark(ink, behind), "tif", {}),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ink", [BLACK, WHITE, (200, 30, 40)], ids=["black", "white", "red"])
@pytest.mark.parametrize("hidden", [BLACK, WHITE], ids=["on black", "on white"])
def test_what_is_drawn_on_transparency_is_seen(tmp_path, kind, ink, hidden):
    """A drawing would be plain black, whatever colour the transparent parts hide."""
    make, suffix, options = KINDS[kind]
    path = save(tmp_path, f"x.{suffix}", make(ink, hidden), **options)
    found = square(path, 64).astype(int)
    drawn = np.asarray(mark(ink, hidden))[..., 3] > 0
    shade = np.asarray(Image.new("RGB", (1, 1), ink).convert("L" if kind == "grey" else "RGB"))
    expected = np.where(drawn[..., None], shade.reshape(-1), 0 if ink == WHITE else 255)
    assert np.abs(found - expected).max() <= 3


@pytest.mark.parametrize("mode", ["L", "RGB", "1"])
def test_a_colour_that_stands_for_transparency(tmp_path, mode):
    """Only palettes and channels would be looked at."""
    image = mark(WHITE, BLACK).convert("RGB").convert(mode)
    options = {"transparency": (0, 0, 0) if mode == "RGB" else 0}
    found = square(save(tmp_path, "x.png", image, **options), 64)
    assert (found[32, 32] == 255).all() and (found[32, 2] == 0).all()


def test_transparent_parts_have_no_colour_at_the_edges(tmp_path):
    """Hidden colours would shine through where the image is scaled."""
    image = mark((200, 30, 40), (0, 255, 0)).resize((640, 640), Image.Resampling.NEAREST)
    found = square(save(tmp_path, "x.png", image), 50).astype(int)
    # Between red and white, green is never the largest.
    assert (found[..., 0] >= found[..., 1]).all()


def test_known_levels_are_used_and_what_is_beyond_is_refused(tmp_path):
    """Images of one folder would have different scales."""
    path = save(tmp_path, "x.png", Image.fromarray(np.full((8, 8), 1000, np.uint16)))
    assert (square(path, 8) == round(1000 * 255 / 1023)).all()
    known = {"whole numbers": Levels("whole numbers", 0, 4000)}
    assert (read_image(path, 8, known).square == round(1000 * 255 / 4095)).all()
    assert read_image(path, 8, known).levels == Levels("whole numbers", 1000, 1000)
    with pytest.raises(ValueError, match=r"values from 1000 to 1000, .* from 0 to 255"):
        read_image(path, 8, {"whole numbers": Levels("whole numbers", 0, 200)})


def chunk(kind, body, damage=0):
    checksum = zlib.crc32(kind + body) ^ damage
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", checksum)


def with_chunk(path, *chunks):
    """A PNG with further chunks after its first one, which ends at byte 33."""
    content = path.read_bytes()
    path.write_bytes(content[:33] + b"".join(chunks) + content[33:])
    return path


PNG_METADATA = {
    "checksum": chunk(b"tEXt", b"Comment\0x", damage=1),
    "profile": chunk(b"iCCP", b"x\0\0no zlib", damage=7),
    "bomb of text": chunk(b"zTXt", b"x\0\0" + zlib.compress(bytes(80 << 20))),
    "orientation": chunk(b"eXIf", b"MM\0*\0\0\0\x08\xff\xff" + b"\x01\x12" * 40),
    "no EXIF": chunk(b"eXIf", b"nothing of the kind"),
}


@pytest.mark.parametrize("case", PNG_METADATA)
def test_png_with_damaged_metadata_is_read(tmp_path, case):
    """Sound pixels would be refused."""
    path = with_chunk(
        save(tmp_path, "x.png", Image.new("RGB", (8, 8), (200, 30, 40))), PNG_METADATA[case]
    )
    assert (square(path, 8) == (200, 30, 40)).all()


def segment(kind, body):
    return struct.pack(">BBH", 0xFF, kind, len(body) + 2) + body


JPEG_METADATA = {
    "EXIF": segment(0xE1, b"Exif\0\0" + b"MM\0*\0\0\0\x08\xff\xff" + b"\x01\x12" * 40),
    "no EXIF": segment(0xE1, b"Exif\0\0nothing of the kind"),
    "several images": segment(
        0xE2, b"MPF\0MM\0*\0\0\0\x08\0\x01\xb0\x01\0\x04\0\0\0\x01\0\0\0\x02"
    ),
    "profile": segment(0xE2, b"ICC_PROFILE\0"),
    "resources": segment(0xED, b"Photoshop 3.0\x008BIM\x03\xed\0\0\0\0\0\x10ab"),
    "Adobe": segment(0xE1, b"http://ns.adobe.com/xap/1.0/\0<x:xmpmeta <<<"),
}


@pytest.mark.parametrize("case", JPEG_METADATA)
def test_jpeg_with_damaged_metadata_is_read(tmp_path, case):
    """The same for what cameras and programs write."""
    path = save(tmp_path, "x.jpg", Image.new("RGB", (8, 8), (200, 30, 40)), quality=95)
    content = path.read_bytes()
    path.write_bytes(content[:2] + JPEG_METADATA[case] + content[2:])
    assert np.abs(square(path, 8).astype(int) - (200, 30, 40)).max() < 4


@pytest.mark.parametrize("suffix", ["png", "jpg", "gif", "bmp", "tif", "webp"])
def test_damaged_pixels_are_refused_by_the_first_error(tmp_path, suffix):
    """Half an image would be taken for a whole one, or the reason be of a copy."""
    noise = np.random.default_rng(0).integers(0, 256, size=(64, 64, 3), dtype=np.uint8)
    path = save(tmp_path, f"x.{suffix}", Image.fromarray(noise))
    content = path.read_bytes()
    path.write_bytes(content[: len(content) * 2 // 3])
    with pytest.raises((OSError, SyntaxError, ValueError)) as caught:
        read_image(path, 8)
    assert "BytesIO" not in str(caught.value)
