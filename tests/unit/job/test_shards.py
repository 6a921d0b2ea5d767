"""Passes over many rows in shards that survive a kill."""

import numpy as np
import pytest
import safetensors.numpy

from wtrak.job.io import save_arrays
from wtrak.job.shards import compute_in_shards, shard_folder

N_ROWS, SHARD_ROWS = 13, 4  # the last shard has one row
RANGES = [(0, 4), (4, 8), (8, 12), (12, 13)]


def rows_of(start, stop):
    """What the shards below hold: irrational numbers that depend on their row alone."""
    return np.sqrt(np.arange(start, stop)[:, None] + np.arange(3.0))


def in_shards(folder, *, fail_at=None, name="train"):
    """Run a pass; return its rows, or None if it was made to fail, and the ranges it computed."""
    computed, advanced = [], []

    def compute(start, stop):
        if start == fail_at:
            raise RuntimeError("killed")
        computed.append((start, stop))
        return rows_of(start, stop)

    try:
        rows = compute_in_shards(compute, N_ROWS, SHARD_ROWS, folder, name, advanced.append)
    except RuntimeError:
        return None, computed
    assert advanced == [4, 4, 4, 1]
    return rows, computed


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_shards_are_cut_at_fixed_rows_down_to_a_last_one_of_one_row(tmp_path):
    """If it failed, rows would be lost, doubled or moved at the seams."""
    rows, computed = in_shards(tmp_path)
    assert computed == RANGES
    assert rows.tobytes() == rows_of(0, N_ROWS).tobytes()
    assert len(files_of(tmp_path)) == len(RANGES)


@pytest.mark.parametrize("fail_at", [0, 8, 12])
def test_resumed_pass_gives_the_same_bytes_and_repeats_nothing(tmp_path, fail_at):
    """If it failed, a killed pass would start anew, or end with other numbers."""
    whole, resumed = tmp_path / "whole", tmp_path / "resumed"
    whole.mkdir()
    resumed.mkdir()
    rows, _ = in_shards(whole)
    failed, computed_first = in_shards(resumed, fail_at=fail_at)
    assert failed is None
    again, computed_then = in_shards(resumed)
    assert computed_first + computed_then == RANGES
    assert again.tobytes() == rows.tobytes()
    assert files_of(resumed) == files_of(whole)


def test_passes_of_other_names_do_not_share_shards(tmp_path):
    """If it failed, test images would get the activations of training images."""
    in_shards(tmp_path, name="train")
    assert in_shards(tmp_path, name="test")[1] == RANGES


def shorten(path):
    path.write_bytes(path.read_bytes()[:-1])


DAMAGE = {
    "truncated": shorten,
    "empty": lambda path: path.write_bytes(b""),
    "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "of other rows": lambda path: save_arrays(
        path, {"rows": rows_of(0, 4)}, {"start": 0, "stop": 4}
    ),
    "one row short": lambda path: save_arrays(
        path, {"rows": rows_of(4, 7)}, {"start": 4, "stop": 8}
    ),
    "of another program": lambda path: safetensors.numpy.save_file(
        {"weight": np.zeros((4, 3))}, path
    ),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_damaged_shard_is_computed_again_and_no_other(tmp_path, case):
    """If it failed, a damaged shard would end every later run, or enter the result."""
    in_shards(tmp_path)
    before = files_of(tmp_path)
    path = sorted(tmp_path.iterdir())[1]
    DAMAGE[case](path)
    rows, computed = in_shards(tmp_path)
    assert computed == [(4, 8)]
    assert rows.tobytes() == rows_of(0, N_ROWS).tobytes()
    assert files_of(tmp_path) == before


def test_same_identity_keeps_shards_and_another_drops_them(tmp_path):
    """If it failed, shards of other weights would enter the result, or none would ever be kept."""
    parent = tmp_path / "224.shards"
    identity = {"weights": "a1", "batch_size": 64, "code": ["x.py:1", "y.py:2"]}
    folder = shard_folder(parent, identity)
    in_shards(folder)
    kept = files_of(folder)
    # The same in another order of keys is the same computation.
    assert shard_folder(parent, dict(reversed(identity.items()))) == folder
    assert files_of(folder) == kept
    for change in ({"weights": "b2"}, {"batch_size": 32}, {"code": ["x.py:1", "y.py:3"]}):
        other = shard_folder(parent, identity | change)
        assert other != folder
        assert other.is_dir()
        assert list(parent.iterdir()) == [other]
    assert in_shards(shard_folder(parent, identity))[1] == RANGES
