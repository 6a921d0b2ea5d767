"""What a user says to make reaches Snakemake as it is: neither make nor a shell expands it."""

import json
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image
from snakemake.cli import parse_config

from conftest import REPOSITORY, snakemake
from start import command

# Prints the arguments that it was started with.
STUB = """#!{python}
import json, sys
print("ARGUMENTS", json.dumps(sys.argv[1:]))
"""
# Every printable character, in two orders, and text that a shell, make, YAML or Snakemake reads
# as more than a name.
PRINTABLE = "".join(map(chr, range(33, 127)))
NAMES = {
    "printable": PRINTABLE.replace("/", ""),
    "backwards": PRINTABLE.replace("/", "")[::-1],
    "make function": "a$(shell touch touched)b",
    "make function in braces": "${shell touch touched}",
    "make variables": "a$b $$ $$$ $(DATA) $(value DATA)",
    "make assignment": "x := $(shell touch touched)",
    "make pattern": "%.c: *?[a-z]",
    "shell command": "$(touch touched)",
    "backticks": "`touch touched`",
    "semicolon": "; touch touched; #",
    "apostrophe": "it's '; touch touched; '",
    "quotes": '"; touch touched; "',
    "pipe": "a | touch touched && touch touched &",
    "variable": "$HOME ${HOME} ~",
    "comment": "#1 # not a comment",
    "backslashes": "\\ \\\\ \\n \\$ \\' end\\",
    "leading dash": "--config",
    "wildcards": "{experiment} {{x}} {",
    "yaml": ", ]} : - ? ! & * @ | > %",
    "text for yaml": "\"'\\u0041 \\x41",
    "number": "12",
    "truth": "true",
    "nothing": "null",
    "spaces": "a  b   c ",
    "newline": "a\nb\n",
    "tab": "a\tb",
    "carriage return": "a\rb",
    "control characters": "a\x01\x1b\x7f\x85\u2028b",
    "umlaut": "für später",
    "beyond 16 bits": "𝔾 🐈",
    "no UTF-8": os.fsdecode(b"caf\xe9 \xff\xfe"),
}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """The Makefile and what it starts, with a Snakemake that only prints its arguments."""
    folder = tmp_path_factory.mktemp("my project")
    for name in ("Makefile", "workflow/start.py", "envs/requirements.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / name, folder / name)
    programs = folder / ".venv" / "bin"
    programs.mkdir(parents=True)
    (programs / "python").symlink_to(sys.executable)
    (programs / "snakemake").write_text(STUB.format(python=sys.executable), encoding="utf-8")
    (programs / "snakemake").chmod(0o755)
    (folder / ".venv" / ".requirements-installed").touch()
    return folder


def make(project, target, variables, *, through="command line"):
    """Run make; variables are said on its command line or in the environment."""
    outside = {key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ}
    words = [f"{name}={value}" for name, value in variables.items()]
    if through == "environment":
        outside, words = outside | variables, []
    done = subprocess.run(
        ["make", target, *words], cwd=project, env=outside, capture_output=True, check=False
    )
    touched = (project / "touched").exists()
    (project / "touched").unlink(missing_ok=True)
    assert not touched, "a command was run"
    return done


def arguments(done):
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.startswith(b"ARGUMENTS ")]
    return json.loads(line.removeprefix(b"ARGUMENTS "))


def configured(words):
    """What Snakemake makes of the settings in its arguments: of the last --config, to the end."""
    last = len(words) - words[::-1].index("--config")
    end = next((k for k in range(last, len(words)) if words[k].startswith("--")), len(words))
    return parse_config(words[last:end])


@pytest.mark.parametrize("through", ["command line", "environment"])
@pytest.mark.parametrize("name", NAMES)
def test_folder_of_any_name_reaches_snakemake_as_it_is(project, name, through):
    """A part of the name would be run as a command, or another folder be looked through."""
    text = NAMES[name]
    variables = {"DATA": f"/data/{text}", "MIRROR": text}
    found = arguments(make(project, "suspects", variables, through=through))
    config = configured(found)
    assert config["experiments"] == {"own": {"dataset": {"path": f"/data/{text}"}}}
    assert config["data"] == {"mirrors": [str(project / text)]}
    assert found[:3] == ["suspects", "--profile", "profiles/suspects"]


@pytest.mark.parametrize("name", NAMES)
def test_corrections_of_any_name_reach_snakemake_as_they_are(project, name):
    """Another file would be applied, or a command be run; and results lie outside runs/."""
    text = NAMES[name]
    variables = {"DATA": "/data/x", "CORRECTIONS": f"/data/{text}", "NAME": text}
    found = arguments(make(project, "suspects", variables))
    dataset = configured(found)["experiments"]["own"]["dataset"]
    assert dataset == {"path": "/data/x", "corrections": f"/data/{text}"}
    (folder,) = [word for word in found if word.startswith("--directory=")]
    assert re.fullmatch(r"--directory=runs/[\w.][\w.-]*", folder)


def test_name_of_the_machine_is_no_name_of_results(project):
    """Windows' Linux sets NAME: all datasets would share one folder."""
    variables = {"DATA": "/data/x", "NAME": "my-machine"}
    assert "--directory=runs/x" in arguments(
        make(project, "suspects", variables, through="environment")
    )
    assert "--directory=runs/my-machine" in arguments(make(project, "suspects", variables))


@pytest.mark.parametrize("target", ["reproduce", "publish"])
def test_mirror_with_an_apostrophe(project, target):
    """It would end the shell's quotes, and what follows be a command."""
    found = arguments(make(project, target, {"MIRROR": "/it's; touch touched #"}))
    assert configured(found) == {"data": {"mirrors": ["/it's; touch touched #"]}}


