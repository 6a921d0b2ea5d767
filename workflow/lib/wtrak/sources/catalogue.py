"""Formats of datasets of images: how many images there are, how large, and of which classes.

A format is added here and decoded in `datasets.DECODERS`.
"""

from dataclasses import dataclass

_CIFAR10 = "airplane automobile bird cat deer dog frog horse ship truck"
_DIGITS = "0 1 2 3 4 5 6 7 8 9"


@dataclass(frozen=True)
class Format:
    """What a format holds.

    Attributes
    ----------
    classes : tuple of str
    train, test : int
        Number of images.
    height, width : int
        In pixels.
    """

    classes: tuple
    train: int
    test: int
    height: int
    width: int


FORMATS = {
    "cifar10-binary": Format(tuple(_CIFAR10.split()), 50_000, 10_000, 32, 32),
    "cifar10-png-sheets": Format(tuple(_CIFAR10.split()), 50_000, 10_000, 32, 32),
    "mnist-idx": Format(tuple(_DIGITS.split()), 60_000, 10_000, 28, 28),
    "sklearn-digits": Format(tuple(_DIGITS.split()), 1_437, 360, 8, 8),
    "sklearn-breast-cancer": Format(("malignant", "benign"), 400, 169, 5, 6),
}
# Of labels that people gave to the images of another dataset.
HUMAN_LABELS = "cifar10n"
# Datasets that scikit-learn ships, by the format that they are read in.
EMBEDDED = {"sklearn-digits": "digits", "sklearn-breast-cancer": "breast_cancer"}
