"""Arrays of numpy's files are read in blocks, whole or refused, and never unpickled."""

import pickle
import zipfile

import numpy as np
import pytest

from wtrak.errors import WtrakError
from wtrak.sources.arrays import stored_arrays

RNG = np.random.default_rng(0)
VALUES = {
    "float16": RNG.standard_normal((23, 3)).astype(np.float16),
    "big-endian": RNG.standard_normal((23, 3)).astype(">f4"),
    "columns first": np.asfortranarray(RNG.standard_normal((23, 3))),
    "text": np.array([f"für {k}" for k in range(23)]),
    "bytes": np.array([f"{k}".encode() for k in range(23)]),
    "no columns": np.zeros((23, 0)),
    "no rows": np.zeros((0, 4)),
}


def saved(folder, form, values):
    path = folder / f"x.{form.split()[0]}"
    if form == "npy":
        np.save(path, values)
    else:
        save = np.savez_compressed if "compressed" in form else np.savez
        save(path, other=np.arange(5), values=values)
    return path


@pytest.mark.parametrize("rows", [1, 7, 23, 100])
@pytest.mark.parametrize("form", ["npy", "npz", "npz compressed"])
@pytest.mark.parametrize("name", VALUES)
def test_blocks_are_the_array(tmp_path, name, form, rows):
    """Rows would be lost, or belong to other labels."""
    values = VALUES[name]
    if (form, name) == ("npz compressed", "columns first"):
        pytest.skip("refused, see below")
    found = stored_arrays(saved(tmp_path, form, values))
    array = found["" if form == "npy" else "values"]
    assert array.shape == values.shape and array.dtype == values.dtype
    blocks = list(array.blocks(rows))
    assert all(len(block) == rows for block in blocks[:-1])
    joined = np.concatenate(blocks) if blocks else values[:0]
    np.testing.assert_array_equal(joined, values)


def test_stored_arrays_are_mapped_and_not_read(tmp_path):
    """Features that fill a disk would have to fit into memory."""
    for form in ("npy", "npz"):
        array = stored_arrays(saved(tmp_path, form, VALUES["float16"]))
        for block in array["" if form == "npy" else "values"].blocks(5):
            assert isinstance(block, np.memmap)


class Bomb:
    """Touches a file when it is unpickled."""

    def __reduce__(self):
        return open, ("touched", "w")


@pytest.mark.parametrize("form", ["npy", "npz", "npz compressed"])
def test_objects_are_refused_and_not_unpickled(tmp_path, monkeypatch, form):
    """A file from elsewhere would run its own program."""
    monkeypatch.chdir(tmp_path)
    path = saved(tmp_path, form, np.array([Bomb(), None], dtype=object))
    with pytest.raises(WtrakError, match=r"holds Python objects.* save numbers as float32"):
        stored_arrays(path)
    assert not (tmp_path / "touched").exists()


def test_a_compressed_array_of_columns_is_refused_with_what_to_do(tmp_path):
    """It would be unpacked as a whole."""
    path = saved(tmp_path, "npz compressed", VALUES["columns first"])
    with pytest.raises(WtrakError, match=r"values is compressed and .* numpy.savez"):
        list(stored_arrays(path)["values"].blocks(5))


@pytest.mark.parametrize("form", ["npy", "npz", "npz compressed"])
@pytest.mark.parametrize("kept", [0, 4, 60, 0.5, -1])
def test_cut_files_are_refused(tmp_path, form, kept):
    """Zeros would stand for the rows that are missing."""
    path = saved(tmp_path, form, VALUES["float16"])
    raw = path.read_bytes()
    path.write_bytes(raw[: int(kept * len(raw)) if isinstance(kept, float) else kept])
    with pytest.raises(WtrakError, match=f"{path.name}"):
        for array in stored_arrays(path).values():
            list(array.blocks(5))


def test_damaged_entries_are_noticed(tmp_path):
    """Wrong numbers would be read from a compressed array."""
    path = saved(tmp_path, "npz compressed", RNG.standard_normal((500, 3)))
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 255
    path.write_bytes(raw)
    with pytest.raises(WtrakError, match="damaged or cut"):
        list(stored_arrays(path)["values"].blocks(50))


def test_other_files_are_refused(tmp_path):
    """A user would read a traceback."""
    path = tmp_path / "x.npy"
    path.write_bytes(pickle.dumps([1, 2]))
    with pytest.raises(WtrakError, match=r"no readable .npy file"):
        stored_arrays(path)
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("a.npy", b"x" * 1000)
    with pytest.raises(WtrakError, match="other than deflate"):
        stored_arrays(path)
    with pytest.raises(WtrakError, match=r"missing.npy"):
        stored_arrays(tmp_path / "missing.npy")
