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
from rulegraph import following
from settings import LEAVES, QUICK_CONFIG, others, write_change
from stand_ins import repository_of_stand_ins

pytestmark = pytest.mark.faults

TRIALS = 8
FAULTS = ["error", "full_disk", "kill_job", "kill_snakemake", "stop_snakemake"]
RESULTS = "runs/quick/results"
ENDS = {"all", "provenance", "page", "check_results", "claims", "claims_figure"}


def change_setting(repository, rng, name):
    """Give one setting, drawn at random, another value; returns which, and how to undo it."""
    path = rng.choice(sorted(LEAVES))
    file = repository / f"{name}.yaml"
    for value in others(path, LEAVES[path]):
        write_change(file, path, value)
        if snakemake(repository, *command(repository), "-n", check=False).returncode == 0:
            break
    return ".".join(path), lambda: file.unlink(missing_ok=True)


def change_code(repository, rng, name):
    """Edit one script or module, drawn at random; returns which, and how to undo it."""
    folders = [repository / "workflow" / name for name in ("scripts", "lib")]
    path = rng.choice(sorted(path for folder in folders for path in folder.rglob("*.py")))
    before = path.read_text("utf-8")
    path.write_text(f"{before}\nEDITED = {name!r}\n", "utf-8")
    return path.name, lambda: path.write_text(before, "utf-8")


def edit(repository, rng, name, deep):
    """An edit that some job of the rules in `deep` follows; returns what, and outputs of those."""
    while True:
        changed, undo = rng.choice([change_setting, change_code])(repository, rng, name)
        done = snakemake(repository, *command(repository), "--summary", check=False)
        rows = [line.split("\t") for line in done.stdout.splitlines()]
        pending = [row[0] for row in rows if row[-1] == "update pending" and row[2] in deep]
        if pending:
            return changed, pending
        undo()


def command(repository, *targets):
    """Arguments of a quick run with all edits of the settings."""
    edits = [path.name for path in sorted(repository.glob("edit*.yaml"))]
    return (*QUICK, "--cores", "2", *targets, "--configfile", QUICK_CONFIG, *edits)


def fail_once(repository, job, kind):
    """A run in which the job that makes a file meets a fault.

    Jobs that do not need it go on, so that it alone is missing afterwards.
    """
    folder = repository / "runs" / "quick"
    (folder / "fault").write_text(f"{job} {kind}", "utf-8")
    process = subprocess.Popen(
        [sys.executable, "-m", "snakemake", *command(repository), "--retries", "0", "--keep-going"],
        cwd=repository,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
    )
    reached = folder / "fault.reached"
    if kind.endswith("snakemake"):
        while not reached.exists() and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL if kind == "kill_snakemake" else signal.SIGTERM)
        time.sleep(0.2)
        reached.unlink(missing_ok=True)
    output, _ = process.communicate(timeout=300)
    # Asked to stop, Snakemake lets running jobs end, and may have been at its last.
    assert process.returncode != 0 or kind == "stop_snakemake", output[-3000:]
    reached.unlink(missing_ok=True)
    (folder / "fault").unlink(missing_ok=True)
    snakemake(repository, *QUICK, "--unlock")


def contents(repository):
    """Content of every result by its path."""
    return {name: path.read_text("utf-8") for name, path in files_of(repository / RESULTS).items()}


@pytest.fixture(scope="module")
def stand_ins(tmp_path_factory):
    """A finished run of stand-ins."""
    repository = repository_of_stand_ins(tmp_path_factory.mktemp("stand_ins") / "repository")
    snakemake(repository, *QUICK, "--cores", "2")
    return repository


def deep_rules(repository):
    """Rules that others follow whose outputs are no end of the workflow.

    What is missing behind an end, such as a table, is noticed; behind anything else it may not be.
    """
    after = following(repository)
    ends = {name for name, behind in after.items() if behind <= ENDS}
    return {name for name, behind in after.items() if behind - ends - ENDS}


def as_undisturbed(stand_ins, repository, folder):
    """Results of one undisturbed run with the settings and the code of a repository."""
    undisturbed = shutil.copytree(stand_ins, folder / "undisturbed")
    for path in repository.glob("edit*.yaml"):
        shutil.copy2(path, undisturbed)
    shutil.rmtree(undisturbed / "workflow")
    shutil.copytree(repository / "workflow", undisturbed / "workflow")
    snakemake(undisturbed, *command(undisturbed))
    return contents(undisturbed)


def check(repository, expected, targets, history):
    """Run to the end, some targets first, and compare every result with what is expected."""
    for wanted in (targets, []):
        snakemake(repository, *command(repository, *wanted))
        found = contents(repository)
        names = [path.removeprefix("results/") for path in wanted] or expected.keys() | found.keys()
        wrong = sorted(name for name in names if expected.get(name) != found.get(name))
        assert not wrong, f"{history}: not as in an undisturbed run: {wrong}"
    again = snakemake(repository, *command(repository), "--dry-run").stdout
    assert "Nothing to be done" in again, f"{history}: a second run is not empty"


def trial(stand_ins, folder, seed, deep):
    """One history of edits and failures, checked at its end; returns what happened."""
    rng = random.Random(seed)
    repository, history = shutil.copytree(stand_ins, folder / "disturbed"), [f"seed {seed}"]
    for step in range(rng.choice([1, 1, 2])):
        changed, outputs = edit(repository, rng, f"edit{step}", deep)
        job, kind = rng.choice(outputs), rng.choice(FAULTS)
        fail_once(repository, job, kind)
        history += [changed, job, kind]
    expected = as_undisturbed(stand_ins, repository, folder)
    some = rng.sample([f"results/{name}" for name in sorted(expected)], 3)
    check(repository, expected, some if rng.random() < 0.3 else [], history)
    return history


# Asked to stop, Snakemake lets the job end.
@pytest.mark.parametrize("kind", FAULTS[:-1])
def test_what_is_missing_behind_a_result_is_made_again(stand_ins, tmp_path, kind):
    """The table would mix the old number of folds with the new one."""
    repository = shutil.copytree(stand_ins, tmp_path / "disturbed")
    (repository / "edit.yaml").write_text("label_noise: {folds: 4}\n", "utf-8")
    fail_once(repository, "results/label_noise/digits_half/pair_10/heads.safetensors", kind)
    # As a user would who wants to see only what changed.
    table = ["results/tables/detection_table.csv"] if kind == "error" else []
    check(repository, as_undisturbed(stand_ins, repository, tmp_path), table, [kind])


def test_edits_and_failures_leave_nothing_stale(stand_ins, tmp_path):
    """Results of an old setting or code would be shown as those of the present one."""
    deep = deep_rules(stand_ins)

    def run(seed):
        folder = tmp_path / str(seed)
        folder.mkdir()
        trial(stand_ins, folder, seed, deep)
        shutil.rmtree(folder)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(run, range(TRIALS)))
