"""Fixtures: a copy of the repository, and a finished quick run that tests share."""

import fcntl
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
# Limit for the process that runs the tests, so that they also run on small machines.
MOST_MEMORY = 3 * 1024**3
QUICK = ("--profile", "profiles/quick", "--workflow-profile", "none")


def peak_memory(who=resource.RUSAGE_SELF):
    """Peak memory in bytes of this process, and of the largest process that it started."""
    peak = resource.getrusage(who).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


# Peak memory that each worker process reports at its end.
_PEAKS = []


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    """Store the peak memory that a worker process reports."""
    _PEAKS.append(getattr(node, "workeroutput", {}).get("peak_memory", 0))


def pytest_sessionfinish(session):
    """Fail the run if the tests took more memory than the limit."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["peak_memory"] = peak_memory()
    elif max([peak_memory(), *_PEAKS]) > MOST_MEMORY and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter):
    """Print how much memory the tests took."""
    own = max([peak_memory(), *_PEAKS]) / 1024**3
    started = peak_memory(resource.RUSAGE_CHILDREN) / 1024**3
    most = MOST_MEMORY / 1024**3
    text = f"memory: {own:.1f} GiB of at most {most:.0f}, {started:.1f} in a process started"
    terminalreporter.write_line(text, red=own > most)


def snakemake(repository, *arguments, check=True, timeout=900):
    """Run Snakemake in a copy of the repository, and return the process with its joined output."""
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", *arguments],
        cwd=repository,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout,
        encoding="utf-8",
    )
    if check and done.returncode:
        pytest.fail(f"snakemake {' '.join(arguments)} failed:\n{done.stdout[-4000:]}")
    return done


def copy_repository(target):
    """Copy the files that git tracks or would track, so that a test can edit them."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=REPOSITORY,
        capture_output=True,
        check=True,
        text=True,
        encoding="utf-8",
    ).stdout
    for name in filter(None, listed.split("\0")):
        source = REPOSITORY / name
        if source.is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target / name)
    return target


@pytest.fixture(scope="module")
def one_thread():
    """For small images, threads of torch wait for one another longer than they work."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """A copy of the repository in which the quick run has finished. Do not change it.

    Several suites share one in the folder that the environment variable FINISHED names.
    """
    kept, base = os.environ.get("FINISHED"), tmp_path_factory.getbasetemp()
    # Each worker process has its own folder in a common one.
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    repository = Path(kept) if kept else base / "finished"
    repository.mkdir(parents=True, exist_ok=True)
    with (repository.parent / f"{repository.name}.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (repository / "done").exists():
            copy_repository(repository)
            snakemake(repository, *QUICK)
            (repository / "done").touch()
    return repository


def cheap_copy(finished, target):
    """Copy a finished run. Results are hard links; files that are changed in place are copied."""
    shutil.copytree(
        finished, target, ignore=lambda folder, names: ["runs"] if folder == str(finished) else []
    )
    subprocess.run(["cp", "-al", str(finished / "runs"), str(target / "runs")], check=True)
    for name in ("results/logs", "results/benchmarks", ".snakemake"):
        shutil.rmtree(target / "runs" / "quick" / name)
        shutil.copytree(finished / "runs" / "quick" / name, target / "runs" / "quick" / name)
    return target


@pytest.fixture
def editable(finished, tmp_path):
    """A cheap copy of the finished run in which a test can edit the code."""
    return cheap_copy(finished, tmp_path / "copy")


@pytest.fixture(scope="module")
def results(request):
    """The results folder that WTRAK_RESULTS names; by default that of the quick run."""
    if "WTRAK_RESULTS" in os.environ:
        return Path(os.environ["WTRAK_RESULTS"])
    return request.getfixturevalue("finished") / "runs" / "quick" / "results"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Folder, arrays and features of a small dataset, for scripts of rules."""
    # Here, as tests of results need none of what it imports.
    from chain import write_data

    return write_data(tmp_path_factory.mktemp("chain"))
