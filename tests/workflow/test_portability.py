"""The workflow from another folder, in a path with spaces, and as a module of another workflow."""

import subprocess
import sys

import pytest

from conftest import copy_repository, snakemake

pytestmark = pytest.mark.faults

OTHER_WORKFLOW = """
configfile: "theirs/config.yaml"
configfile: "theirs/profiles/quick/config.yaml"

module attribution:
    snakefile: "theirs/Snakefile"
    config: config
    prefix: "attribution"

use rule * from attribution as attribution_*

rule mine:
    default_target: True
    input: "attribution/results/tables/table1_robustness.csv"
    output: "mine.txt"
    shell: "wc -l < {input} > {output}"
"""


def test_module_of_another_workflow_in_a_path_with_spaces(tmp_path):
    """Files of this workflow would be looked for beside the other one's Snakefile."""
    folder = tmp_path / "a plan, für später"
    copy_repository(folder / "theirs")
    (folder / "Snakefile").write_text(OTHER_WORKFLOW, encoding="utf-8")
    snakemake(folder, "--cores", "2", "--max-threads", "1")
    assert int((folder / "mine.txt").read_text("utf-8")) > 30
    assert (folder / "attribution" / "results" / "experiments" / "digits" / "head.json").is_file()
    assert not (folder / "results").exists()
    assert "Nothing to be done" in snakemake(folder, "--cores", "2").stdout


def test_other_working_directory(tmp_path):
    """Configuration and data would be looked for where the results are to go."""
    repository = copy_repository(tmp_path / "there")
    (tmp_path / "cwd").mkdir()
    target = "results/backbones/untrained.json"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "snakemake", target, "--cores", "1"),
            *("--snakefile", str(repository / "Snakefile"), "--directory", str(tmp_path / "run")),
        ],
        cwd=tmp_path / "cwd",
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert (tmp_path / "run" / target).is_file()
    assert not list((tmp_path / "cwd").iterdir())
