"""One job of a rule is killed for nearly all rules, and the run itself twenty times, at random.

In the end every result has the bytes of a run that was left alone.
"""

import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import time

import psutil
import pytest

from comparison import differing, times_of
from conftest import QUICK, copy_repository, snakemake

pytestmark = pytest.mark.faults

KILLS = 20
SEED = 7
# What a process runs that computes: the script of a rule, under a temporary name.
SCRIPT = re.compile(r"/\.snakemake/scripts/tmp[^/]*\.(\w+)\.py$")


def jobs_of(process):
    """Rule of each script that a run has started and that is still running, by process id."""
    found = {}
    # A process may end between being listed and being read.
    with contextlib.suppress(psutil.Error):
        for child in psutil.Process(process.pid).children():
            with contextlib.suppress(psutil.Error):
                for script in filter(None, map(SCRIPT.search, child.cmdline())):
                    found[child.pid] = script.group(1)
    return found


def seconds_of(results):
    """How long a job of each rule took in a finished run, the shortest of them."""
    found = {}
    for path in (results / "benchmarks").rglob("*.tsv"):
        rule = path.relative_to(results / "benchmarks").parts[0].removesuffix(".tsv")
        found[rule] = min(times_of(path), found.get(rule, float("inf")))
    return found


@pytest.fixture(scope="module")
def killed(finished, tmp_path_factory):
    """A quick run that went through all of it, which rules were hit, and how often it was."""
    rng = random.Random(SEED)
    repository = copy_repository(tmp_path_factory.mktemp("killed") / "repository")
    seconds = seconds_of(finished / "runs" / "quick" / "results")
    # Some way into a job, which may be faster than that one was: other tests ran beside it.
    moments = {rule: rng.uniform(0.05, 0.35) * seconds[rule] for rule in sorted(seconds)}
    hit, kills = set(), 0
    command = [sys.executable, "-m", "snakemake", *QUICK, "--retries", "3", "--quiet", "all"]
    while True:
        log = (repository / "run.log").open("w", encoding="utf-8")
        process = subprocess.Popen(
            command, cwd=repository, start_new_session=True, stdout=log, stderr=subprocess.STDOUT
        )
        end = time.monotonic() + (rng.uniform(3, 20) if kills < KILLS else 1200)
        begun = {}
        while process.poll() is None and time.monotonic() < end:
            for pid, rule in jobs_of(process).items():
                begun.setdefault(pid, time.monotonic())
                if rule not in hit and time.monotonic() - begun[pid] > moments.get(rule, 0):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                        hit.add(rule)
            time.sleep(0.02)
        log.close()
        if process.poll() is not None:
            output = (repository / "run.log").read_text("utf-8")
            assert process.returncode == 0, output[-4000:]
            break
        kills += 1
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        snakemake(repository, *QUICK, "--unlock")
    return repository, hit, kills


def test_the_run_was_killed_as_often_as_it_says(killed, finished):
    """The test would pass on a run that nothing happened to."""
    _, hit, kills = killed
    rules = set(seconds_of(finished / "runs" / "quick" / "results"))
    assert kills == KILLS
    assert len(hit & rules) >= 0.8 * len(rules), sorted(rules - hit)


def test_results_are_those_of_a_run_that_was_left_alone(killed, finished):
    """A killed job would leave half of its work, or a resumed one compute something else."""
    assert differing(finished / "runs" / "quick" / "results", results(killed)) == {}


def results(killed):
    return killed[0] / "runs" / "quick" / "results"


def test_nothing_is_left_over(killed):
    """Temporary files of killed jobs would fill the disk, run by run."""
    names = [path.name for path in results(killed).rglob("*")]
    assert not [name for name in names if name.startswith(".") or name.endswith(".shards")]
    assert "Nothing to be done" in snakemake(killed[0], *QUICK, "--dry-run").stdout
