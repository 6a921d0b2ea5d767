"""What counts as an edit of a file, and which files a script stands on."""

import pytest

from wtrak_plan import tracking

SOURCE = '''"""A module."""

import math


class Box:
    """A box."""

    side = 2.0


def area(box, *, scale=1):
    """Area of a box."""
    # In squares.
    return scale * math.pow(box.side, 2)


async def wait():
    """Nothing but a docstring."""
'''


@pytest.fixture
def meaning(tmp_path):
    """The meaning of a text, as a file of its own."""

    def of(text, suffix=".py"):
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}{suffix}"
        path.write_text(text, encoding="utf-8")
        return tracking.meaning(path)

    return of


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"""A module."""', '"""Another."""'),
        ('"""A module."""\n', ""),
        ('    """A box."""\n\n', ""),
        ('    """Area of a box."""\n', ""),
        ("Nothing but a docstring.", "Still nothing."),
        ("    # In squares.\n", ""),
        ("scale * math.pow(box.side, 2)", "(\n        scale * math.pow(box.side, 2)\n    )"),
        ("side = 2.0", "side = 2.00"),
    ],
)
def test_prose_and_form_have_no_meaning(meaning, before, after):
    """A reworded comment would re-run hours of work."""
    assert before in SOURCE
    assert meaning(SOURCE.replace(before, after)) == meaning(SOURCE)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("side = 2.0", "side = 2"),
        ("side = 2.0", "side = 2.5"),
        ("scale=1", "scale=2"),
        ("*, scale", "scale"),
        ("math.pow", "math.hypot"),
        ("import math", "import cmath as math"),
        ("scale * ", ""),
        ("async def wait", "def wait"),
        ('    """Nothing but a docstring."""', "    return 1"),
        ("    side = 2.0", '    side = "2.0"'),
        ("class Box:", "@str\nclass Box:"),
        ("def area(box", "def area(box: float"),
    ],
)
def test_whatever_else_is_edited_counts(meaning, before, after):
    """Results of the old code would pass as those of the new."""
    assert before in SOURCE
    assert meaning(SOURCE.replace(before, after, 1)) != meaning(SOURCE)


def test_a_string_that_is_no_docstring_counts(meaning):
    """A title or a key would change without a new run."""
    assert meaning('A = 1\n"""text"""\n') != meaning("A = 1\n")
    assert meaning("def f():\n    return 'a'\n") != meaning("def f():\n    return 'b'\n")


def test_templates_count_by_their_bytes(meaning):
    """A page would keep its old form."""
    assert meaning("<p>a</p>", ".html") != meaning("<p>b</p>", ".html")


def test_a_script_stands_on_all_it_imports():
    """An edit of a module two imports away, or of a template, would go unnoticed."""
    files = {entry.rpartition(":")[0] for entry in tracking.code("reporting/page.py")}
    assert {
        "scripts/reporting/page.py",
        "scripts/reporting/page.html",
        "lib/wtrak/__init__.py",
        "lib/wtrak/reporting/__init__.py",
        "lib/wtrak/reporting/tables.py",
        "lib/wtrak/reporting/tables.html",
        "lib/wtrak/errors.py",
    } <= files
    assert not any("geometry" in file for file in files)


def test_relative_imports_are_refused(tmp_path):
    """They would not be followed."""
    path = tmp_path / "script.py"
    path.write_text("from .head import logits\n", encoding="utf-8")
    with pytest.raises(tracking.WorkflowError, match="relative imports"):
        tracking.imported(path)
