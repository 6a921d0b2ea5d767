"""Exceptions whose messages are written for users."""

import contextlib


class WtrakError(Exception):
    """An input is wrong. The message says what is wrong, where, and what to do."""


class SourceError(WtrakError):
    """One source did not yield usable bytes; the next one may."""


class InputError(WtrakError, ValueError):
    """An argument of the public classes is wrong: also a ValueError, as scikit-learn expects."""


@contextlib.contextmanager
def as_input_errors(**names):
    """Raise what the library finds wrong as `InputError`, with its settings called by `names`."""
    try:
        yield
    except WtrakError as error:
        message = str(error)
        for setting, argument in names.items():
            message = message.replace(setting, argument)
        raise InputError(message) from error
