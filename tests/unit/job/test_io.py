"""Files between rules: whole or not there, bit for bit, and named where they are damaged."""

import csv
import io
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from conftest import REPOSITORY
from wtrak.errors import WtrakError
from wtrak.job.io import (
    atomic_path,
    each_row,
    load_arrays,
    load_length,
    load_metadata,
    load_names,
    load_rows,
    read_csv,
    read_json,
    save_arrays,
    scratch_beside,
    write_csv,
    write_json,
    write_text,
)

LIBRARY = REPOSITORY / "workflow" / "lib"


def names(folder):
    """Names of everything below a folder, hidden files included."""
    return sorted(path.relative_to(folder).as_posix() for path in Path(folder).rglob("*"))


# --- atomic writes ---


def test_new_content_replaces_the_old_and_folders_are_made(tmp_path):
    """If it failed, results would not arrive under their name."""
    path = tmp_path / "deep" / "er" / "result.txt"
    for text in ("old", "new"):
        with atomic_path(path) as temporary:
            assert temporary.parent == path.parent
            temporary.write_text(text, encoding="utf-8")
        assert path.read_text("utf-8") == text
    assert names(path.parent) == ["result.txt"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_interrupted_write_leaves_the_old_file_and_nothing_else(tmp_path, error):
    """If it failed, a killed job would leave half a result or temporary files."""
    path = tmp_path / "result.txt"
    path.write_text("old", encoding="utf-8")

    def interrupted():
        with atomic_path(path) as temporary:
            temporary.write_text("half of the n", encoding="utf-8")
            raise error

    with pytest.raises(error):
        interrupted()
    assert path.read_text("utf-8") == "old"
    assert names(tmp_path) == ["result.txt"]


def unserialisable(path):
    write_json(path, {"fine": 1, "wrong": object()})


def not_arrays(path):
    save_arrays(path, {"names": np.array(["a", "b"])})


class Broken:
    """A cell that has no text."""

    def __str__(self):
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    "write",
    [
        pytest.param(unserialisable, id="json"),
        pytest.param(not_arrays, id="arrays"),
        pytest.param(lambda path: write_csv(path, pd.DataFrame({"a": ["x", Broken()]})), id="csv"),
        pytest.param(lambda path: write_text(path, "\ud800"), id="text"),
    ],
)
def test_failed_writers_leave_the_old_file_and_nothing_else(tmp_path, write):
    """If it failed, one of the writers would go around the atomic write."""
    path = tmp_path / "result"
    path.write_text("old", encoding="utf-8")
    with pytest.raises((TypeError, KeyError, ValueError, OSError, safetensors.SafetensorError)):
        write(path)
    assert path.read_text("utf-8") == "old"
    assert names(tmp_path) == ["result"]


KILLED = """
import sys, time
from wtrak.job.io import atomic_path, scratch
with atomic_path(sys.argv[1]) as temporary, scratch(temporary) as folder:
    temporary.write_text("half")
    (folder / "part").touch()
    print("there", flush=True)
    time.sleep(600)
"""


def test_leftovers_of_killed_writers_go_and_those_of_living_ones_stay(tmp_path):
    """If it failed, every kill would cost the disk a result, or one writer another's."""
    path = tmp_path / "x[1].json"
    other = tmp_path / ".x1.json.abc.part"
    other.write_text("of another result", encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path)],
        env=os.environ | {"PYTHONPATH": str(LIBRARY)},
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    try:
        process.stdout.readline()
        before = names(tmp_path)
        write_json(path, 1)
        assert names(tmp_path) == sorted([*before, path.name])
    finally:
        process.kill()
        process.communicate()
    write_json(path, 2)
    assert names(tmp_path) == sorted([path.name, other.name])
    assert read_json(path) == 2


