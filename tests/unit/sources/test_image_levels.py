"""Black and white of values that are not bytes are those of all images together."""

import numpy as np
import pytest
from PIL import Image

from wtrak.sources import image_levels
from wtrak.sources.image_levels import COLOUR, Levels, has_16_bits, levels_of, scaled_to_bytes
from wtrak.sources.image_pixels import read_image


@pytest.mark.parametrize(
    ("kind", "low", "high", "black", "white"),
    [
        ("whole numbers", 0, 255, 0, 255),
        ("whole numbers", 9, 256, 0, 1023),
        ("whole numbers", 0, 4095, 0, 4095),
        ("whole numbers", 0, 4096, 0, 16383),
        ("whole numbers", 0, 65535, 0, 65535),
        ("whole numbers", -1024, 3071, -1024, 4095),
        ("whole numbers", 0, 70_000, 0, 2**24 - 1),
        ("floats", 0, 1, 0, 1),
        ("floats", 0.1, 1.5, 0, 255),
        ("floats", -1, 0.5, -1, 1),
        ("floats", 0, 300, 0, 65535),
        ("floats", 0, 1e6, 0, 1e6),
        (COLOUR, 0, 15, 0, 15),
        (COLOUR, 0, 16, 0, 63),
        (COLOUR, 0, 200, 0, 255),
    ],
)
def test_white_is_the_largest_value_of_the_smallest_range(kind, low, high, black, white):
    """Images would come out black, or their bright parts be cut off."""
    levels = Levels(kind, low, high)
    assert (levels.black, levels.white) == (black, white)


def test_together_they_span_all():
    """The last image would decide for all."""
    both = Levels("floats", 0, 0.3) | Levels("floats", -2, 0.1)
    assert both == Levels("floats", -2, 0.3)
    both.check(Levels("floats", -1, 1))
    for low, high in ((-3, 0), (0, 2)):
        with pytest.raises(ValueError, match="those of the training images go from -2 to 1"):
            both.check(Levels("floats", low, high))


def test_bands_give_what_the_whole_image_does(monkeypatch):
    """The scale of a large image would be that of its first rows."""
    values = np.arange(35 * 7, dtype=np.int32).reshape(35, 7) * 17
    image = Image.fromarray(values)
    levels = levels_of(image, False)
    assert levels == Levels("whole numbers", 0, 244 * 17)
    whole = np.asarray(scaled_to_bytes(image, levels))
    np.testing.assert_array_equal(whole, np.round(values * (255 / 16383)))
    monkeypatch.setattr(image_levels, "_BAND_PIXELS", 20)
    assert levels_of(image, False) == levels
    np.testing.assert_array_equal(np.asarray(scaled_to_bytes(image, levels)), whole)


def test_bytes_have_no_levels():
    """Dark photographs would be brightened."""
    for mode in ("1", "L", "P", "LA", "RGB", "RGBA", "CMYK"):
        assert levels_of(Image.new(mode, (4, 4), 1), False) is None


def png_of_16_bits(path, colours, alpha):
    """A PNG with 16 bits for each colour, which Pillow cannot write."""
    from unit.sources.test_image_memory import png

    rows = b"".join(
        b"\0" + np.concatenate([colours, alpha], axis=2)[y].astype(">u2").tobytes()
        for y in range(len(colours))
    )
    path.write_bytes(png(colours.shape[1], len(colours), 16, 6 if alpha.shape[2] else 2, rows=rows))
    return path


@pytest.mark.parametrize("transparent", [False, True])
def test_colour_of_12_bits_in_16_is_not_black(tmp_path, transparent):
    """Pillow keeps the upper eight bits, of which only four are used."""
    colours = np.zeros((8, 8, 3), np.uint16)
    colours[:, :4], colours[:, 4:] = (4095, 2048, 0), (0, 1024, 3840)
    alpha = np.full((8, 8, int(transparent)), 65535)
    path = png_of_16_bits(tmp_path / "x.png", colours, alpha)
    with Image.open(path) as image:
        assert has_16_bits(image)
    picture = read_image(path, 8)
    assert picture.levels == Levels(COLOUR, 0, 15)
    assert np.abs(picture.square.astype(int) - colours * 255.0 / 4095).max() < 17
    full = read_image(path, 8, {COLOUR: Levels(COLOUR, 0, 200)})
    assert full.square.max() == 15


def test_eight_bits_of_colour_are_left_alone(tmp_path):
    """A dark photograph would be brightened."""
    dark = Image.new("RGB", (8, 8), (9, 3, 1))
    for name in ("x.png", "x.tif", "x.ppm", "x.bmp"):
        dark.save(tmp_path / name)
        picture = read_image(tmp_path / name, 8)
        assert picture.levels is None and (picture.square == (9, 3, 1)).all()
