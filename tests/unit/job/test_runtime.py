"""How a job reports what went wrong, and which threads and card it takes."""

import os
import select
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

from conftest import REPOSITORY
from wtrak.errors import WtrakError
from wtrak.job import runtime
from wtrak.job.io import save_arrays, write_csv, write_json, write_text

LIBRARY = REPOSITORY / "workflow" / "lib"


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
        env=os.environ | {"PYTHONPATH": str(LIBRARY)},
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
    environment = os.environ | {"PYTHONPATH": str(LIBRARY), "TMPDIR": str(tmp_path)}
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


def test_rate_is_of_the_fastest_product_after_the_first(monkeypatch):
    """A stage would be compared with a machine that still warms up, or with half of its work."""
    ticks = iter([0.0, 100.0, 200.0, 204.0, 300.0, 302.0])
    monkeypatch.setattr(runtime.time, "perf_counter", lambda: next(ticks))
    # 2·10³ multiplications and additions in the two seconds of the last product.
    assert runtime.matmul_rate(torch.device("cpu"), size=10, repeats=2) == 1000.0
