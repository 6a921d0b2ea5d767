"""The training subset of an experiment."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wtrak.errors import WtrakError
from wtrak.job.experiment import training_subset


@settings(deadline=None)
@given(n=st.integers(1, 300), share=st.floats(0, 1), seed=st.integers(0, 2**32 - 1))
def test_training_subset_is_sorted_unique_and_seeded(n, share, seed):
    """If it failed, examples would be counted twice or a rerun would use others."""
    size = round(share * n)
    rows = training_subset(n, size, seed)
    assert len(rows) == size
    assert np.all(np.diff(rows) > 0)
    assert size == 0 or (rows[0] >= 0 and rows[-1] < n)
    np.testing.assert_array_equal(rows, training_subset(n, size, seed))


def test_training_subset_is_uniform_and_changes_with_the_seed():
    """If it failed, some examples would be favoured, for instance the first of the file."""
    counts = np.zeros(6)
    for seed in range(600):
        counts[training_subset(6, 3, seed)] += 1
    # Each row is in half of the subsets; the standard deviation of a count is 12.2.
    assert np.abs(counts - 300).max() < 5 * np.sqrt(600 / 4)


def test_training_subset_of_all_is_every_row():
    """If it failed, the full training set would be shuffled or lack examples."""
    for seed in (0, 1):
        for n_train in (7, "all"):
            np.testing.assert_array_equal(training_subset(7, n_train, seed), np.arange(7))


def test_training_subset_is_drawn_from_what_is_kept():
    """An example that a person removed would be trained on."""
    kept = np.array([True, False, True, True, False])
    np.testing.assert_array_equal(training_subset(5, "all", 0, kept), [0, 2, 3])
    assert set(training_subset(5, 2, 0, kept)) < {0, 2, 3}
    np.testing.assert_array_equal(training_subset(5, "all", 0, np.ones(5, bool)), np.arange(5))


def test_training_subset_larger_than_the_data_is_refused():
    """If it failed, the user would get a numpy error, or fewer examples than asked for."""
    with pytest.raises(WtrakError, match="n_train is 8, but the dataset has 7"):
        training_subset(7, 8, 0)
