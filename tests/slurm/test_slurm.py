"""The workflow on a real SLURM: what is asked for, retries, time limits, a killed controller."""

import importlib.util
import re
import signal
import subprocess
import sys
import time

import pytest
import yaml
from cluster import client, missing, running

from conftest import copy_repository
from rulegraph import BLOCKS, following

ABSENT = missing()
if importlib.util.find_spec("snakemake_executor_plugin_slurm") is None:
    ABSENT.append("snakemake-executor-plugin-slurm")
pytestmark = [
    pytest.mark.slurm,
    pytest.mark.skipif(bool(ABSENT), reason=f"`make test-slurm` installs {', '.join(ABSENT)}"),
]

# Shorter waits than on a cluster, and no accounting database.
EXTRA = {
    "slurm-status-command": "squeue",
    "slurm-init-seconds-before-status-checks": 2,
    "latency-wait": 10,
    "configfile": ["profiles/quick/config.yaml"],
}


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    """The environment in which clients find the cluster."""
    with running(tmp_path_factory.mktemp("slurm")) as environment:
        yield environment


@pytest.fixture
def repository(tmp_path):
    """A copy of the repository whose SLURM profile has the waits of a test."""
    folder = copy_repository(tmp_path / "repository")
    path = folder / "profiles" / "slurm" / "profile.yaml"
    path.write_text(
        yaml.safe_dump(yaml.safe_load(path.read_text("utf-8")) | EXTRA), encoding="utf-8"
    )
    return folder


def started(repository, slurm, *arguments):
    """Snakemake with the SLURM profile, not waited for."""
    command = [sys.executable, "-m", "snakemake", "--profile", "profiles/slurm"]
    command += ["--workflow-profile", "none", "--directory", "runs/slurm", *arguments]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen(command, cwd=repository, env=slurm, **pipes)


def finished(process, seconds=420):
    """What it printed; the process is killed when it takes longer."""
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        output, _ = process.communicate()
        pytest.fail(f"still running after {seconds} s:\n{output[-3000:]}")
    return output


def jobs(slurm):
    """Every job that SLURM remembers, by rule: its requests and state."""
    text = client(slurm, "scontrol", "--oneliner", "show", "job")
    found = []
    for line in text.splitlines():
        job = dict(re.findall(r"(\w+)=(\S*)", line))
        rule = re.search(r"Comment=rule_(\w+?)(?:_wildcards\S*)?(?: |$)", line)
        found.append(job | {"rule": rule.group(1) if rule else ""})
    return found


def test_chain_runs_and_asks_for_what_its_rules_say(repository, slurm):
    """A cluster job would be killed for memory, or hold a card that it does not use."""
    target = "results/experiments/digits/covariance.safetensors"
    output = finished(started(repository, slurm, target, "--config", "compute={device: auto}"))
    assert (repository / "runs" / "slurm" / target).is_file(), output[-3000:]
    asked = {job["rule"]: job for job in jobs(slurm)}
    assert {"activations", "head", "residuals", "covariance"} == set(asked), asked
    for rule in ("activations", "head", "covariance"):
        assert asked[rule].get("TresPerJob") == "gres:gpu:1", asked[rule]
        assert int(asked[rule]["NumCPUs"]) >= 2
    assert "TresPerJob" not in asked["residuals"]
    memory = {rule: re.search(r"mem=([\d.]+)([MG])", job["TRES"]) for rule, job in asked.items()}
    assert all(memory.values())
    for job in asked.values():
        assert job["JobState"] == "COMPLETED"
        hours, minutes, _ = re.fullmatch(r"(\d+):(\d+):(\d+)", job["TimeLimit"]).groups()
        assert 0 < 60 * int(hours) + int(minutes) <= 24 * 60


