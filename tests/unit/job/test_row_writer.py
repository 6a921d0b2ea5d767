"""Arrays that are written in blocks are those that would have been written at once."""

import numpy as np
import pytest

from limits import within_limits
from wtrak.errors import WtrakError
from wtrak.job.io import load_arrays, load_length, load_metadata, load_rows
from wtrak.job.row_writer import rows_to_write

RNG = np.random.default_rng(0)
TRAIN, TEST = RNG.standard_normal((11, 3)).astype(np.float32), RNG.standard_normal((4, 3))


def test_blocks_of_several_arrays_may_alternate(tmp_path):
    """Rows of one array would lie in another."""
    path = tmp_path / "x"
    shapes = {"train": (11, 3), "none": (0, 3), "test": (4, 3)}
    with rows_to_write(path, shapes, {"scale": "für rms"}) as append:
        append("train", TRAIN[:4])
        append("test", TEST[:1])
        append("train", TRAIN[4:5])
        append("test", TEST[1:])
        append("train", np.asfortranarray(TRAIN[5:]))
        assert not path.exists()
    found = load_arrays(path)
    np.testing.assert_array_equal(found["train"], TRAIN)
    np.testing.assert_array_equal(found["test"], TEST.astype(np.float32))
    assert found["none"].shape == (0, 3) and found["train"].dtype == np.float32
    assert load_metadata(path) == {"scale": "für rms"}
    assert load_length(path, "train") == 11
    np.testing.assert_array_equal(load_rows(path, "test", slice(1, 3)), found["test"][1:3])


@pytest.mark.parametrize(("count", "message"), [(3, "got 3 of its 4"), (5, "more than its 4 rows")])
def test_another_number_of_rows_leaves_no_file(tmp_path, count, message):
    """A file with rows of zeros would pass for finished."""
    with (
        pytest.raises(WtrakError, match=message),
        rows_to_write(tmp_path / "x", {"a": (4, 2)}) as append,
    ):
        append("a", np.ones((count, 2)))
    assert list(tmp_path.iterdir()) == []


def write_many(path):
    block = np.ones((1000, 256), np.float32)
    with rows_to_write(path, {"a": (100_000, 256)}) as append:
        for _ in range(100):
            append("a", block)
    return True


def test_memory_is_that_of_a_block(tmp_path):
    """All features would have to fit into memory twice."""
    assert within_limits(write_many, tmp_path / "x", memory=16 * 1024**2, seconds=60)
    assert load_length(tmp_path / "x", "a") == 100_000
