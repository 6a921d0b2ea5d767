"""Foreign inputs, and distances and leverages against brute force."""

import numpy as np
import pandas as pd
import pytest

from wtrak.geometry.ood import (
    SYNTHETIC,
    binned_medians,
    label_free_leverage,
    neighbour_distances,
    synthetic_images,
)


@pytest.fixture
def images():
    return np.random.default_rng(0).integers(0, 256, size=(5, 12, 10, 3), dtype=np.uint8)


@pytest.mark.parametrize("kind", SYNTHETIC)
def test_synthetic_images_keep_shape_and_type(images, kind):
    """The backbone would be given other shapes, or floats."""
    before = images.copy()
    made = synthetic_images(kind, images, sigma=1.5, rng=np.random.default_rng(1))
    assert made.shape == images.shape and made.dtype == np.uint8
    np.testing.assert_array_equal(images, before)
    again = synthetic_images(kind, images, sigma=1.5, rng=np.random.default_rng(1))
    np.testing.assert_array_equal(made, again)


def test_synthetic_images_are_what_they_are_called(images):
    """A set of the figure would be another one."""
    rng = np.random.default_rng(1)
    inverted = synthetic_images("inverted", images, sigma=1.0, rng=rng)
    np.testing.assert_array_equal(inverted.astype(int) + images, 255)
    blurred = synthetic_images("blurred", images, sigma=3.0, rng=rng)
    assert blurred.std() < 0.3 * images.std()
    assert blurred.mean() == pytest.approx(images.mean(), rel=0.05)
    # Blur stays within an image and a channel.
    flat = np.zeros_like(images)
    flat[2, :, :, 1] = 200
    np.testing.assert_array_equal(synthetic_images("blurred", flat, sigma=3.0, rng=rng), flat)
    noise = synthetic_images("noise", np.zeros((50, 8, 8, 1), np.uint8), sigma=1.0, rng=rng)
    counts = np.histogram(noise, bins=16, range=(0, 256))[0]
    assert np.abs(counts - 200).max() < 6 * np.sqrt(200)
    with pytest.raises(ValueError, match="blurred, inverted, noise"):
        synthetic_images("rotated", images, sigma=1.0, rng=rng)


def test_neighbour_distance_is_the_kth_smallest():
    """The axis of figure 3 would show another distance."""
    rng = np.random.default_rng(0)
    train, points = rng.standard_normal((40, 6)), rng.standard_normal((7, 6))
    distances = np.sort(np.linalg.norm(points[:, None] - train, axis=2), axis=1)
    for k in (1, 5, 40):
        np.testing.assert_allclose(neighbour_distances(train, points, k), distances[:, k - 1])
    # Of directions alone: the angle decides, and no length.
    train, points = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (train, points))
    distances = np.sort(np.linalg.norm(points[:, None] - train, axis=2), axis=1)
    found = neighbour_distances(7 * train, 3 * points, 4, unit_length=True)
    np.testing.assert_allclose(found, distances[:, 3])


def test_leverage_is_that_of_the_activations_alone():
    """The label-free column would depend on something else."""
    rng = np.random.default_rng(0)
    train, points = rng.standard_normal((40, 6)), rng.standard_normal((7, 6))
    inverse = np.linalg.inv(train.T @ train / 40 + 0.01 * np.eye(6))
    expected = np.einsum("np,pq,nq->n", points, inverse, points)
    np.testing.assert_allclose(label_free_leverage(train, points, 0.01), expected, rtol=1e-10)


def test_binned_medians_follow_the_points():
    """The trend line would not be that of the cloud."""
    x = np.arange(100.0)[::-1]
    centres, medians = binned_medians(x, 3 * x, 10)
    np.testing.assert_allclose(centres, np.arange(4.5, 100, 10))
    np.testing.assert_allclose(medians, 3 * centres)
    assert len(binned_medians(x[:3], x[:3], 10)[0]) == 3


def test_blur_goes_on_beyond_an_edge_as_the_edge_is():
    """Borders would be darkened or mirrored, and be what is strange."""
    from scipy.ndimage import gaussian_filter

    image = np.random.default_rng(2).integers(0, 256, size=(1, 9, 8, 2), dtype=np.uint8)
    made = synthetic_images("blurred", image, sigma=1.0, rng=None)
    for channel in range(2):
        wide = np.pad(image[0, :, :, channel].astype(float), 12, mode="edge")
        expected = gaussian_filter(wide, 1.0)[12:-12, 12:-12]
        assert np.abs(made[0, :, :, channel] - expected).max() <= 0.51


def test_noise_has_every_value():
    """Black or white would be missing."""
    noise = synthetic_images(
        "noise", np.zeros((20, 16, 16, 1), np.uint8), sigma=1.0, rng=np.random.default_rng(1)
    )
    assert set(noise.ravel().tolist()) == set(range(256))


def test_a_zero_activation_has_no_direction():
    """An input that no unit answers to would make every distance NaN."""
    train = np.array([[3.0, 0.0], [0.0, 2.0], [0.0, 0.0]])
    found = neighbour_distances(train, np.zeros((1, 2)), 2, unit_length=True)
    np.testing.assert_allclose(found, 1)
    np.testing.assert_allclose(neighbour_distances(train, train[:1], 3, unit_length=True), 2**0.5)


def test_bins_have_medians():
    """One far point would bend the trend line."""
    x = np.array([0.0, 1, 8, 10, 11, 90])
    centres, medians = binned_medians(x, x**2, 2)
    np.testing.assert_allclose(centres, [1, 11])
    np.testing.assert_allclose(medians, [1, 121])


def test_figure_prints_the_correlation_at_each_label():
    """Figure and table would give two numbers for one thing, without saying of which label."""
    from scipy.stats import spearmanr

    import fig3_ood

    rng = np.random.default_rng(3)
    test = pd.DataFrame(rng.random((50, 3)), columns=["distance", *fig3_ood.LABELS])
    text = fig3_ood.correlations(test, "distance")
    for column, label in fig3_ood.LABELS.items():
        assert f"ρ = {spearmanr(test['distance'], test[column]).statistic:.2f}, {label}" in text
