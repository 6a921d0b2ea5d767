"""Versions of packages: noted by each job, and named where they are not what is installed."""

import re
from types import SimpleNamespace

import pytest

import page
from wtrak.job.runtime import run
from wtrak.job.versions import installed_versions, other_versions, versions_line, versions_of


def log_with(path, line):
    path.write_text(f"12:00:00 something\n{line}\n", "utf-8")
    return path


def test_a_job_notes_what_it_ran_with(tmp_path):
    """Nobody could tell which numpy a number was made with."""
    log = tmp_path / "job.log"
    run(lambda smk: None, SimpleNamespace(log=[log], rule="nothing"))
    noted = versions_of(log)
    assert noted.items() <= installed_versions().items()
    assert {"python", "numpy"} <= noted.keys()


def test_a_job_that_fails_notes_nothing(tmp_path):
    """A log of a failed job would pass for that of a finished one."""
    log = tmp_path / "job.log"

    def fails(smk):
        raise ValueError("wrong")

    with pytest.raises(SystemExit):
        run(fails, SimpleNamespace(log=[log], rule="nothing"))
    assert not versions_of(log)


def test_jobs_of_other_versions_are_named(tmp_path):
    """Results of two versions of a package would stand side by side without a word."""
    logs = {
        "head/a": log_with(tmp_path / "a.log", versions_line()),
        "head/b": log_with(tmp_path / "b.log", 'versions {"numpy": "1.0", "python": "3.11.0"}'),
        "head/c": log_with(tmp_path / "c.log", "no versions"),
    }
    installed = installed_versions() | {"python": "3.11.0"}
    found = other_versions({name: logs[name] for name in ("head/b", "head/c")}, installed)
    assert found == {"numpy 1.0": ["head/b"], "unknown": ["head/c"]}
    assert not other_versions({"head/a": logs["head/a"]}, installed_versions())


def test_page_says_when_versions_differ():
    """An update would re-run nothing, and no page would say so."""
    record = {"versions": {"numpy": "2.0"}, "jobs": dict.fromkeys(["head/a", "head/b"])}
    same = page.versions_in_words(record | {"made_with_other_versions": {}})
    assert same == "Every job ran with numpy 2.0."
    other = page.versions_in_words(record | {"made_with_other_versions": {"numpy 1.0": ["head/b"]}})
    assert re.search(r"Installed now: numpy 2.0. 1 of 2 jobs .*\(numpy 1.0\): head/b\.", other)
