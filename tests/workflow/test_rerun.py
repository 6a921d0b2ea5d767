"""What an edit re-runs: exactly the rules that it reaches. Dry runs on a finished quick run."""

import os
import re
import shutil

import pytest
import yaml

from conftest import QUICK, REPOSITORY, snakemake
from rulegraph import BLOCKS, following, rules_of

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def graph(finished):
    return following(finished)


def after(graph, *rules):
    """Rules that follow from some, directly or not, and they themselves; without the last ones."""
    found, queue = set(), list(rules)
    while queue:
        rule = queue.pop()
        if rule not in found:
            found.add(rule)
            queue += graph[rule]
    return found - {"all", "page", "check_results"}


def planned(repository, *arguments):
    """Names of the rules that a dry run would run, and its output.

    Less the page and the checks, which follow whenever anything does.
    """
    done = snakemake(repository, *QUICK, "--dry-run", *arguments)
    rules = rules_of(done.stdout)
    assert {"page", "check_results"} & rules == (
        {"page", "check_results"} if "provenance" in rules else set()
    )
    return rules - {"page", "check_results"}, done.stdout


def append(path, text):
    path.write_text(path.read_text("utf-8") + text, encoding="utf-8")


@pytest.mark.parametrize(
    ("module", "rules"),
    [
        ("attacks/perturbations.py", ["audit"]),
        # What is decoded must have the content of the hash, whatever decodes it.
        ("sources/datasets.py", []),
        ("convex/parameter_change.py", ["robustness_gap"]),
        ("labels/noise.py", ["noisy_heads", "detectors"]),
        ("reporting/claims.py", ["claims", "claims_figure"]),
        ("removal/curves.py", ["fig7_head_removal", "fig6_mlp_removal"]),
    ],
)
def test_library_edit_reruns_exactly_its_dependants(editable, graph, module, rules):
    """Stale numbers would stay, or hours would be spent on what the edit does not touch."""
    append(editable / "workflow" / "lib" / "wtrak" / module, "\nEDITED = True\n")
    again, output = planned(editable)
    # The page imports what it says of claims.
    assert again == after(graph, *rules)
    if rules:
        assert "Params have changed since last execution" in output
        assert f"wtrak/{module}:" in output


def test_script_edit_reruns_its_rule_and_what_follows(editable):
    """An edited script would not be run."""
    script = editable / "workflow" / "scripts" / "geometry" / "fig2_spectrum.py"
    append(script, "\nEDITED = True\n")
    assert planned(editable)[0] == {"fig2_spectrum", "provenance"}


def test_comments_docstrings_and_formatting_rerun_nothing(editable):
    """Prose could not be mended without hours of work on the same numbers."""
    folders = [editable / "workflow" / name for name in ("scripts", "lib")]
    for path in (path for folder in folders for path in folder.rglob("*.py")):
        text = re.sub(r'^( *""")(?=\w)', r"\1Reworded: ", path.read_text("utf-8"), flags=re.M)
        text = re.sub(r"^( *\w+) = ", r"\1  =  ", text, flags=re.M)
        path.write_text(f"{text}\n# edited\n", encoding="utf-8")
    assert planned(editable)[0] == set()


def test_config_edit_reruns_the_rules_that_read_the_key(editable, graph):
    """A changed setting would leave results of the old one."""
    path = editable / "profiles" / "quick" / "config.yaml"
    text = path.read_text("utf-8")
    assert "ridge: 1.0e-4" in text
    path.write_text(text.replace("ridge: 1.0e-4", "ridge: 1.0e-3"), encoding="utf-8")
    readers = [name for name, block in BLOCKS.items() if 'plan.setting(w, "ridge")' in block]
    assert "covariance" in readers and len(readers) > 5
    assert planned(editable)[0] == after(graph, *readers)


def test_other_content_of_a_dataset_reruns_all_that_follows_at_once(editable, graph):
    """The dataset alone would be read anew, and all else stay as it was on the old content."""
    path = editable / "config.yaml"
    known = yaml.safe_load(path.read_text("utf-8"))["datasets"]["digits"]["content_sha256"]
    path.write_text(path.read_text("utf-8").replace(known, "a" * 64), encoding="utf-8")
    assert planned(editable)[0] == after(graph, "dataset")