@pytest.mark.parametrize("name", NAMES)
def test_number_of_cores_is_one_word(project, name):
    """Options could be slipped in, or a command."""
    words = arguments(make(project, "reproduce", {"CORES": f"2{NAMES[name]}"}))
    assert words == ["all", f"--cores=2{NAMES[name]}"]


def test_leading_spaces_are_kept_through_the_environment(project):
    """The documented way would not work: make drops them on its command line."""
    found = arguments(make(project, "suspects", {"DATA": "  x"}, through="environment"))
    path = configured(found)["experiments"]["own"]["dataset"]["path"]
    assert path == str(project / "  x")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("--forceall -n", ["--forceall", "-n"]),
        ("--until 'a b' \"c d\" e\\ f", ["--until", "a b", "c d", "e f"]),
        ("", []),
        # Nothing is expanded.
        ("$HOME ~ *.md $(touch touched) `touch", ["$HOME", "~", "*.md", "$(touch", "touched)"]),
        ("; touch touched # $(shell touch touched)", [";", "touch", "touched", "#", "$(shell"]),
    ],
)
@pytest.mark.parametrize("through", ["command line", "environment"])
def test_further_arguments_are_split_and_nothing_more(project, text, words, through):
    """Options with quotes would fall apart, or a command be run."""
    found = arguments(make(project, "reproduce", {"ARGS": text}, through=through))
    assert found[: 2 + len(words)] == ["all", "--cores=all", *words]


@pytest.mark.parametrize("option", ["--config ", "-C ", "--config=", "-C"])
def test_settings_are_added_to_those_of_the_further_arguments(project, option):
    """Snakemake takes the last of two --config: the folder or the user's setting would be lost."""
    variables = {
        "DATA": "/images",
        "MIRROR": "/mirror",
        "ARGS": f"-n {option}data='{{directory: /x}}' --forceall",
    }
    found = arguments(make(project, "suspects", variables))
    assert "-n" in found and found[-1] == "--forceall"
    found[found.index("-C" if "-C" in found else "--config")] = "--config"
    assert configured(found) == {
        "data": {"directory": "/x", "mirrors": ["/mirror"]},
        "experiments": {"own": {"dataset": {"path": "/images"}}},
    }


@pytest.mark.parametrize(
    ("target", "variables", "message"),
    [
        ("suspects", {}, b"Say where the data are: make suspects DATA="),
        ("suspects", {"DATA": ""}, b"Say where the data are: make suspects DATA="),
        ("reproduce", {"ARGS": "'open"}, b"ARGS cannot be split into words: No closing quotation"),
    ],
)
def test_what_cannot_be_understood_ends_in_a_sentence(project, target, variables, message):
    """A user would read a traceback, or another folder be looked through."""
    done = make(project, target, variables)
    assert done.returncode != 0
    assert message in done.stderr and b"Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["X", "BIN", "SNAKEMAKE", "START", "QUICK", "READY", "HOME"])
def test_no_other_variable_is_expanded_or_run(project, name):
    """make expands what its command line says when it hands it to the environment."""
    for text in ("$(shell touch touched)", "`touch touched`", "; touch touched;"):
        done = make(project, "reproduce", {name: text})
        if name != "HOME":
            assert arguments(done) == ["all", "--cores=all"]


def test_python_is_one_program(project, tmp_path):
    """A path with a space or a quote would be cut, or a command be run."""
    program = tmp_path / "my $(touch touched) python's; touch touched" / "python 3"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "ran $@"; exit 1\n', encoding="utf-8")
    program.chmod(0o755)
    installed = project / ".venv" / ".requirements-installed"
    installed.unlink()
    try:
        done = make(project, "reproduce", {"PYTHON": str(program)})
    finally:
        installed.touch()
    assert b"ran -c import sys" in done.stdout
    assert b"Python 3.11 or newer is needed" in done.stdout


def test_no_recipe_holds_a_variable_of_the_user(project):
    """The tests above know those that there are; another would be expanded by the shell."""
    text = (project / "Makefile").read_text("utf-8")
    said = {line.split()[0] for line in text.splitlines() if " ?= " in f"{line} "}
    assert said >= {"PYTHON", "CORES", "ARGS", "MIRROR", "DATA", "NAME", "CORRECTIONS"}
    for name in said:
        assert f"$({name})" not in text and f"${{{name}}}" not in text, name


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["printable", "wildcards", "newline", "beyond 16 bits", "no UTF-8"]
)
def test_images_in_a_folder_of_any_name_are_read(tmp_path, name):
    """The name would reach Snakemake and not its job."""
    folder = tmp_path / NAMES[name]
    for label in ("cat", "dog"):
        (folder / label).mkdir(parents=True)
        for count in range(2):
            pixels = np.full((8, 8, 3), 100 * count, np.uint8)
            Image.fromarray(pixels).save(folder / label / f"{count}.png")
    words = command(["suspects"], {"DATA": str(folder), "CORES": "1"})
    words = [word for word in words if not word.startswith("--directory=")]
    target = "results/datasets/own.safetensors"
    snakemake(
        REPOSITORY,
        *(target, "--profile", "profiles/suspects", "--workflow-profile", "none"),
        *("--directory", str(tmp_path / "run"), *words[1:]),
    )
    record = json.loads((tmp_path / "run/results/datasets/own.json").read_text("utf-8"))
    assert record["images_per_class"] == {"cat": 2, "dog": 2}
