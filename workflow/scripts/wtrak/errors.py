"""The one exception that a user is meant to read."""


class WtrakError(Exception):
    """Something is wrong with the inputs; the message says what, where, and what to do."""
