"""Data of convex models, by hand."""

import numpy as np
import pytest

import convex_task as convex_task_script
from chain import call
from wtrak.convex.data import sample, standardised, two_classes
from wtrak.errors import WtrakError
from wtrak.job.io import load_arrays, save_arrays


def test_constant_features_are_left_out():
    """Digits have pixels that are always black: a division by zero."""
    x = np.column_stack([np.arange(5.0), np.full(5, 3.0)])
    scaled, y = standardised(x, np.arange(5.0), "ridge")
    assert scaled.shape == (5, 2)
    assert y.mean() == pytest.approx(0) and y.std() == pytest.approx(1)


def test_two_classes_of_images_become_averages(tmp_path):
    """Pixels of other images, or labels the other way round."""
    images = np.arange(5 * 4 * 4, dtype=np.uint8).reshape(5, 4, 4, 1)
    labels = np.array([1, 7, 3, 7, 1], np.uint8)
    x, y = two_classes(images, labels, (1, 7), 2)
    assert x.shape == (4, 4)
    np.testing.assert_array_equal(y, [0, 1, 1, 0])
    assert x[1, 3] == images[1, 2:, 2:].mean()
    with pytest.raises(WtrakError, match="does not divide"):
        two_classes(images, labels, (1, 7), 3)
    halves = {"train": slice(0, 3), "test": slice(3, 5)}
    arrays = {f"{split}_images": images[rows] for split, rows in halves.items()}
    arrays |= {f"{split}_labels": labels[rows] for split, rows in halves.items()}
    save_arrays(tmp_path / "d", arrays)
    task = {"data": "mine", "classes": [1, 7], "pool": 2, "model": "logistic"}
    call(convex_task_script, tmp_path, {"data": "o"}, inputs={"dataset": ["d"]}, task=task)
    np.testing.assert_array_equal(load_arrays(tmp_path / "o")["y"], y)


def test_samples_do_not_overlap_and_need_enough_examples():
    """A test point would be its own training point."""
    x = np.zeros((10, 2))
    train, test = sample(x, x, 6, 4, np.random.default_rng(0))
    assert sorted([*train, *test]) == list(range(10))
    with pytest.raises(WtrakError, match="6 \\+ 5 examples are asked for, and there are 10"):
        sample(x, x, 6, 5, np.random.default_rng(0))
