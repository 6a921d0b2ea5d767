"""Templates filled in: text stays text, and a name that is missing is an error."""

import pytest
from jinja2 import UndefinedError
from markupsafe import Markup

from wtrak.reporting.html import render


@pytest.fixture
def template(tmp_path):
    path = tmp_path / "page.html"
    lines = ["<p>{{ text }}</p>", "  {% if more %}", "<b>{{ more }}</b>", "  {% endif %}", "<hr>"]
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return path


def test_text_is_escaped_and_markup_is_not(template):
    """A user's name of a class would break the page, or a figure show as its source."""
    found = render(template, text="a <b> & ε", more=Markup("<i>x</i>"))
    assert found == "<p>a &lt;b&gt; &amp; ε</p>\n<b><i>x</i></b>\n<hr>\n"


def test_lines_of_conditions_leave_no_trace(template):
    """The same page would have other bytes for a part that is not shown."""
    assert render(template, text="x", more="") == "<p>x</p>\n<hr>\n"


def test_a_value_that_is_missing_is_an_error(template):
    """A page would be published with a gap where a number should stand."""
    with pytest.raises(UndefinedError, match="'text' is undefined"):
        render(template, more="")
