"""Every file of a finished run can be asked for alone, and means the job that made it."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from conftest import QUICK, REPOSITORY, snakemake
from rulegraph import rules_of


@pytest.fixture(scope="module")
def facts(finished):
    """What Snakemake finds for each file of the finished run, see `loaded`."""
    done = subprocess.run(
        [sys.executable, str(REPOSITORY / "tests" / "loaded.py"), str(finished)],
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
    )
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_every_file_means_the_one_job_that_made_it(facts):
    """A file asked for alone would be made by another rule, or with wildcards split elsewhere."""
    assert len(facts["makers"]) > 300
    several = {path: rules for path, rules in facts["makers"].items() if len(rules) > 1}
    assert not several
    orphans = {path for path, rules in facts["makers"].items() if not rules}
    assert not orphans, "files of the run that no rule makes"
    assert not facts["strays"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [
        "results/provenance.json",
        "results/benchmarks/noisy_heads/digits_half/uniform_10.tsv",
        "results/logs/activations/digits/untrained/32.log",
    ],
)
def test_names_of_several_wildcards_can_be_asked_for(finished, path):
    """Names joined by what they may hold themselves would be split elsewhere, into unknown ones."""
    output = snakemake(finished, *QUICK, "--dry-run", "--nolock", path).stdout
    assert "Nothing to be done" in output


@pytest.mark.matrix
def test_a_file_of_each_rule_can_be_asked_for_and_made_again(finished, facts):
    """A target that docs/targets.md lists would end in a traceback."""

    def planned(item):
        rule, path = item
        alone = snakemake(finished, *QUICK, "-n", "--nolock", path, check=False)
        again = snakemake(finished, *QUICK, "-n", "--nolock", path, "-R", rule, check=False)
        if alone.returncode or "Nothing to be done" not in alone.stdout:
            return f"{path}: {alone.stdout[-500:]}"
        if again.returncode or rule not in rules_of(again.stdout):
            return f"{path} with -R {rule}: {again.stdout[-500:]}"
        return None

    assert len(facts["one_of_each_rule"]) > 60
    with ThreadPoolExecutor(2) as pool:
        problems = pool.map(planned, facts["one_of_each_rule"].items())
        assert not [problem for problem in problems if problem]
