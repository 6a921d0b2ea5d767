"""Every small change of what proves or counts fails a test, or is listed with a reason."""

import subprocess
import sys
from pathlib import Path

import pytest
from operators import mutants_of

HERE = Path(__file__).resolve().parent


def mutate(*arguments, timeout=3600, **options):
    return subprocess.run(
        [sys.executable, str(HERE / "mutate.py"), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout,
        **options,
        encoding="utf-8",
    )


@pytest.mark.mutation
def test_no_mutant_survives_that_is_not_listed(tmp_path):
    """A wrong proof, or a wrong count, would pass the tests."""
    done = mutate("--out", tmp_path / "mutants")
    assert done.returncode == 0, done.stdout[-8000:]


@pytest.mark.mutation
@pytest.mark.parametrize("listed", [False, True])
def test_a_planted_survivor_is_reported(tmp_path, monkeypatch, listed):
    """A run that reports nothing would pass for tests that miss nothing."""
    (tmp_path / "planted.py").write_text(
        "WIDTH = 2\n\n\ndef bound(x):\n    while x > 9:\n        x = x - 1\n"
        "    return abs(x) * WIDTH\n\n\nclass Box:\n    def __init__(self, side):\n"
        "        self.side = side + 3\n\n    @property\n    def area(self):\n"
        "        return self.side * self.side\n",
        encoding="utf-8",
    )
    (tmp_path / "test_planted.py").write_text(
        "from planted import Box, bound\n\n\ndef test_bound():\n    assert bound(3) == 6\n"
        "    assert bound(12) == 18\n\n\ndef test_box():\n    assert Box(2).area == 25\n",
        encoding="utf-8",
    )
    (tmp_path / "list.json").write_text(
        """{"planted": [{"function": "bound", "before": "abs(x)", "after": "x", "why": "tried"},
        {"function": "bound", "before": "x - 1", "after": "x + 1", "why": "never ends"}]}"""
        if listed
        else "{}",
        encoding="utf-8",
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    given = ["planted", "--out", tmp_path / "out", "--equivalent", tmp_path / "list.json"]
    done = mutate(*given, "--tests", tmp_path / "test_planted.py", cwd=tmp_path)
    assert done.returncode == 1, done.stdout
    reported = "survived: planted, bound [0]\n    abs(x)\n    x\n" in done.stdout
    assert reported != listed
    # Constants, methods and properties are changed too.
    survived = [line for line in done.stdout.splitlines() if line.startswith("survived")]
    assert set(survived) <= {"survived: planted, bound [0]"}
    # What never ends is ended, and is not equivalent.
    stale = "listed, and killed: planted, bound [0]\n    x - 1\n    x + 1\n"
    assert (stale in done.stdout) == listed
    assert "'out of time': 0" not in done.stdout


@pytest.mark.mutation
def test_tests_that_fail_without_a_mutation_are_an_error(tmp_path, monkeypatch):
    """Every mutant would seem to be killed."""
    (tmp_path / "planted.py").write_text("def bound(x):\n    return abs(x)\n", encoding="utf-8")
    (tmp_path / "test_planted.py").write_text(
        "from planted import bound\n\n\ndef test_bound():\n    assert bound(3) == 4\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    tests = tmp_path / "test_planted.py"
    done = mutate("planted", "--out", tmp_path / "out", "--tests", tests, cwd=tmp_path)
    assert done.returncode != 0 and "mutants" not in done.stdout


def changes(source):
    return {(m.function, m.before, m.after) for m in mutants_of(source)}


@pytest.mark.parametrize(
    ("line", "before", "after"),
    [
        ("a + b * c", "a + b * c", "a - b * c"),
        ("a + b * c", "a + b * c", "a"),
        ("a + b * c", "b * c", "b"),
        ("a - b", "a - b", "a"),
        ("a - b", "a - b", "b - a"),
        ("a / b", "a / b", "a * b"),
        ("-a", "-a", "a"),
        ("not a", "not a", "a"),
        ("a < b", "a < b", "a <= b"),
        ("a >= b", "a >= b", "a < b"),
        ("a and b", "a and b", "b"),
        ("max(a, b)", "max(a, b)", "min(a, b)"),
        ("np.sqrt(a)", "np.sqrt(a)", "a"),
        ("np.abs(a - b)", "np.abs(a - b)", "a - b"),
        ("np.maximum(a, 0.0)", "np.maximum(a, 0.0)", "a"),
        ("a.sum(axis=0)", "0", "1"),
        ("f(a, b)", "f(a, b)", "f(b, a)"),
        ("f(a, c=b)", "f(a, c=b)", "f(a)"),
        ("a[:b]", "a[:b]", "a[:b + 1]"),
        ("2.0 * a", "2.0", "1.0"),
        ("2 * a", "2", "1"),
        ("0.5 * a", "0.5", "1.0"),
        ("a if b else c", "a if b else c", "c"),
        ("lambda: a + b", "a + b", "a"),
    ],
)
def test_changes_that_matter_are_made(line, before, after):
    """A kind of mistake would never be tried."""
    assert ("f", before, after) in changes(f"def f(a, b, c):\n    return {line}\n")


def test_what_is_no_mathematics_is_left_alone():
    """Messages, names and progress would fill the list of what is equivalent."""
    source = '''
"""A docstring."""
import numpy as np
NAMES = ("a", "b")


def f(a: int = 2) -> int:
    """Another."""
    say(f"{a + 1} done")
    advance(a + 3)
    b = load_arrays(["y", *("x", "z")])
    if a > 4:
        raise ValueError(a + 5)
    return a


if __name__ == "__main__":
    f(6)
'''
    found = {(before, after) for _, before, after in changes(source)}
    assert found == {
        ("2", "3"),
        ("2", "1"),
        ("4", "5"),
        ("4", "3"),
        ("a > 4", "a >= 4"),
        ("a > 4", "a <= 4"),
        ("if a > 4", "if True"),
        ("if a > 4", "if False"),
    }


def test_a_change_is_known_by_what_it_is_and_not_by_its_line():
    """An entry of the list would point elsewhere after any edit above it."""
    source = "class A:\n    def f(self, a):\n        return a + 1, a + 1\n"
    keys = [mutant.key for mutant in mutants_of(source)]
    assert len(set(keys)) == len(keys)
    assert {place for *_, place in keys} == {0, 1}
    assert keys == [mutant.key for mutant in mutants_of("import x\n\n\n" + source)]
    assert all(function == "A.f" for function, *_ in keys)


def test_a_mutant_is_compiled_as_it_says():
    """Another change, or one on top of the last, would be judged in its name."""
    source = "def f(a, b):\n    return 2 * a + b\n"
    values = {}
    for mutant in [*mutants_of(source), *mutants_of(source)]:
        scope = {}
        exec(mutant.compiled("f.py"), scope)
        values.setdefault((mutant.before, mutant.after), set()).add(scope["f"](5, 7))
    assert values["2 * a + b", "2 * a - b"] == {3}
    assert values["2 * a + b", "b"] == {7}
    assert values["2 * a", "a"] == {12}
    assert values["2", "1"] == {12}
    assert all(len(found) == 1 for found in values.values())