def test_writer_killed_at_any_moment_leaves_what_the_next_one_removes(tmp_path):
    """If it failed, files under names of the library's own would stay for ever."""
    script = (
        "import sys\nimport numpy as np\nfrom wtrak.job.io import save_arrays\n"
        "print('there', flush=True)\n"
        "while True:\n    save_arrays(sys.argv[1], {'x': np.ones(1 << 22)})\n"
    )
    path = tmp_path / "x.safetensors"
    for k in range(8):
        process = subprocess.Popen(
            [sys.executable, "-c", script, str(path)],
            env=os.environ | {"PYTHONPATH": str(LIBRARY)},
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        process.stdout.readline()
        time.sleep(0.05 + 0.013 * k)
        process.kill()
        process.communicate()
    save_arrays(path, {"x": np.ones(3)})
    assert names(tmp_path) == [path.name]


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o027, 0o640)])
def test_results_have_the_permissions_that_the_umask_gives(tmp_path, umask, mode):
    """If it failed, results would be private to their author, or open against the umask."""
    before = os.umask(umask)
    try:
        write_text(tmp_path / "result.txt", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "result.txt").stat().st_mode) == mode


# --- arrays ---

DTYPES = ["u1", "i8", "f4", "f8", "?"]


@settings(deadline=None)
@given(
    array=st.sampled_from(DTYPES).flatmap(
        lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0))
    ),
    axes_reversed=st.booleans(),
)
def test_arrays_come_back_bit_for_bit(tmp_path_factory, array, axes_reversed):
    """If it failed, shapes, types, NaN payloads or transposed arrays would change on the way."""
    path = tmp_path_factory.mktemp("arrays") / "a.safetensors"
    array = array.T if axes_reversed else array
    save_arrays(path, {"x": array, "other": np.arange(3)})
    loaded = load_arrays(path, ["x"])
    assert set(loaded) == {"x"}
    assert loaded["x"].dtype == array.dtype
    assert loaded["x"].shape == array.shape
    assert loaded["x"].tobytes() == array.tobytes()


def test_some_rows_come_back_and_the_length_is_known(tmp_path):
    """A pass over shards would repeat or skip images."""
    array = np.arange(40, dtype=np.uint8).reshape(10, 2, 2)
    save_arrays(tmp_path / "a", {"x": array, "none": array[:0]})
    assert load_length(tmp_path / "a", "x") == 10
    assert load_length(tmp_path / "a", "none") == 0
    assert load_names(tmp_path / "a") == {"x", "none"}
    np.testing.assert_array_equal(load_rows(tmp_path / "a", "x", slice(3, 7)), array[3:7])
    found = list(each_row(tmp_path / "a", "x", np.array([7, 2, 2])))
    np.testing.assert_array_equal(found, array[[7, 2, 2]])
    np.testing.assert_array_equal(load_rows(tmp_path / "a", "x", slice(8, 10)), array[8:])
    with pytest.raises(WtrakError, match="has no array 'y'; it holds none, x"):
        load_rows(tmp_path / "a", "y", slice(0, 1))
    with pytest.raises(WtrakError, match="has no array 'y'"):
        load_length(tmp_path / "a", "y")


def test_metadata_comes_back_and_may_be_absent(tmp_path):
    """If it failed, settings and hashes would get lost between rules."""
    metadata = {"λ": 1e-4, "names": ["ε", "b"], "nested": {"n": 3, "none": None}, "ok": True}
    save_arrays(tmp_path / "a.safetensors", {"x": np.zeros(2)}, metadata)
    assert load_metadata(tmp_path / "a.safetensors") == metadata
    save_arrays(tmp_path / "b.safetensors", {"x": np.zeros(2)})
    assert load_metadata(tmp_path / "b.safetensors") == {}
    # A file by another program, such as downloaded weights.
    safetensors.numpy.save_file({"x": np.zeros(2)}, tmp_path / "c.safetensors")
    assert load_metadata(tmp_path / "c.safetensors") == {}


def test_same_arrays_give_the_same_bytes(tmp_path):
    """If it failed, a rerun would change files and with them everything that depends on them."""
    rng = np.random.default_rng(0)
    arrays = {f"array{k}": rng.standard_normal((3, k + 1)) for k in range(12)}
    metadata = {f"key{k}": k for k in range(12)}
    save_arrays(tmp_path / "reference", arrays, metadata)
    for k in range(5):
        save_arrays(
            tmp_path / f"again{k}",
            dict(reversed(arrays.items())),
            dict(reversed(metadata.items())),
        )
        assert (tmp_path / f"again{k}").read_bytes() == (tmp_path / "reference").read_bytes()


@pytest.mark.parametrize("load", [load_arrays, load_metadata])
def test_missing_file_is_named(tmp_path, load):
    """If it failed, the user would not learn which file is missing."""
    path = tmp_path / "absent.safetensors"
    for absent in (path, tmp_path):
        with pytest.raises(WtrakError) as caught:
            load(absent)
        assert str(caught.value).startswith(f"{absent} is missing")


