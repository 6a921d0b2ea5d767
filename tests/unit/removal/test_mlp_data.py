"""Images as inputs of perceptrons, by hand."""

import numpy as np
import torch

from wtrak.job.io import save_arrays
from wtrak.removal.mlp_data import load_examples

CPU = torch.device("cpu")


def test_pixels_run_from_0_to_1_in_the_order_of_the_image(tmp_path):
    """Networks would see other images, unscaled pixels, or labels of the other split."""
    images = np.arange(3 * 2 * 2 * 3, dtype=np.uint8).reshape(3, 2, 2, 3)
    images[0, 0, 0] = [0, 255, 51]
    arrays = {"train_images": images, "train_labels": np.array([2, 0, 255], np.uint8)}
    arrays |= {"test_images": images[::-1], "test_labels": np.array([1, 1, 0], np.uint8)}
    save_arrays(tmp_path / "d", arrays)
    x, y = load_examples(tmp_path / "d", "train", CPU)
    assert (x.dtype, y.dtype) == (torch.float32, torch.int64)
    assert x.shape == (3, 12) and y.tolist() == [2, 0, 255]
    np.testing.assert_allclose(x[0, :5], [0, 1, 0.2, 3 / 255, 4 / 255], rtol=1e-6)
    np.testing.assert_allclose(x[1], images[1].ravel() / 255, rtol=1e-6)
    first, label = load_examples(tmp_path / "d", "test", CPU, count=1)
    np.testing.assert_allclose(first, images[2:].reshape(1, -1) / 255, rtol=1e-6)
    assert label.tolist() == [1]