def test_quick_run_goes_through_with_what_each_rule_asks_for(repository, slurm):
    """A rule that works on this machine would fail on a node, or be killed for what it takes."""
    before = {job["JobId"] for job in jobs(slurm)}
    # Four at a time, of one thread each, is more than two cores do.
    options = ("--jobs", "4", "--max-threads", "1")
    output = finished(started(repository, slurm, *options), seconds=2400)
    results = repository / "runs" / "slurm" / "results"
    assert (results / "checks.xml").is_file() and (results / "index.html").is_file(), output[-3000:]
    done = [job for job in jobs(slurm) if job["JobId"] not in before]
    assert {job["JobState"] for job in done} == {"COMPLETED"}
    # Downloads stay with the machine that has the network.
    expected = following(repository).keys() - {"all", "dataset", "backbone", "human_labels"}
    assert {job["rule"] for job in done} == expected
    for job in done:
        block = BLOCKS[job["rule"]]
        # What a rule does not ask for is the profile's.
        asked = re.search(r"mem_mb=megabytes\((\d+)\)", block)
        memory = int(asked.group(1)) if asked else 2000
        assert f"mem={memory}M" in job["TRES"] or f"mem={memory / 1000:g}G" in job["TRES"], job
        asked = re.search(r"runtime=minutes\((\d+)\)", block)
        runtime = int(asked.group(1)) if asked else 30
        hours, minutes, _ = re.fullmatch(r"(\d+):(\d+):(\d+)", job["TimeLimit"]).groups()
        assert 60 * int(hours) + int(minutes) == runtime, job
        # The quick run keeps to the CPU.
        assert "TresPerJob" not in job
    assert "Nothing to be done" in finished(started(repository, slurm, "--dry-run"))


def broken(repository, rule, line):
    """Put a line at the start of a rule's script."""
    (script,) = (repository / "workflow" / "scripts").glob(f"*/{rule}.py")
    head, marker, tail = script.read_text("utf-8").partition("def main(smk):\n")
    script.write_text(head + marker + line + tail, encoding="utf-8")


def test_failed_job_is_tried_again_with_more(repository, slurm):
    """One node failure would end a run of hours; or the second try would fail as the first did."""
    mark = repository / "tried"
    broken(
        repository,
        "activations",
        f"    from pathlib import Path\n    mark = Path({str(mark)!r})\n"
        "    if not mark.exists():\n        mark.touch()\n        raise RuntimeError('once')\n",
    )
    before = {job["JobId"] for job in jobs(slurm)}
    target = "results/activations/digits/untrained/32.safetensors"
    output = finished(started(repository, slurm, target))
    assert (repository / "runs" / "slurm" / target).is_file(), output[-3000:]
    tries = [job for job in jobs(slurm) if job["JobId"] not in before]
    tries = sorted((job for job in tries if job["rule"] == "activations"), key=lambda j: j["JobId"])
    assert [job["JobState"] for job in tries] == ["FAILED", "COMPLETED"]
    first, second = (re.search(r"mem=([\d.]+[MG])", job["TRES"]).group(1) for job in tries)
    assert first != second


def test_job_beyond_its_time_ends_and_leaves_no_output(repository, slurm):
    """A job that hangs would hold the run for ever, or leave half a file that looks whole."""
    broken(repository, "activations", "    import time\n    time.sleep(600)\n")
    target = "results/activations/digits/untrained/32.safetensors"
    options = ("--set-resources", "activations:runtime=1", "--retries", "0")
    output = finished(started(repository, slurm, target, *options))
    assert not (repository / "runs" / "slurm" / target).exists()
    assert "TIMEOUT" in output or any(job["JobState"] == "TIMEOUT" for job in jobs(slurm)), output


def test_killed_controller_is_taken_up_again(repository, slurm):
    """A login node that restarts would cost the run, or let two jobs write one file."""
    target = "results/experiments/digits/head.safetensors"
    process = started(repository, slurm, target)
    deadline = time.monotonic() + 120
    while not client(slurm, "squeue", "-h", "-t", "RUNNING") and time.monotonic() < deadline:
        time.sleep(0.5)
    process.send_signal(signal.SIGKILL)
    process.wait()
    # What docs/cluster.md says: wait until the jobs of the dead run are gone, unlock, run again.
    while client(slurm, "squeue", "-h") and time.monotonic() < deadline + 120:
        time.sleep(1)
    finished(started(repository, slurm, "--unlock"))
    output = finished(started(repository, slurm, target))
    assert (repository / "runs" / "slurm" / target).is_file(), output[-3000:]
