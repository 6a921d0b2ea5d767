"""Images that show nothing or are odd are named, and ordinary ones are not."""

import numpy as np
import pandas as pd
import pytest
from PIL import Image, ImageFilter
from scipy.ndimage import gaussian_filter

from wtrak.sources.image_quality import FEWEST, FLAGS, MEASURES, flags, measure

SIDE = 96


def scene(rng):
    """A made-up photograph: a smooth background, some things with edges, and noise."""
    pixels = np.empty((SIDE, SIDE, 3))
    pixels[:] = rng.uniform(60, 190, size=3)
    pixels += gaussian_filter(rng.standard_normal((SIDE, SIDE, 3)), (12, 12, 0)) * 900
    for _ in range(rng.integers(3, 12)):
        top, left = rng.integers(0, SIDE - 20, size=2)
        height, width = rng.integers(8, 40, size=2)
        pixels[top : top + height, left : left + width] = rng.uniform(0, 255, size=3)
    pixels += rng.standard_normal(pixels.shape) * 3
    return np.clip(pixels, 0, 255).round().astype(np.uint8)


def table(squares, sizes=None):
    sizes = sizes or [(640, 480)] * len(squares)
    rows = [measure(square, *size) for square, size in zip(squares, sizes, strict=True)]
    return pd.DataFrame(rows, columns=MEASURES)


@pytest.fixture(scope="module")
def scenes():
    rng = np.random.default_rng(0)
    return [scene(rng) for _ in range(200)]


def speck(rng):
    pixels = np.full((SIDE, SIDE, 3), 250, np.uint8)
    pixels[40:44, 40:48] = 0
    return pixels


def blurred(sigma):
    def make(rng):
        return np.asarray(Image.fromarray(scene(rng)).filter(ImageFilter.GaussianBlur(sigma)))

    return make


def jpeg_grey(rng):
    return np.full((SIDE, SIDE, 3), 128, np.uint8) + rng.integers(0, 2, (SIDE, SIDE, 3), np.uint8)


# A flag, and what makes an image that has it.
SPOILT = {
    "black": ("constant", lambda rng: np.zeros((SIDE, SIDE, 3), np.uint8)),
    "white": ("constant", lambda rng: np.full((SIDE, SIDE, 3), 255, np.uint8)),
    "one colour": ("constant", lambda rng: np.full((SIDE, SIDE, 3), (9, 200, 30), np.uint8)),
    "grey of a JPEG": ("constant", jpeg_grey),
    "a page with a speck": ("blank", speck),
    "a covered lens": ("dark", lambda rng: (scene(rng) * 0.12).astype(np.uint8)),
    "half of it": ("dark", lambda rng: (scene(rng) * 0.2).astype(np.uint8)),
    "too long a time": ("bright", lambda rng: 255 - ((255 - scene(rng)) * 0.08).astype(np.uint8)),
    "out of focus": ("blurred", blurred(3)),
    "far out of focus": ("blurred", blurred(8)),
}


@pytest.mark.parametrize("case", SPOILT)
def test_spoilt_images_are_named_among_ordinary_ones(scenes, case):
    """A user would look for a wrong label where there is nothing to see."""
    flag, make = SPOILT[case]
    rng = np.random.default_rng(1)
    found = flags(table([*scenes, *(make(rng) for _ in range(5))]))
    assert all(flag in one.split(", ") for one in found[-5:]), found[-5:]


def test_ordinary_images_are_not_named(scenes):
    """A list of flags would be noise: at most one in a hundred scenes may have one."""
    found = flags(table(scenes))
    assert sum(map(bool, found)) <= 2
    assert not any("constant" in one or "blank" in one for one in found)


def test_a_weak_blur_is_not_named(scenes):
    """Pictures that are a little soft would be called blurred."""
    rng = np.random.default_rng(1)
    found = flags(table([*scenes, *(blurred(0.6)(rng) for _ in range(5))]))
    assert found[-5:] == [""] * 5


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ((640, 480), ""),
        ((480, 640), ""),
        ((300, 220), ""),
        ((64, 48), "odd size"),
        ((6400, 4800), "odd size"),
        ((1280, 120), "odd shape"),
        ((200, 1500), "odd shape"),
        ((40, 10), "odd size"),
        ((10, 1), "odd size, odd shape"),
    ],
)
def test_sizes_and_shapes(scenes, size, expected):
    """A thumbnail or a strip would pass; or an upright photograph be odd."""
    sizes = [(640 + k % 7, 480) for k in range(len(scenes))]
    found = flags(table([*scenes, scenes[0]], [*sizes, size]))
    assert found[-1] == expected


def test_a_dataset_of_many_sizes_has_no_odd_ones(scenes):
    """Half of a collection from the web would be odd."""
    rng = np.random.default_rng(0)
    sides = np.exp(rng.uniform(np.log(50), np.log(4000), size=(len(scenes), 2))).astype(int)
    assert not any("odd size" in one for one in flags(table(scenes, sides.tolist())))


def test_what_a_whole_dataset_is_like_is_no_flag(scenes):
    """All pictures of the night, or all thin drawings, would be flagged."""
    night = [(square * 0.15).astype(np.uint8) for square in scenes]
    assert not any("dark" in one for one in flags(table(night)))
    snow = [255 - ((255 - square) * 0.08).astype(np.uint8) for square in scenes]
    assert not any("bright" in one for one in flags(table(snow)))
    rng = np.random.default_rng(0)
    drawings = [speck(rng) for _ in range(60)]
    assert flags(table(drawings)) == [""] * 60


def test_few_images_are_not_compared(scenes):
    """The middle of three images would be called the usual one."""
    rng = np.random.default_rng(0)
    few = [*scenes[: FEWEST - 2], blurred(8)(rng), np.zeros((SIDE, SIDE, 3), np.uint8)]
    sizes = [(640, 480)] * (len(few) - 1) + [(10, 1)]
    assert flags(table(few, sizes)) == [""] * (len(few) - 1) + ["constant"]


def test_numbers_are_what_they_are_called():
    """A flag would be decided by another number."""
    square = np.zeros((20, 20, 3), np.uint8)
    square[:10] = (0, 200, 0)
    square[0, 0] = (255, 0, 0)
    found = dict(zip(MEASURES, measure(square, 30, 40), strict=True))
    assert (found["width"], found["height"]) == (30, 40)
    assert (found["range"], found["middle_range"]) == (255, 200)
    assert (found["darkest"], found["brightest"]) == (0, round(0.587 * 200))
    grey = np.array(square @ np.array([0.299, 0.587, 0.114]))
    inner = np.pad(grey, 1, mode="edge")
    expected = (
        inner[:-2, 1:-1] + inner[2:, 1:-1] + inner[1:-1, :-2] + inner[1:-1, 2:] - 4 * grey
    ).var()
    assert found["sharpness"] == pytest.approx(expected, rel=1e-5)
    assert set(FLAGS) >= {"constant", "blank", "dark", "bright", "blurred"}
