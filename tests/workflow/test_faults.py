"""Kills, interrupts, full disks, skewed clocks and damaged files, as a user meets them."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

from conftest import QUICK, copy_repository, snakemake

pytestmark = pytest.mark.faults

ACTIVATIONS = "results/activations/digits/untrained/96.safetensors"
# Many small shards, so that a kill surely falls between the first and the last.
SETTINGS = "activations: {batch_size: 16, shard_size: 32}\n"


@pytest.fixture
def repository(tmp_path):
    repository = copy_repository(tmp_path / "repository")
    with (repository / "profiles" / "quick" / "config.yaml").open("a", encoding="utf-8") as file:
        file.write("\n" + SETTINGS)
    return repository


def shards_of(folder):
    """Number of finished shards of the activations."""
    return len(list((folder / ACTIVATIONS).with_suffix(".shards").glob("*/*.safetensors")))


def started(repository, folder):
    """A run of its own session that has finished three shards of the activations."""
    process = subprocess.Popen(
        [sys.executable, "-m", "snakemake", *QUICK, ACTIVATIONS, "--directory", str(folder)],
        cwd=repository,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
    )
    deadline = time.monotonic() + 120
    while shards_of(folder) < 3:
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    return process


def test_killed_activations_resume_with_equal_bytes(repository, tmp_path):
    """Hours would be lost to a kill, or a resumed pass would differ from an uninterrupted one."""
    there, here = tmp_path / "uninterrupted", tmp_path / "killed"
    snakemake(repository, *QUICK, ACTIVATIONS, "--directory", str(there))

    process = started(repository, here)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not (here / ACTIVATIONS).exists()
    done = shards_of(here)
    assert 3 <= done < 57

    locked = snakemake(repository, *QUICK, ACTIVATIONS, "--directory", str(here), check=False)
    assert locked.returncode != 0 and "--unlock" in locked.stdout
    snakemake(repository, *QUICK, "--unlock", "--directory", str(here))
    snakemake(repository, *QUICK, ACTIVATIONS, "--directory", str(here))
    log = (here / "results" / "logs" / "activations" / "digits" / "untrained" / "96.log").read_text(
        "utf-8"
    )
    assert f"{done * 32:,} of 1,437 rows were read from finished shards" in log
    assert (here / ACTIVATIONS).read_bytes() == (there / ACTIVATIONS).read_bytes()
    assert not shards_of(here)


def test_missing_data_ends_in_one_clear_message(repository, tmp_path):
    """A user without the file would face a traceback instead of what was tried and what to do."""
    mistakes = tmp_path / "mistakes.yaml"
    mistakes.write_text(
        "data: {sources: {digits: ["
        "{kind: file, path: absent.tar.gz, format: cifar10-binary}, "
        "{kind: https, url: 'https://localhost:9/digits.tar.gz', format: cifar10-binary}]}}\n",
        encoding="utf-8",
    )
    done = snakemake(
        repository,
        *QUICK,
        "results/datasets/digits.safetensors",
        *("--directory", str(tmp_path / "run"), "--retries", "0"),
        *("--configfile", "profiles/quick/config.yaml", str(mistakes)),
        check=False,
    )
    assert done.returncode != 0
    message = done.stdout[done.stdout.index("dataset: digits is not available") :]
    assert "any of its 2 sources" in message
    assert "file absent.tar.gz: not found in" in message
    assert "https://localhost:9/digits.tar.gz: no download" in message
    assert "By hand: put one of these files into" in message
    assert "absent.tar.gz, digits.tar.gz" in message


def test_second_run_in_a_folder_is_refused_while_the_first_works(repository, tmp_path):
    """Two runs would write the same files, and each delete those of the other."""
    process = started(repository, tmp_path / "run")
    arguments = (*QUICK, ACTIVATIONS, "--directory", str(tmp_path / "run"))
    second = snakemake(repository, *arguments, check=False)
    # Looking is allowed.
    snakemake(repository, *arguments, "--dry-run", "--nolock")
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, output[-2000:]
    assert second.returncode != 0
    assert "Directory cannot be locked" in second.stdout
    assert "no other Snakemake process" in second.stdout
    assert "Traceback" not in second.stdout
    assert "Nothing to be done" in snakemake(repository, *arguments).stdout


def test_interrupted_run_leaves_neither_lock_nor_half_a_file(repository, tmp_path):
    """Ctrl-C would leave what looks like a result, or a folder that must be unlocked first."""
    folder = tmp_path / "run"
    process = started(repository, folder)
    # As a terminal does, to all that belong to the run.
    os.killpg(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=120)
    assert process.returncode != 0, output[-2000:]
    assert not (folder / ACTIVATIONS).exists()
    assert not list(folder.rglob("*.part"))
    arguments = (*QUICK, ACTIVATIONS, "--directory", str(folder))
    assert "--unlock" not in snakemake(repository, *arguments).stdout
    assert (folder / ACTIVATIONS).is_file()
    log = (
        folder / "results" / "logs" / "activations" / "digits" / "untrained" / "96.log"
    ).read_text("utf-8")
    assert "rows were read from finished shards" in log


def mounted(folder, options):
    """Mount a disk in memory at a folder, or skip the test where this user may not."""
    folder.mkdir(parents=True, exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("only root may mount a disk of its own")


def test_full_disk_is_named_and_the_run_goes_on_once_there_is_room(repository, tmp_path):
    """The message would be a traceback, or what fitted would pass for the result."""
    there, here = tmp_path / "roomy", tmp_path / "full"
    snakemake(repository, *QUICK, ACTIVATIONS, "--directory", str(there))
    mounted(here / "results", "size=46m")
    try:
        arguments = (*QUICK, ACTIVATIONS, "--directory", str(here))
        full = snakemake(repository, *arguments, "--retries", "0", check=False)
        assert full.returncode != 0
        assert "the disk or quota is full" in full.stdout
        assert "activations: " in full.stdout and "finished files are kept" in full.stdout
        assert not (here / ACTIVATIONS).exists() and not list(here.rglob("*.part"))
        subprocess.run(["mount", "-o", "remount,size=200m", str(here / "results")], check=True)
        snakemake(repository, *arguments)
        assert (here / ACTIVATIONS).read_bytes() == (there / ACTIVATIONS).read_bytes()
    finally:
        subprocess.run(["umount", "--lazy", str(here / "results")], check=True)


def test_read_only_results_are_named(repository, tmp_path):
    """The first job would fail in a traceback of its own."""
    mounted(tmp_path / "run" / "results", "size=1m,ro")
    try:
        arguments = (*QUICK, ACTIVATIONS, "--directory", str(tmp_path / "run"))
        done = snakemake(repository, *arguments, check=False)
    finally:
        subprocess.run(["umount", "--lazy", str(tmp_path / "run" / "results")], check=True)
    assert done.returncode != 0
    assert "Read-only file system: 'results/" in done.stdout
    assert "Traceback" not in done.stdout


def test_home_that_cannot_be_written_is_done_without(repository, tmp_path):
    """Containers have such homes; docs/troubleshooting.md names the variable to set."""
    environment = os.environ | {"HOME": "/proc/nowhere", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    target = "results/datasets/digits.safetensors"
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", *QUICK, target, "--directory", str(tmp_path / "run")],
        cwd=repository,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert (tmp_path / "run" / target).is_file()


def replaced(path, change):
    """Change a result that is a link to one of another run."""
    blob = path.read_bytes()
    path.unlink()
    path.write_bytes(change(blob))


def results_of(repository):
    return repository / "runs" / "quick" / "results"


def test_clock_that_is_ahead_is_named(editable):
    """A file from the future would make every later run do its work again."""
    head = results_of(editable) / "experiments" / "digits" / "head.safetensors"
    activations = results_of(editable) / "activations" / "digits" / "untrained" / "32.safetensors"
    replaced(activations, lambda blob: blob)
    os.utime(activations, (time.time() + 3600,) * 2)
    arguments = (*QUICK, "results/experiments/digits/head.safetensors")
    done = snakemake(editable, *arguments, check=False)
    assert done.returncode != 0
    assert "clock skew" in done.stdout and "32.safetensors" in done.stdout
    assert not head.exists()
    os.utime(activations)
    snakemake(editable, *arguments)


@pytest.mark.parametrize(
    ("damaged", "rule", "follows"),
    [
        ("experiments/digits/residuals.safetensors", "covariance", "experiments/digits/scores"),
        ("activations/digits/untrained/32.safetensors", "head", "experiments/digits/head"),
        ("experiments/digits/frontier.csv", "fig4_frontier", "figures/fig4_frontier"),
        ("experiments/digits/head.json", "table1_robustness", "tables/table1_robustness"),
    ],
)
def test_truncated_result_is_named_and_made_again(editable, damaged, rule, follows):
    """A number from half a file would be wrong without a word."""
    results, whole = results_of(editable), (results_of(editable) / damaged).read_bytes()
    suffix = {"figures": ".svg", "tables": ".csv"}.get(follows.split("/")[0], ".safetensors")
    target = f"results/{follows}{suffix}"
    expected = (results.parent / target).read_bytes()
    replaced(results / damaged, lambda blob: blob[: len(blob) // 2 - 7])
    done = snakemake(editable, *QUICK, target, check=False)
    assert done.returncode != 0
    assert f"{rule}: results/{damaged} is truncated" in done.stdout, done.stdout
    assert "delete it and run again" in done.stdout
    (results / damaged).unlink()
    # Named, because what stands on it may be whole and need it no more.
    snakemake(editable, *QUICK, target, f"results/{damaged}")
    assert (results / damaged).read_bytes() == whole
    assert (results.parent / target).read_bytes() == expected


def test_partial_clean_is_made_good(editable):
    """Deleting some results by hand would break the rest, or start everything anew."""
    results = results_of(editable)
    gone = ["experiments/digits/scores.safetensors", "experiments/digits/covariance.safetensors"]
    gone += ["activations/digits/untrained/32.safetensors", "figures/fig2_spectrum.svg"]
    before = {name: (results / name).read_bytes() for name in gone}
    for name in gone[:3]:
        (results / name).unlink()
    # What nobody needs now is not made again. Provenance holds times, and looks at what made them.
    planned = snakemake(editable, *QUICK, "--dry-run").stdout.split("Job stats:")[-1]
    rules = set(re.findall(r"^(\w+) +\d+$", planned, flags=re.M))
    assert rules <= {"provenance", "page", "check_results", "all", "total"}
    # And where a result is missing, all that it needs is, and nothing else.
    (results / gone[3]).unlink()
    snakemake(editable, *QUICK, "results/figures/fig2_spectrum.svg")
    assert (results / gone[3]).read_bytes() == before[gone[3]]
    assert not (results / gone[0]).exists()
    snakemake(editable, *QUICK, *(f"results/{name}" for name in gone))
    assert {name: (results / name).read_bytes() for name in gone} == before
