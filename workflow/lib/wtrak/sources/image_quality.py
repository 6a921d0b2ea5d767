"""Images that show nothing, or are odd among those of their dataset.

Each image is measured when it is decoded. What is odd is decided when all are measured.
"""

import numpy as np
import pandas as pd
from scipy.ndimage import laplace

# A channel with a smaller range of values is of one colour; rounding and JPEG take that much.
CONSTANT_RANGE = 3
# The same without the most extreme two per cent of the pixels: a blank page with a speck on it.
BLANK_RANGE = 8
# Grey values below which 99 % of a dark image lie, and above which 99 % of a bright one.
DARK_BELOW, BRIGHT_ABOVE = 64, 230
# A dark image is also less than half as bright as the median one; a bright one in the same way.
FROM_MEDIAN = 0.5
# The variance of the Laplacian of a blurred image is less than this share of the median.
BLURRED_SHARE = 0.1
# Sides or ratios of sides of an odd image are this many times the median, or a part of it.
ODD_FACTOR = 3
# What is compared with the median is also this many robust standard deviations from it.
DEVIATIONS = 3
# With fewer images nothing is compared with the median.
FEWEST = 20

MEASURES = ["width", "height", "range", "middle_range", "darkest", "brightest", "sharpness"]
FLAGS = ("constant", "blank", "dark", "bright", "blurred", "odd size", "odd shape")


def measure(square, width, height):
    """Numbers of one image that `flags` compares.

    Parameters
    ----------
    square : numpy.ndarray, shape (side, side, 3), uint8
        The image as the network sees it.
    width, height : int
        Size of the image in its file, in pixels.

    Returns
    -------
    tuple of float
        In the order of `MEASURES`: width and height; the largest range of values of a channel, and
        the same from the first to the 99th percentile; the first and the 99th percentile of the
        grey values; and the variance of the Laplacian of the grey values.
    """
    smallest, low, high, largest = _order_statistics(square)
    grey = square @ np.array([0.299, 0.587, 0.114], dtype=np.float32)
    _, (dark,), (bright,), _ = _order_statistics(grey.round().astype(np.uint8)[..., None])
    return (
        width,
        height,
        int((largest - smallest).max()),
        int((high - low).max()),
        int(dark),
        int(bright),
        float(laplace(grey, mode="nearest").var()),
    )


def _order_statistics(pixels):
    """Smallest value, first and 99th percentile and largest value of each channel of bytes."""
    # By counts of the 256 values, which is ten times as fast as sorting.
    counts = [np.bincount(values.ravel(), minlength=256) for values in np.moveaxis(pixels, -1, 0)]
    shares = np.cumsum(counts, axis=1) / pixels[..., 0].size
    places = (np.nextafter(0, 1), 0.01, 0.99, 1)
    return np.array([[np.searchsorted(share, place) for share in shares] for place in places])


def flags(measures):
    """What is odd about each image of a dataset.

    - constant: all pixels have one colour.
    - blank: nearly all pixels have nearly one colour, unless half of the dataset is so.
    - dark, bright: nearly all pixels are, and it is unusual in this dataset.
    - blurred: the variance of the Laplacian is unusually small in this dataset.
    - odd size: the side of a square of the same area is a third of the median or three times it.
    - odd shape: the same for the width divided by the height.

    An image that is constant or blank is neither dark, bright nor blurred. Of fewer than `FEWEST`
    images only those are flagged that are constant or blank.

    Parameters
    ----------
    measures : pandas.DataFrame, n rows
        Columns `MEASURES`.

    Returns
    -------
    list of str
        For each image the names that apply, separated by commas; mostly empty.
    """
    constant = (measures["range"] < CONSTANT_RANGE).to_numpy()
    blank = (measures["middle_range"] < BLANK_RANGE).to_numpy() & ~constant
    # Thin drawings and stars in the night: such a dataset is not blank.
    blank &= 2 * blank.sum() < len(blank)
    seen = ~(constant | blank)
    found = dict.fromkeys(FLAGS, np.zeros(len(measures), bool))
    found |= {"constant": constant, "blank": blank}
    if seen.sum() >= FEWEST:
        light, shade = measures["brightest"], 255 - measures["darkest"]
        dark = (light < DARK_BELOW) & (light < FROM_MEDIAN * light[seen].median())
        bright = (shade < 255 - BRIGHT_ABOVE) & (shade < FROM_MEDIAN * shade[seen].median())
        sharpness = np.log(measures["sharpness"].clip(lower=1e-6))
        blurred = _deviation(sharpness, seen) < np.log(BLURRED_SHARE)
        found |= {"dark": dark & seen, "bright": bright & seen, "blurred": blurred & seen}
        width, height = measures["width"], measures["height"]
        for name, value in {"odd size": width * height, "odd shape": width / height}.items():
            # The side of a square is the root of its area.
            value = np.log(value) / (2 if name == "odd size" else 1)
            every = np.ones(len(measures), bool)
            found[name] = _deviation(value, every).abs() > np.log(ODD_FACTOR)
    table = pd.DataFrame({name: np.asarray(found[name]) for name in FLAGS})
    return [", ".join(table.columns[row]) for row in table.to_numpy()]


def _deviation(values, among):
    """Differences from the median of some values; 0 for those within `DEVIATIONS` of the spread.

    The robust standard deviation is 1.4826 times the median absolute difference.
    """
    difference = values - values[among].median()
    spread = 1.4826 * difference[among].abs().median()
    return difference.where(difference.abs() > DEVIATIONS * spread, 0)
