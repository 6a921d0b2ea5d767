"""Pages as HTML, from templates that lie beside the code that fills them in."""

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
    """A template filled in; what is no `markupsafe.Markup` is text and is escaped.

    Parameters
    ----------
    path : path
        Edits of it are tracked where it bears the name of the module or script that renders it,
        with the suffix ``.html``.
    values
        What the template names.

    Raises
    ------
    jinja2.UndefinedError
        If the template names anything else.
    """
    return _template(str(path)).render(values) + "\n"
