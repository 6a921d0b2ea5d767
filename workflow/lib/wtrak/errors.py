"""Exceptions whose messages are written for users."""


class WtrakError(Exception):
    """An input is wrong. The message says what is wrong, where, and what to do."""


class SourceError(WtrakError):
    """A source of data failed. Another source may work."""
