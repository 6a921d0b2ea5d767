"""Render HTML pages from templates, which lie beside the code that uses them."""

from functools import cache
from pathlib import Path

from jinja2 import Environment, StrictUndefined


@cache
def _template(path):
    environment = Environment(
        undefined=StrictUndefined, autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(Path(path).read_text("utf-8"))


def render(path, **values):
    """A rendered template. Values are escaped unless they are `markupsafe.Markup`.

    Parameters
    ----------
    path : path
        The template. It needs the name of the module or script that renders it, with the suffix
        ``.html``; otherwise edits of it re-run nothing.
    values
        Values of the names in the template.

    Raises
    ------
    jinja2.UndefinedError
        If the template uses a name without a value.
    """
    return _template(str(path)).render(values) + "\n"
