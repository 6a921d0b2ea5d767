"""Text files are UTF-8, whatever the locale of the machine is."""

import ast
import os
import subprocess
import sys

import pytest

from conftest import QUICK, REPOSITORY

FOLDERS = ("workflow", "tests", "profiles")
# Of these an open file is no text, or has its own way to name the encoding.
NO_TEXT = {"Image", "tarfile", "zipfile", "gzip", "archive", "os"}


def keywords(call):
    return {keyword.arg: keyword.value for keyword in call.keywords}


def is_unsaid(call):
    """Whether a call reads or writes text and leaves its encoding to the locale."""
    named, function = keywords(call), call.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if "encoding" in named or None in named:
        return False
    if name == "read_text":
        return not call.args
    if name == "write_text":
        return len(call.args) == 1
    if name in ("run", "Popen", "check_output", "check_call"):
        return "text" in named or "universal_newlines" in named
    if name in ("open", "fdopen", "NamedTemporaryFile", "TemporaryFile"):
        owner = getattr(getattr(function, "value", None), "id", "")
        if owner in NO_TEXT and name == "open":
            return False
        # Of a path the mode comes first, of the function second.
        place = 0 if isinstance(function, ast.Attribute) and owner != "io" else 1
        place = 1 if name == "fdopen" else 0 if "Temporary" in name else place
        given = call.args[place] if len(call.args) > place else named.get("mode")
        binary = "w+b" if "Temporary" in name else "r"
        mode = given.value if isinstance(given, ast.Constant) else binary if given is None else ""
        return isinstance(mode, str) and mode != "" and "b" not in mode
    return False


def python_files():
    found = [path for folder in FOLDERS for path in sorted((REPOSITORY / folder).rglob("*.py"))]
    return [*found, REPOSITORY / "workflow" / "rules" / "common.smk"]


def unsaid(text):
    calls = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
    return [ast.unparse(call) for call in calls if is_unsaid(call)]


@pytest.mark.parametrize("path", python_files(), ids=lambda path: path.name)
def test_every_text_file_is_opened_as_utf_8(path):
    """A run under another locale would end in a UnicodeError, or write other bytes."""
    assert unsaid(path.read_text("utf-8")) == []


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ("path.read_text()", True),
        ("path.read_text('utf-8')", False),
        ("path.read_text(encoding='utf-8')", False),
        ("path.write_text('x')", True),
        ("path.write_text('x', encoding='utf-8')", False),
        ("path.open()", True),
        ("path.open('w', newline='')", True),
        ("path.open('wb')", False),
        ("open(path)", True),
        ("open(path, 'a')", True),
        ("open(path, mode='rb')", False),
        ("os.fdopen(k, 'w')", True),
        ("tempfile.NamedTemporaryFile()", False),
        ("tempfile.NamedTemporaryFile('w')", True),
        ("subprocess.run(x, text=True)", True),
        ("subprocess.run(x, capture_output=True)", False),
        ("Image.open(path)", False),
    ],
)
def test_calls_are_told_apart(call, found):
    """The test before this one would see none."""
    assert bool(unsaid(call)) == found


def run_in_c(*arguments):
    """Snakemake where Python takes text for ASCII."""
    ascii_only = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    return subprocess.run(
        [sys.executable, "-m", "snakemake", *arguments],
        cwd=REPOSITORY,
        env=os.environ | ascii_only,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
    )


def test_whole_run_is_planned_under_another_locale(tmp_path):
    """The schema, the rules, captions and claims hold more than ASCII."""
    done = run_in_c("--dry-run", *QUICK, "--directory", str(tmp_path))
    assert done.returncode == 0, done.stdout[-2000:]
    assert "\ntotal " in done.stdout


@pytest.mark.slow
def test_what_a_job_writes_is_utf_8_under_another_locale(tmp_path):
    """A job would end in a UnicodeError where it writes a name, or its log."""
    from PIL import Image

    for name in ("früh", "spät 🐈"):
        (tmp_path / "images" / name).mkdir(parents=True)
        for count in range(2):
            Image.new("RGB", (8, 8)).save(tmp_path / "images" / name / f"{count} ☂.png")
    (tmp_path / "images" / "früh" / "kein Bild ☂.txt").write_text("ü", encoding="utf-8")
    path = f'"{tmp_path}/images"'
    done = run_in_c(
        *("results/datasets/own.json", "--profile", "profiles/suspects"),
        *("--workflow-profile", "none", "--directory", str(tmp_path / "run")),
        *("--config", f"experiments={{own: {{dataset: {{path: {path}}}}}}}"),
    )
    assert done.returncode == 0, done.stdout[-2000:]
    results = tmp_path / "run" / "results"
    assert "spät 🐈" in (results / "datasets" / "own.json").read_text("utf-8")
    assert "kein Bild ☂.txt" in (results / "datasets" / "own.skipped.csv").read_text("utf-8")
    assert "kein Bild ☂.txt" in (results / "logs/image_folder/own.log").read_text("utf-8")
