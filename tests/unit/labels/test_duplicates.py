"""Copies are found whatever their scale, and nothing else is."""

import numpy as np
import pytest
import torch

from wtrak.labels.duplicates import exact_copies, find_copies, same_content

CPU = torch.device("cpu")


def copies_of(features, cosine=0.99, block_size=7):
    return find_copies(features, cosine, block_size=block_size, device=CPU)


@pytest.fixture
def features():
    """20 points far from the origin: without their mean removed, all would look alike."""
    points = np.random.default_rng(0).standard_normal((20, 12))
    return (100 * np.arange(12) + points).astype(np.float32)


def test_points_that_differ_are_alone(features):
    """Examples that only share their mean would be held out together."""
    found = copies_of(features)
    np.testing.assert_array_equal(found.sizes, 1)
    assert sorted(found.groups) == list(range(20))


@pytest.mark.parametrize("block_size", [3, 7, 100])
@pytest.mark.parametrize("cosine", [0.99, 1.0])
def test_exact_copies_are_one_group(features, cosine, block_size):
    """A copy in another fold would tell the head the label."""
    rows = np.array([*range(20), 3, 3, 17, 0])
    found = copies_of(features[rows], cosine, block_size)
    for a, b in [(3, 20), (3, 21), (17, 22), (0, 23)]:
        assert found.groups[a] == found.groups[b]
    assert set(found.groups) == set(range(20))
    assert list(found.sizes[[3, 20, 21, 17, 22, 0, 1]]) == [3, 3, 3, 2, 2, 2, 1]


def test_near_copies_are_found_up_to_the_angle(features):
    """Another threshold, or none, would decide."""
    centred = features - features.mean(axis=0)
    other = np.roll(centred[5], 1)
    other -= other @ centred[5] / (centred[5] @ centred[5]) * centred[5]
    other *= np.linalg.norm(centred[5]) / np.linalg.norm(other)
    for cosine, copied in [(0.995, True), (0.98, False)]:
        turned = cosine * centred[5] + np.sqrt(1 - cosine**2) * other
        many = np.concatenate([np.repeat(features, 50, axis=0), [features.mean(axis=0) + turned]])
        found = copies_of(many.astype(np.float32))
        assert (found.groups[-1] == found.groups[5 * 50]) == copied


def test_chains_are_one_group(features):
    """Two ends of a chain would fall into different folds, with a copy of both in each."""
    centre = features.mean(axis=0)
    direction, away = features[0] - centre, features[1] - centre
    chain = np.stack([centre + direction + step * away for step in np.linspace(0, 0.3, 8)])
    found = copies_of(np.concatenate([np.repeat(features, 20, axis=0), chain]).astype(np.float32))
    assert len(set(found.groups[-8:])) == 1


def test_copies_under_two_labels_are_told(features):
    """The surest label errors would not be shown."""
    rows = np.array([*range(20), 3, 3, 17])
    labels = np.arange(23) % 4
    labels[[3, 20, 21]], labels[[17, 22]] = [1, 1, 2], [0, 0]
    told = copies_of(features[rows]).conflicts(labels)
    assert set(np.flatnonzero(told)) == {3, 20, 21}


def test_points_at_the_mean_are_copies_of_one_another():
    """0/0 would make them copies of nothing, or of everything."""
    features = np.array([[0.0, 0], [1, 0], [-1, 0], [0, 1], [0, -1], [0, 0]], np.float32)
    found = copies_of(features)
    assert found.groups[0] == found.groups[5]
    assert list(found.sizes) == [2, 1, 1, 1, 1, 2]
    # All rows are their mean.
    assert list(copies_of(features[[0, 0, 0]] + 5).sizes) == [3, 3, 3]


@pytest.mark.parametrize("scale", [1.0, 2.0**-8, 2.0**8])
@pytest.mark.parametrize(("power", "at_the_mean"), [(-20, True), (-19, False)])
def test_a_millionth_of_the_largest_norm_counts_as_the_mean(scale, power, at_the_mean):
    """Rounding would give a direction to what has none, or small norms would lose theirs."""
    rows = np.array([[1.0, 0], [-1, 0], [0, 2.0**power], [0, -(2.0**power)]])
    found = copies_of((scale * rows).astype(np.float32))
    assert list(found.sizes) == ([1, 1, 2, 2] if at_the_mean else [1, 1, 1, 1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_copies_are_rows_that_are_equal(dtype):
    """Copies would be held apart, or different rows held together."""
    rows = [[1, 2], [0, 0], [1, 2], [2, 1], [-0.0, 0], [1, 2 + 1e-6], [1e-30, 0], [2e-30, 0]]
    rows = np.array(rows, dtype)
    groups = exact_copies(rows)
    equal = (rows[:, None] == rows[None]).all(axis=2)
    np.testing.assert_array_equal(groups[:, None] == groups[None], equal)
    assert sorted(set(groups)) == list(range(groups.max() + 1))
    # The same of a view that is not contiguous.
    wide = np.column_stack([rows, np.arange(8, dtype=dtype)])
    np.testing.assert_array_equal(exact_copies(wide[:, :2]), groups)


def test_same_content_is_looked_up_for_copies_only():
    """Near copies would pass as exact ones, or every image be read again."""
    index, groups = np.array([3, 5, 7, 9, 11]), np.array([0, 1, 0, 1, 2])
    asked = []

    def contents(rows):
        asked.extend(rows.tolist())
        return [np.array([row in (3, 7, 9, 11)]) for row in rows]

    found = same_content(index, groups, contents)
    assert found.tolist() == [True, False, True, False, False]
    assert sorted(asked) == [3, 5, 7, 9]
