"""The page about the Python classes: its example runs, and shows what comes out."""

import doctest
import inspect
import re

import pytest

import wtrak
from conftest import REPOSITORY

PAGE = (REPOSITORY / "docs" / "python.md").read_text("utf-8")
CODE = re.findall(r"^```python\n(.*?)^```", PAGE, flags=re.S | re.M)


def test_the_example_gives_what_is_shown(tmp_path, monkeypatch):
    """A reader who copies it would get an error, or other numbers."""
    # It writes a file.
    monkeypatch.chdir(tmp_path)
    examples = doctest.DocTestParser().get_doctest("\n".join(CODE), {}, "python.md", None, 0)
    assert len(CODE) > 4
    assert len(examples.examples) > 12
    report = []
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(examples, out=report.append)
    assert not runner.summarize(verbose=False).failed, "".join(report)


@pytest.mark.parametrize("name", ["Attributor", "LinearHead", "read_dataset"])
def test_signatures_and_methods_are_the_present_ones(name):
    """A reader would call a method with arguments that it does not have."""
    public = getattr(wtrak, name)
    shown = inspect.signature(public)
    assert (
        f"`{name}{shown}`".replace("'", '"')
        .replace("0.001", "1e-3")
        .replace("0.0001", "1e-4")
        .replace("1e-08", "1e-8")
        in PAGE
    )
    own = [key for key, value in vars(public).items() if callable(value) and key[0] != "_"]
    if name == "Attributor":
        assert set(re.findall(r"^\| `(\w+)\(", PAGE, flags=re.M)) == set(own)
        for key in own:
            parameters = list(inspect.signature(getattr(public, key)).parameters.values())[1:]
            text = ", ".join(map(str, parameters))
            assert f"| `{key}({text})` |" in PAGE
