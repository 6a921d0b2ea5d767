"""Files between rules, shards that survive a kill, and how a job reports what went wrong."""

import os
import select
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import safetensors.numpy
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from conftest import REPOSITORY
from wtrak.errors import WtrakError
from wtrak.job import runtime
from wtrak.job.io import (
    atomic_path,
    load_arrays,
    load_length,
    load_metadata,
    load_rows,
    read_csv,
    read_json,
    save_arrays,
    write_csv,
    write_json,
    write_text,
)
from wtrak.job.shards import compute_in_shards, shard_folder

SCRIPTS = REPOSITORY / "workflow" / "lib"


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


class BrokenFrame:
    """A data frame that fails after its first line."""

    def to_csv(self, path, **_):
        path.write_text("ε,share\n", encoding="utf-8")
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    "write",
    [
        pytest.param(unserialisable, id="json"),
        pytest.param(not_arrays, id="arrays"),
        pytest.param(lambda path: write_csv(path, BrokenFrame()), id="csv"),
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
        env=os.environ | {"PYTHONPATH": str(SCRIPTS)},
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
            env=os.environ | {"PYTHONPATH": str(SCRIPTS)},
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
    np.testing.assert_array_equal(load_rows(tmp_path / "a", "x", slice(3, 7)), array[3:7])
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


# --- shards ---

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
        assert names(parent) == [other.name]
    assert in_shards(shard_folder(parent, identity))[1] == RANGES


# --- how a job runs ---


def job(tmp_path, **more):
    return SimpleNamespace(rule="myrule", log=[str(tmp_path / "logs" / "my.log")], **more)


def log_of(smk):
    return Path(smk.log[0]).read_text("utf-8")


def test_output_of_a_job_goes_to_its_log(tmp_path, capfd):
    """If it failed, a rule's log would be empty and the terminal full of other jobs' lines."""
    smk = job(tmp_path)

    def main(given):
        assert given is smk
        print("to stdout")
        print("to stderr", file=sys.stderr)
        runtime.say("said")

    runtime.run(main, smk)
    assert {"to stdout", "to stderr"} <= set(log_of(smk).splitlines())
    assert "said" in log_of(smk)
    assert capfd.readouterr() == ("", "")


def test_anticipated_fault_is_one_message_on_the_terminal(tmp_path, capfd):
    """If it failed, a user with a wrong input would see a traceback, or nothing."""
    smk = job(tmp_path)

    def main(_smk):
        print("before")
        raise WtrakError("the file is damaged;\ndelete it")

    with pytest.raises(SystemExit) as caught:
        runtime.run(main, smk)
    assert caught.value.code == 1
    stdout, stderr = capfd.readouterr()
    assert stdout == ""
    assert stderr.strip() == "myrule: the file is damaged;\ndelete it"
    for words in ("before", "Traceback (most recent call last)", "the file is damaged", "in main"):
        assert words in log_of(smk)


def test_other_exception_points_to_the_log(tmp_path, capfd):
    """If it failed, a bug would show its traceback to the user, or leave none at all."""
    smk = job(tmp_path)

    def main(_smk):
        return [][3]

    with pytest.raises(SystemExit) as caught:
        runtime.run(main, smk)
    assert caught.value.code == 1
    stdout, stderr = capfd.readouterr()
    assert stdout == ""
    (line,) = stderr.strip().splitlines()
    assert line == f"myrule: IndexError: list index out of range (traceback in {smk.log[0]})"
    assert "Traceback (most recent call last)" in log_of(smk)
    assert "in main" in log_of(smk)


def test_log_of_an_earlier_attempt_is_replaced(tmp_path):
    """If it failed, the log would mix this attempt with the failed one before it."""
    smk = job(tmp_path)
    for words in ("first attempt", "second attempt"):
        runtime.run(lambda _smk, words=words: print(words), smk)
    words, versions = log_of(smk).splitlines()
    assert words == "second attempt" and versions.startswith("versions ")


def test_streams_are_given_back_after_a_job(tmp_path):
    """If it failed, a caller's own output would go on to the log of a job that has ended."""
    before = sys.stdout, sys.stderr
    runtime.run(lambda _smk: None, job(tmp_path))
    with pytest.raises(SystemExit):
        runtime.run(lambda _smk: 1 / 0, job(tmp_path))
    assert (sys.stdout, sys.stderr) == before


def test_threads_are_those_that_the_rule_declared(tmp_path, monkeypatch):
    """If it failed, a job would take all cores of a shared node."""
    used = []
    monkeypatch.setattr(runtime, "use_threads", used.append)
    runtime.run(lambda _smk: None, job(tmp_path, threads=3))
    assert used == [3]


def test_threads_reach_torch():
    """If it failed, a job would compute on all cores, or on one, whatever its rule declared."""
    import torch

    before = torch.get_num_threads()
    try:
        runtime.use_threads(1)
        assert torch.get_num_threads() == 1
    finally:
        runtime.use_threads(before)


def test_failed_job_ends_its_process_with_status_1(tmp_path):
    """If it failed, Snakemake would take a failed job for a finished one."""
    script = (
        "from types import SimpleNamespace\n"
        "from wtrak.errors import WtrakError\n"
        "from wtrak.job.runtime import run\n"
        "def main(smk):\n"
        "    raise WtrakError('the ridge is too small')\n"
        "run(main, SimpleNamespace(rule='covariance', log=['job.log']))\n"
        "print('not reached')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(SCRIPTS)},
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.strip() == "covariance: the ridge is too small"
    assert "Traceback" in (tmp_path / "job.log").read_text("utf-8")


@pytest.mark.parametrize("name", ["cuda", "cuda:0", "cuda:7"])
def test_absent_card_is_an_anticipated_fault(monkeypatch, name):
    """If it failed, a machine without a card would show torch's own traceback."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(WtrakError) as caught:
        runtime.select_device(name)
    for word in (repr(name), "no usable CUDA card", "'auto'", "'cpu'"):
        assert word in str(caught.value)


@pytest.fixture
def two_cards(monkeypatch, tmp_path):
    """A machine that seems to have two cards, none of them held."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(
        torch.cuda, "get_device_properties", lambda card: SimpleNamespace(uuid=f"card-{card}")
    )
    monkeypatch.setattr(runtime.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(runtime, "_held", {})
    yield
    for file in runtime._held.values():
        file.close()


def test_card_beyond_the_last_is_an_anticipated_fault(two_cards):
    """If it failed, `cuda:7` on a machine with two cards would fail late, inside torch."""
    assert runtime.select_device("cuda:1") == torch.device("cuda:1")
    with pytest.raises(WtrakError, match="cuda:7"):
        runtime.select_device("cuda:7")


@pytest.mark.parametrize("name", ["auto", "cuda"])
def test_auto_takes_the_first_card_once(two_cards, name):
    """If it failed, a card would stay idle, or a job that asks twice would wait for itself."""
    assert runtime.select_device(name) == torch.device("cuda:0")
    assert runtime.select_device(name) == torch.device("cuda:0")
    assert runtime.select_device("cpu") == torch.device("cpu")


def test_auto_does_without_a_card(monkeypatch):
    """If it failed, no machine without a card could run the workflow."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert runtime.select_device("auto") == torch.device("cpu")


HOLD = """
import sys, time
from types import SimpleNamespace
import torch
torch.cuda.is_available = lambda: True
torch.cuda.device_count = lambda: 2
torch.cuda.get_device_properties = lambda card: SimpleNamespace(uuid=f"card-{card}")
from wtrak.job.runtime import select_device
print(select_device(sys.argv[1]).index, flush=True)
time.sleep(600)
"""


def test_jobs_side_by_side_never_share_a_card(tmp_path):
    """If it failed, two jobs on one card would be slow, or out of memory, beside an idle one."""
    environment = os.environ | {"PYTHONPATH": str(SCRIPTS), "TMPDIR": str(tmp_path)}
    jobs = []

    def start(name):
        command = [sys.executable, "-c", HOLD, name]
        jobs.append(
            subprocess.Popen(
                command,
                env=environment,
                stdout=subprocess.PIPE,
                text=True,
                bufsize=1,
                encoding="utf-8",
            )
        )
        return jobs[-1]

    try:
        first, second = start("auto"), start("auto")
        cards = {job: int(job.stdout.readline()) for job in (first, second)}
        assert set(cards.values()) == {0, 1}
        third = start(f"cuda:{cards[first]}")
        assert "waiting" in third.stdout.readline()
        assert not select.select([third.stdout], [], [], 2)[0]
        # The other card is of no use to it; its own is free even where its job was killed.
        second.kill()
        assert not select.select([third.stdout], [], [], 2)[0]
        first.kill()
        assert int(third.stdout.readline()) == cards[first]
    finally:
        for job in jobs:
            job.kill()
            job.communicate()


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


@pytest.fixture
def small_disk(tmp_path):
    """A folder on a disk of one megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("only root may mount a disk of one megabyte")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


WRITE = {
    "arrays": lambda path: save_arrays(path, {"x": np.ones(1 << 20)}),
    "json": lambda path: write_json(path, ["x" * 100] * 20_000),
    "csv": lambda path: write_csv(path, pd.DataFrame({"x": np.arange(1e5) / 7})),
    "text": lambda path: write_text(path, "x" * (1 << 21)),
}


@pytest.mark.parametrize("kind", WRITE)
@pytest.mark.parametrize("log_too", [False, True])
def test_full_disk_is_named_and_keeps_the_old_file(small_disk, tmp_path, capfd, kind, log_too):
    """If it failed, half a file would pass for a whole one, or the reason would be hidden."""
    result = small_disk / "result"
    result.write_text("old", encoding="utf-8")

    def main(smk):
        runtime.say("begun")
        WRITE[kind](result)

    def main_on_a_full_disk(smk):
        with (small_disk / "filler").open("wb", buffering=0) as file:
            while file.write(bytes(4096)) == 4096:
                pass
        main(smk)

    log = (small_disk if log_too else tmp_path) / "job.log"
    with pytest.raises(SystemExit):
        runtime.run(main, SimpleNamespace(rule="covariance", log=[log]))
    assert "covariance: the disk or quota is full" in capfd.readouterr().err
    if log_too:
        with pytest.raises(SystemExit):
            runtime.run(main_on_a_full_disk, SimpleNamespace(rule="covariance", log=[log]))
        assert "covariance: the disk or quota is full" in capfd.readouterr().err
    assert result.read_text("utf-8") == "old"
    assert {path.name for path in small_disk.iterdir()} <= {"result", "job.log", "filler"}


def test_log_that_cannot_be_written_is_named(tmp_path, capfd):
    """If it failed, a read-only folder of results would show a traceback of the workflow's own."""
    (tmp_path / "logs").write_text("a file in the place of a folder", encoding="utf-8")
    log = tmp_path / "logs" / "job.log"
    with pytest.raises(SystemExit):
        runtime.run(lambda smk: None, SimpleNamespace(rule="covariance", log=[log]))
    assert "covariance: its log cannot be written" in capfd.readouterr().err