def test_values_that_change_places_rerun_what_reads_them(editable, graph):
    """Snakemake compares values without their names, so that two swapped ones look the same."""
    (editable / "swapped.yaml").write_text(
        "tightness: {n_points: 10, pairs_per_test: 100}\n", encoding="utf-8"
    )
    settings = yaml.safe_load((editable / "profiles/quick/config.yaml").read_text(encoding="utf-8"))
    assert settings["tightness"]["n_points"] == 100
    arguments = ("--configfile", "profiles/quick/config.yaml", "swapped.yaml")
    assert planned(editable, *arguments)[0] == after(graph, "lipschitz_tightness")


def test_other_sources_rerun_no_job_on_the_data(editable):
    """A corrected address of the same content would re-run hours of work on it."""
    (editable / "sources.yaml").write_text(
        "data: {sources: {digits: [{kind: file, path: digits.tar.gz, format: cifar10-binary}]}}\n",
        encoding="utf-8",
    )
    arguments = ("--configfile", "profiles/quick/config.yaml", "sources.yaml")
    # Which has them in its configuration.
    assert planned(editable, *arguments)[0] == {"provenance"}


def test_other_versions_of_packages_rerun_the_provenance_alone(editable, tmp_path, monkeypatch):
    """An update would re-run everything, or no page would say what was made before it."""
    record = tmp_path / "seaborn-0.0.1.dist-info" / "METADATA"
    record.parent.mkdir()
    record.write_text("Metadata-Version: 2.1\nName: seaborn\nVersion: 0.0.1\n", encoding="utf-8")
    # What comes first on Python's path is what counts as installed.
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert planned(editable)[0] == {"provenance"}


def test_mirrors_rerun_nothing(editable):
    """Saying where files lie would re-run hours of work on the same content."""
    assert planned(editable, "--config", "data={'mirrors': ['elsewhere']}")[0] == set()


@pytest.mark.parametrize("what", ["code", "library", "config"])
def test_touch_reruns_nothing(editable, what):
    """A checkout or a branch switch would re-run everything."""
    folder = {"code": "workflow/scripts", "library": "workflow/lib", "config": "."}[what]
    for path in (editable / folder).glob("**/*.*" if what != "config" else "*.*"):
        if path.is_file():
            os.utime(path)
    assert planned(editable)[0] == set()


def test_moved_folder_reruns_nothing(editable, tmp_path):
    """A renamed or cloned project would lose its finished results."""
    moved = tmp_path / "some other place"
    shutil.move(editable, moved)
    assert planned(moved)[0] == set()


def test_caption_edit_rewrites_the_page_and_no_number(editable):
    """Rewording a caption would recompute numbers, or not be seen."""
    append(editable / "workflow" / "report" / "fig2_spectrum.rst", "\nReworded.\n")
    rules = rules_of(snakemake(editable, *QUICK, "--dry-run").stdout)
    assert rules == {"page", "check_results"}


def test_edit_of_the_checks_runs_them_again(editable):
    """A new check would not look at finished results."""
    append(editable / "tests" / "results" / "test_outputs.py", "\n# edited\n")
    assert rules_of(snakemake(editable, *QUICK, "--dry-run").stdout) == {"check_results"}


def test_every_target_has_a_plan():
    """A target of docs/targets.md would not be known to the workflow."""
    for target in ("all", "figures", "tables", "results/figures/fig2_spectrum.svg"):
        done = snakemake(REPOSITORY, "--dry-run", "--forceall", target, "--cores", "1")
        assert "This was a dry-run" in done.stdout


def test_strict_dag_has_no_cycle_or_ambiguity():
    """Two rules would claim one file."""
    checks = ("cyclic-graph", "functions", "periodic-wildcards")
    snakemake(REPOSITORY, "--dry-run", "--cores", "1", "--strict-dag-evaluation", *checks)
