"""Black and white of images whose values are not bytes: grey and colour of 16 bits, and floats.

Such a file does not say which value is white: 12 bits are often stored in 16. One image cannot tell
either, because it may be dark. So all images of a folder decide together.
"""

from dataclasses import dataclass

import numpy as np
from PIL import Image

# Number of values that are looked at or scaled at a time.
_BAND_PIXELS = 2**20
# Pillow decodes the upper eight of 16 bits for each colour.
COLOUR = "colour of 16 bits"
_BITS = {"whole numbers": (8, 10, 12, 14, 16, 24, 32), COLOUR: (2, 4, 6, 8)}
_FLOAT_WHITES = (1, 255, 65535)


@dataclass(frozen=True)
class Levels:
    """The smallest and the largest value of one or more images of a kind.

    Attributes
    ----------
    kind : str
        "whole numbers" or "floats" of grey images, or `COLOUR`.
    low, high : float
    """

    kind: str
    low: float
    high: float

    def __or__(self, other):
        """Levels of both together."""
        return Levels(self.kind, min(self.low, other.low), max(self.high, other.high))

    @property
    def black(self):
        """Value that becomes 0: that of 0, or of the smallest value if it is below."""
        return min(self.low, 0)

    @property
    def white(self):
        """Value that becomes 255.

        For whole numbers it is the largest value of 8, 10, 12, 14, 16, 24 or 32 bits, for floats 1,
        255 or 65535: the smallest of these that is not below `high`.
        """
        whites = _FLOAT_WHITES
        if self.kind != "floats":
            whites = [2**bits - 1 for bits in _BITS[self.kind]]
        return next((white for white in whites if white >= self.high), self.high)

    def check(self, other):
        """Raise an error if another image has values outside of black and white.

        Raises
        ------
        ValueError
        """
        if other.low < self.black or other.high > self.white:
            raise ValueError(
                f"values from {other.low:g} to {other.high:g}, but those of the training images go "
                f"from {self.black:g} to {self.white:g}"
            )


def has_16_bits(image):
    """Whether an opened image has 16 bits for each colour. Once it is decoded it has eight."""
    arguments = [tile[3] for tile in getattr(image, "tile", ())]
    return any(";16" in str(one[0] if isinstance(one, tuple) else one) for one in arguments)


def levels_of(image, wide):
    """`Levels` of a decoded image; None if its values are bytes.

    Parameters
    ----------
    image : PIL.Image.Image
    wide : bool
        Output of `has_16_bits`, before it was decoded.

    Raises
    ------
    ValueError
        If a value is not finite.
    """
    if image.mode.startswith("I"):
        kind = "whole numbers"
    elif image.mode == "F":
        kind = "floats"
    elif wide and image.mode in ("RGB", "RGBA", "LA"):
        kind = COLOUR
    else:
        return None
    low, high = np.inf, -np.inf
    for box in _bands(image):
        values = _values(image, box, kind)
        if not np.isfinite(values).all():
            raise ValueError("a grey value is not finite")
        low, high = min(low, values.min()), max(high, values.max())
    return Levels(kind, float(low), float(high))


def scaled_to_bytes(image, levels):
    """A decoded image with black at 0 and white at 255, in the mode L, RGB or RGBA."""
    scaled = Image.new("RGB" if levels.kind == COLOUR else "L", image.size)
    factor = 255 / (levels.white - levels.black)
    for box in _bands(image):
        values = (_values(image, box, levels.kind).astype(np.float64) - levels.black) * factor
        scaled.paste(Image.fromarray(np.clip(values, 0, 255).round().astype(np.uint8)), box)
    if "A" in image.mode:
        scaled.putalpha(image.getchannel("A"))
    return scaled


def _values(image, box, kind):
    """Values of a part of an image, without its transparency."""
    part = image.crop(box)
    return np.asarray(part.convert("RGB") if kind == COLOUR else part)


def _bands(image):
    """Boxes of some rows each that make up an image."""
    width, height = image.size
    rows = max(1, _BAND_PIXELS // max(width, 1))
    return [(0, top, width, min(top + rows, height)) for top in range(0, height, rows)]
