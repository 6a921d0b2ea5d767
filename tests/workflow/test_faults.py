"""Killed runs, locks and missing data, as a user meets them."""

import os
import signal
import subprocess
import sys
import time

import pytest

from conftest import QUICK, copy_repository, snakemake

pytestmark = pytest.mark.slow

ACTIVATIONS = "results/activations/digits/untrained/96.safetensors"
# Many small shards, so that a kill surely falls between the first and the last.
SETTINGS = "activations: {batch_size: 16, shard_size: 32}\n"


@pytest.fixture
def repository(tmp_path):
    repository = copy_repository(tmp_path / "repository")
    with (repository / "profiles" / "quick" / "config.yaml").open("a") as file:
        file.write("\n" + SETTINGS)
    return repository


def test_killed_activations_resume_with_equal_bytes(repository, tmp_path):
    """Hours would be lost to a kill, or a resumed pass would differ from an uninterrupted one."""
    there, here = tmp_path / "uninterrupted", tmp_path / "killed"
    snakemake(repository, *QUICK, ACTIVATIONS, "--directory", str(there))

    command = [sys.executable, "-m", "snakemake", *QUICK, ACTIVATIONS, "--directory", str(here)]
    process = subprocess.Popen(
        command,
        cwd=repository,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    shards = (here / ACTIVATIONS).with_suffix(".shards")
    deadline = time.monotonic() + 120
    while len(list(shards.glob("*/*.safetensors"))) < 3:
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not (here / ACTIVATIONS).exists()
    done = len(list(shards.glob("*/*.safetensors")))
    assert 3 <= done < 57

    locked = snakemake(repository, *QUICK, ACTIVATIONS, "--directory", str(here), check=False)
    assert locked.returncode != 0 and "--unlock" in locked.stdout
    snakemake(repository, *QUICK, "--unlock", "--directory", str(here))
    snakemake(repository, *QUICK, ACTIVATIONS, "--directory", str(here))
    log = (here / "results" / "logs" / "activations" / "digits_untrained_96.log").read_text()
    assert f"{done * 32:,} of 1,437 rows were done before" in log
    assert (here / ACTIVATIONS).read_bytes() == (there / ACTIVATIONS).read_bytes()
    assert not shards.exists()


def test_missing_data_ends_in_one_clear_message(repository, tmp_path):
    """A user without the file would face a traceback instead of what was tried and what to do."""
    mistakes = tmp_path / "mistakes.yaml"
    mistakes.write_text(
        "data: {sources: {digits: ["
        "{kind: file, path: absent.tar.gz, format: cifar10-binary}, "
        "{kind: https, url: 'https://localhost:9/digits.tar.gz', format: cifar10-binary}]}}\n"
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
    message = done.stdout[done.stdout.index("dataset: digits could not be had") :]
    assert "any of its 2 sources" in message
    assert "file absent.tar.gz: not found in" in message
    assert "https://localhost:9/digits.tar.gz: no download" in message
    assert "By hand: put one of these files into" in message
    assert "absent.tar.gz, digits.tar.gz" in message
