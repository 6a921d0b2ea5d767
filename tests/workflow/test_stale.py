"""After an edit and a failure, the next run ends with what one undisturbed run shows.

Edits, failures and what follows are drawn at random. Scripts are stand-ins that write a hash of all
they were made from, so that one stale input anywhere shows in every result behind it.
"""

import random
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from comparison import files_of
from conftest import QUICK, snakemake
from settings import LEAVES, QUICK_CONFIG, others, write_change
from stand_ins import repository_of_stand_ins

pytestmark = pytest.mark.faults

TRIALS = 16
FAULTS = ["error", "full_disk", "kill_job", "kill_snakemake", "stop_snakemake"]
RESULTS = "runs/quick/results"


def edited_setting(repository, rng, name):
    """Give one setting, drawn at random, another value; returns what was changed."""
    while True:
        path = rng.choice(sorted(LEAVES))
        for value in others(path, LEAVES[path]):
            write_change(repository / f"{name}.yaml", path, value)
            if snakemake(repository, *command(repository), "-n", check=False).returncode == 0:
                return ".".join(path)
        (repository / f"{name}.yaml").unlink(missing_ok=True)


def edited_code(repository, rng, name):
    """Edit one script or module, drawn at random; returns which."""
    path = rng.choice(sorted((repository / "workflow" / "scripts").rglob("*.py")))
    path.write_text(path.read_text("utf-8") + f"\nEDITED = {name!r}\n", "utf-8")
    return path.name


def command(repository, *targets):
    """Arguments of a quick run with all edits of the settings."""
    edits = [path.name for path in sorted(repository.glob("edit*.yaml"))]
    return (*QUICK, "--cores", "2", *targets, "--configfile", QUICK_CONFIG, *edits)


def jobs_to_run(repository):
    """Outputs of the jobs that would run and that others depend on."""
    summary = snakemake(repository, *command(repository), "--summary").stdout
    rows = [line.split("\t") for line in summary.splitlines()]
    pending = [row[0] for row in rows if row[-1] == "update pending"]
    shown = ("figures", "tables", "index.html", "checks.xml", "provenance.json")
    return [path for path in pending if path.split("/")[1] not in shown]


def fail_once(repository, rng):
    """A run in which one job, drawn from those to run, meets a fault; returns job and fault."""
    jobs = jobs_to_run(repository)
    if not jobs:
        return "nothing to run", "no fault"
    job, kind = rng.choice(jobs), rng.choice(FAULTS)
    folder = repository / "runs" / "quick"
    (folder / "fault").write_text(f"{job} {kind}", "utf-8")
    process = subprocess.Popen(
        [sys.executable, "-m", "snakemake", *command(repository), "--retries", "0"],
        cwd=repository,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    reached = folder / "fault.reached"
    if kind.endswith("snakemake"):
        while not reached.exists() and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL if kind == "kill_snakemake" else signal.SIGTERM)
        time.sleep(0.2)
        reached.unlink(missing_ok=True)
    output, _ = process.communicate(timeout=300)
    assert process.returncode != 0, output[-3000:]
    reached.unlink(missing_ok=True)
    (folder / "fault").unlink(missing_ok=True)
    snakemake(repository, *QUICK, "--unlock")
    return job, kind


def contents(repository):
    """Content of every result by its path."""
    return {name: path.read_text("utf-8") for name, path in files_of(repository / RESULTS).items()}


@pytest.fixture(scope="module")
def stand_ins(tmp_path_factory):
    """A finished run of stand-ins."""
    repository = repository_of_stand_ins(tmp_path_factory.mktemp("stand_ins") / "repository")
    snakemake(repository, *QUICK, "--cores", "2")
    return repository


def trial(stand_ins, folder, seed):
    """One history of edits and failures; returns what happened, and what differs at its end."""
    rng = random.Random(seed)
    repository = shutil.copytree(stand_ins, folder / "disturbed")
    history = []
    for step in range(rng.choice([1, 1, 2])):
        edit = rng.choice([edited_setting, edited_setting, edited_code])
        history.append(edit(repository, rng, f"edit{step}"))
        history.append(fail_once(repository, rng))
    undisturbed = shutil.copytree(stand_ins, folder / "undisturbed")
    for path in repository.glob("edit*.yaml"):
        shutil.copy2(path, undisturbed)
    shutil.rmtree(undisturbed / "workflow")
    shutil.copytree(repository / "workflow", undisturbed / "workflow")
    snakemake(undisturbed, *command(undisturbed))
    expected = contents(undisturbed)
    # Some ask for a few results only.
    targets = rng.sample([f"results/{name}" for name in sorted(expected)], 3)
    if rng.random() < 0.3:
        snakemake(repository, *command(repository, *targets))
        found = contents(repository)
        history.append(targets)
        wrong = [path for path in targets if found[path[8:]] != expected[path[8:]]]
        assert not wrong, f"{history}: stale although asked for: {wrong}"
    snakemake(repository, *command(repository))
    found = contents(repository)
    wrong = [
        name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name)
    ]
    assert not wrong, f"seed {seed}: {history}: not as in an undisturbed run: {sorted(wrong)}"
    again = snakemake(repository, *command(repository), "--dry-run").stdout
    assert "Nothing to be done" in again, f"{history}: a second run is not empty"


def test_edits_and_failures_leave_nothing_stale(stand_ins, tmp_path):
    """Results of an old setting or code would be shown as those of the present one."""

    def run(seed):
        folder = tmp_path / str(seed)
        folder.mkdir()
        trial(stand_ins, folder, seed)
        shutil.rmtree(folder)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(run, range(TRIALS)))