@pytest.mark.parametrize("load", [load_arrays, load_metadata])
def test_truncated_file_is_named_with_what_to_do(tmp_path, load):
    """If it failed, a damaged file would crash a rule with an error that names no file."""
    path = tmp_path / "a.safetensors"
    save_arrays(path, {"x": np.arange(1000.0)}, {"a": 1})
    whole = path.read_bytes()
    damaged = [whole[:keep] for keep in (0, 4, 8, 50, len(whole) // 2, len(whole) - 1)]
    for blob in [*damaged, bytes(len(whole)), b"<!doctype html><html></html>"]:
        path.write_bytes(blob)
        with pytest.raises(WtrakError) as caught:
            load(path)
        assert str(path) in str(caught.value)
        assert "delete it and run again" in str(caught.value)


def test_missing_array_is_named_with_those_that_are_there(tmp_path):
    """If it failed, a renamed array would surface as a bare KeyError."""
    path = tmp_path / "a.safetensors"
    save_arrays(path, {"train": np.zeros(2), "test": np.zeros(2)})
    with pytest.raises(WtrakError) as caught:
        load_arrays(path, ["train", "validation"])
    for word in (str(path), "validation", "train", "test"):
        assert word in str(caught.value)


# --- numbers and frames ---


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_json_refuses_what_is_no_number(tmp_path, value):
    """If it failed, a NaN would spread silently, in a file that is no JSON."""
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(tmp_path / "a.json", {"nested": [1.0, value]})
    assert names(tmp_path) == []


@settings(deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_json_floats_come_back_bit_for_bit(tmp_path_factory, value):
    """If it failed, numbers in records would lose digits."""
    path = tmp_path_factory.mktemp("json") / "a.json"
    write_json(path, {"value": value, "λ": "ε"})
    assert np.float64(read_json(path)["value"]).tobytes() == np.float64(value).tobytes()


def test_json_is_the_same_whatever_the_order_of_keys(tmp_path):
    """If it failed, the same record would have other bytes after a rerun."""
    write_json(tmp_path / "a.json", {"b": 1, "a": {"d": 1, "c": 2}})
    write_json(tmp_path / "b.json", {"a": {"c": 2, "d": 1}, "b": 1})
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


@settings(deadline=None)
@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=20))
def test_csv_floats_come_back_bit_for_bit(tmp_path_factory, values):
    """If it failed, figures and claims would be made from rounded numbers."""
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    column = np.array(values, dtype=np.float64)
    write_csv(path, pd.DataFrame({"value": column, "row": np.arange(len(values))}))
    frame = read_csv(path)
    assert frame["value"].to_numpy(np.float64).tobytes() == column.tobytes()
    assert list(frame["row"]) == list(range(len(values)))


def test_csv_hard_floats_text_and_gaps_come_back(tmp_path):
    """If it failed, subnormals, last digits, commas in text or missing values would change."""
    frame = pd.DataFrame(
        {
            "value": [0.1 + 0.2, 5e-324, 1.7976931348623157e308, -0.0, np.nan],
            "text": ["a, b", 'a "b"', "λ", "two\nlines", "plain"],
        }
    )
    write_csv(tmp_path / "a.csv", frame)
    back = read_csv(tmp_path / "a.csv")
    assert back["value"].to_numpy().tobytes() == frame["value"].to_numpy().tobytes()
    assert list(back["text"]) == list(frame["text"])
    assert list(back.columns) == ["value", "text"]
    assert b"\r" not in (tmp_path / "a.csv").read_bytes()


@pytest.mark.parametrize(("read", "kind"), [(read_json, "JSON"), (read_csv, "CSV")])
def test_missing_and_damaged_records_are_named(tmp_path, read, kind):
    """If it failed, a user would see a parser's complaint and not which file to delete."""
    path = tmp_path / "record"
    with pytest.raises(WtrakError, match=f"{path} is missing"):
        read(path)
    for damaged in (b"", b"\xff\xfe{"):
        path.write_bytes(damaged)
        with pytest.raises(WtrakError, match=f"{path} is truncated or is not a {kind} file"):
            read(path)


@pytest.mark.parametrize("cut", [1, 3, 40])
def test_frame_that_is_cut_within_a_row_is_named(tmp_path, cut):
    """If it failed, a shorter number, or none, would stand in the last row."""
    write_csv(tmp_path / "x.csv", pd.DataFrame({"a": np.arange(30.0) / 7, "b": 1}))
    whole = (tmp_path / "x.csv").read_bytes()
    (tmp_path / "x.csv").write_bytes(whole[:-cut])
    with pytest.raises(WtrakError, match=r"x\.csv is truncated"):
        read_csv(tmp_path / "x.csv")


TEXTS = ["a\rb", "Icon\r", "a\r\nb", 'q"\r"', "\r", "\n", "a,b\r", "plain"]
FORMULAS = ["=1+1", "+1", "-1", "@x", "\tx", "\rx", "＝x", "'=x", "''-", "=cmd|' /C calc'!A0"]


def as_newer_python(monkeypatch):
    """Let rows be written as by Python 3.13, which quotes carriage returns whatever ends a row."""
    real = csv.writer

    class Writer:
        def __init__(self, file, *args, lineterminator, **kwargs):
            self._file, self._end = file, lineterminator
            self._options = args, kwargs | {"lineterminator": "\r\n"}

        def writerow(self, row):
            buffer = io.StringIO(newline="")
            args, kwargs = self._options
            real(buffer, *args, **kwargs).writerow(row)
            self._file.write(buffer.getvalue().removesuffix("\r\n") + self._end)

        def writerows(self, rows):
            for row in rows:
                self.writerow(row)

    monkeypatch.setattr(csv, "writer", Writer)


def test_carriage_returns_split_no_row_in_any_python(tmp_path, monkeypatch):
    """A file of macOS named `Icon` and a carriage return would end its row."""
    frame = pd.DataFrame({"path": TEXTS, "a\rb": range(len(TEXTS))})
    write_csv(tmp_path / "here.csv", frame)
    as_newer_python(monkeypatch)
    assert '"Icon\r",1' in frame.to_csv(index=False, lineterminator="\n")
    write_csv(tmp_path / "newer.csv", frame)
    assert (tmp_path / "here.csv").read_bytes() == (tmp_path / "newer.csv").read_bytes()
    with (tmp_path / "here.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    guarded = [f"'{text}" if text[0] in "\r\n" else text for text in TEXTS]
    assert rows == [["path", "a\rb"], *([text, str(k)] for k, text in enumerate(guarded))]
    pd.testing.assert_frame_equal(read_csv(tmp_path / "here.csv"), frame)


def test_no_cell_is_a_formula_and_every_text_comes_back(tmp_path):
    """A spreadsheet would run what a file is called."""
    frame = pd.DataFrame({"path": [*FORMULAS, "'plain'", "a=b"], "value": -np.arange(12.0)})
    frame["mixed"] = pd.Series(["=x", None, -1.5, "y"] * 3, dtype=object)
    write_csv(tmp_path / "a.csv", frame)
    with (tmp_path / "a.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))[1:]
    assert all(row[0].startswith("'") for row in rows[:-1]) and rows[-1][0] == "a=b"
    assert rows[1][1] == "-1.0" and rows[0][2] == "'=x"
    back = read_csv(tmp_path / "a.csv")
    assert list(back["path"]) == list(frame["path"])
    np.testing.assert_array_equal(back["value"], frame["value"])
    assert list(back["mixed"].dropna().astype(str)) == ["=x", "-1.5", "y"] * 3


def test_scratch_beside_a_file_goes_with_its_block_or_with_the_next(tmp_path):
    """Images of a killed job would stay on the disk for ever."""
    path = tmp_path / "deep" / "x.safetensors"
    with pytest.raises(RuntimeError), scratch_beside(path) as folder:
        (folder / "images").write_bytes(b"x")
        save_arrays(path, {"x": np.ones(3)})
        assert (folder / "images").exists() and folder.parent == path.parent
        raise RuntimeError
    assert names(path.parent) == [path.name]
    # What a killed process leaves: nobody holds the lock.
    (path.parent / f".{path.name}.abc.part").touch()
    (path.parent / f".{path.name}.abc.part.d").mkdir()
    (path.parent / f".{path.name}.abc.part.d" / "images").touch()
    with scratch_beside(path):
        pass
    assert names(path.parent) == [path.name]
