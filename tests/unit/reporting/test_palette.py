"""Colours stay apart for everyone: in common colour blindness, and in print without colours."""

import itertools

import numpy as np
import pytest
from matplotlib import colors

from wtrak.reporting import palette

# Simulations of Machado, Oliveira and Fernandes (2009) at severity 1, on linear RGB.
SEEN = {
    "as they are": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def lab(color, seen):
    """CIELAB coordinates of a colour as someone sees it."""
    rgb = np.array(colors.to_rgb(color))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = TO_XYZ @ np.clip(np.asarray(seen) @ linear, 0, 1) / TO_XYZ.sum(axis=1)
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz * (29 / 6) ** 2 / 3 + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("kind", SEEN)
def test_experiments_are_told_apart(kind):
    """Two curves would be one to a reader in twelve."""
    for first, second in itertools.combinations(palette.EXPERIMENTS, 2):
        apart = np.linalg.norm(lab(first, SEEN[kind]) - lab(second, SEEN[kind]))
        assert apart > 10, (kind, first, second, apart)


def test_the_two_metrics_are_told_apart_by_everyone():
    """The paper's comparison, Euclidean against natural, is in nearly every figure."""
    for seen in SEEN.values():
        assert np.linalg.norm(lab(palette.EUCLIDEAN, seen) - lab(palette.NATURAL, seen)) > 40
