"""The exceptions that a user is meant to read."""


class WtrakError(Exception):
    """Something is wrong with the inputs; the message says what, where, and what to do."""


class SourceError(WtrakError):
    """One source did not yield usable bytes; the next one may."""
