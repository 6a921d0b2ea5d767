"""Results of one's own data: one folder for each, and closing lines that say what was found."""

import json
import os
import sys
import unicodedata
from pathlib import Path

import pytest
import yaml

import start
from conftest import REPOSITORY

SUMMARY = {
    "examples": 12345,
    "classes": 10,
    "flagged": 170,
    "cleanlab": 160,
    "errors": {"value": 173.4, "low": 150.2, "high": 190.9},
    "precision": {},
    "copies": {"examples": 12, "exact": 4, "groups": 6, "groups_under_two_labels": 2},
    "skipped": {"files": 3, "by_reason": {"cannot be read": 2, "hidden": 1}},
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty project in which commands are started."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def data(folder):
    folder.mkdir(parents=True)
    return {"DATA": str(folder)}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("pets", "pets"),
        ("my images, für später ☂", "my-images-für-später"),
        (unicodedata.normalize("NFD", "für"), "für"),
        ("../../etc", "etc"),
        (".hidden", "hidden"),
        ("--config", "config"),
        ("a/b\\c:d\n", "a-b-c-d"),
        ("{experiment} $(x) '\"", "experiment-x"),
        ("x.npz", "x.npz"),
        (os.fsdecode(b"caf\xe9"), "caf"),
        ("..", "data"),
        ("☂", "data"),
        ("x" * 300, "x" * 80),
    ],
)
def test_names_of_folders_are_safe(text, name):
    """Results would lie outside runs/, or Snakemake read the name as a pattern or an option."""
    assert start.safe_name(text) == name
    assert start.safe_name(name) == name


def test_each_dataset_has_its_folder(here):
    """A second dataset would replace the results of the first."""
    first, second = data(here / "one" / "pets"), data(here / "cars")
    assert start.run_folder(first) == Path("runs/pets")
    start.keep_record(first)
    assert start.run_folder(first) == Path("runs/pets")
    assert start.run_folder(second) == Path("runs/cars")
    assert start.run_folder(second | {"NAME": "my cars"}) == Path("runs/my-cars")
    assert "--directory=runs/cars" in start.command(["suspects"], second)


def test_two_folders_with_one_name_are_told_apart(here):
    """The second would be taken for a new state of the first, whose results would be gone."""
    first, second = data(here / "one" / "pets"), data(here / "two" / "pets")
    start.keep_record(first)
    with pytest.raises(ValueError, match=r"runs/pets holds the results of .*/one/pets\. .*NAME="):
        start.command(["suspects"], second)
    with pytest.raises(ValueError, match="runs/pets holds"):
        start.command(["suspects"], data(here / "cars") | {"NAME": "pets"})
    assert start.run_folder(second | {"NAME": "pets-2"}) == Path("runs/pets-2")


def test_folders_of_other_runs_are_not_taken(here):
    """The quick run's results would be mixed with one's own."""
    with pytest.raises(ValueError, match="runs/quick is kept for another kind of run"):
        start.command(["suspects"], data(here / "quick"))
    (here / "runs" / "thesis").mkdir(parents=True)
    with pytest.raises(ValueError, match="runs/thesis exists, but was not made by make suspects"):
        start.command(["suspects"], data(here / "thesis"))


def test_every_folder_of_a_profile_is_reserved():
    """A new profile would share its folder with a dataset of that name."""
    profiles = [
        yaml.safe_load(path.read_text("utf-8"))
        for path in REPOSITORY.glob("profiles/*/profile.yaml")
    ]
    folders = {Path(profile["directory"]) for profile in profiles if "directory" in profile}
    assert {path.name for path in folders if path.parent == start.RUNS} == set(start.RESERVED)


def test_data_that_are_not_there_leave_no_record(here):
    """A typo would take the name away from the data that were meant."""
    start.keep_record({"DATA": str(here / "typo" / "pets")})
    assert start.run_folder(data(here / "real" / "pets")) == Path("runs/pets")


def test_corrections_reach_the_configuration(here):
    """They would be left out without a word."""
    environment = data(here / "pets") | {"CORRECTIONS": "my 'file' $x.csv"}
    (item,) = start.settings(environment, True)
    dataset = yaml.safe_load(item.partition("=")[2])["own"]["dataset"]
    assert dataset == {"path": str(here / "pets"), "corrections": str(here / "my 'file' $x.csv")}


def program(folder, text):
    """A program that stands for Snakemake."""
    path = folder / "snakemake"
    path.write_text(f"#!{sys.executable}\nimport json, pathlib, sys\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


WRITES = f"""
folder = pathlib.Path('runs/pets')
path = folder / 'results' / 'suspects' / 'own' / 'summary.json'
path.parent.mkdir(parents=True)
path.write_text(json.dumps({SUMMARY!r}))
path.with_name('suspects.csv').touch()
"""


def test_closing_lines_say_what_was_found(here, capsys):
    """A user would have to open files to learn whether there is anything to look at."""
    words = [program(here, WRITES), "suspects"]
    assert start.main(words, data(here / "pets")) == 0
    said = capsys.readouterr().out
    assert "12,345 images in 10 classes; 3 files skipped (2 cannot be read, 1 hidden)" in said
    assert "about 173 wrong labels (150 to 191 by chance alone); 170 are flagged" in said
    assert "12 copies in 6 groups, of which 2 under two labels" in said
    assert "runs/pets/results/suspects/own/suspects.csv" in said
    assert "skipped.csv" not in said, "a file that is not there"


def test_closing_lines_of_features_speak_of_examples(here, capsys):
    """Rows of a table would be called images."""
    path = here / "runs" / "pets" / "results" / "suspects" / "own" / "summary.json"
    path.parent.mkdir(parents=True)
    found = {name: value for name, value in SUMMARY.items() if name != "skipped"}
    found["copies"] = {"examples": 0, "exact": 0, "groups": 0, "groups_under_two_labels": 0}
    path.write_text(json.dumps(found), "utf-8")
    said = "\n".join(start.closing_lines(here / "runs" / "pets"))
    assert "12,345 examples in 10 classes\n" in said and "images" not in said
    assert "no copies\n" in said


@pytest.mark.parametrize("arguments", ["-n", "-np", "--dry-run", "--directory=/x", "-d /x"])
def test_a_dry_run_closes_with_nothing(here, capsys, arguments):
    """The results of an earlier run would be shown as those of this one."""
    environment = data(here / "pets") | {"ARGS": arguments}
    assert start.main([program(here, WRITES), "suspects"], environment) == 0
    assert "classes" not in capsys.readouterr().out


def test_a_failed_run_keeps_its_status_and_says_nothing_more(here, capsys):
    """Old numbers would look like new ones, or make go on after an error."""
    assert (
        start.main([program(here, f"{WRITES}\nsys.exit(3)"), "suspects"], data(here / "pets")) == 3
    )
    assert "classes" not in capsys.readouterr().out


def test_a_run_that_is_killed_fails(here):
    """make would report success."""
    kills = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    assert start.main([program(here, kills), "suspects"], data(here / "pets")) == 137


def test_corrected_labels_are_counted(here):
    """A user could not tell whether corrections had arrived."""
    path = here / "results" / "suspects" / "own" / "summary.json"
    path.parent.mkdir(parents=True)
    corrected = {"keep": 5, "relabel": 3, "remove": 1}
    path.write_text(json.dumps(SUMMARY | {"corrected": corrected}), encoding="utf-8")
    assert "corrections: 5 confirmed, 3 relabelled, 1 removed" in start.closing_lines(here)
