"""The version of the package.

It stands apart because every script imports ``wtrak/__init__.py``: a release re-runs nothing.
"""

__version__ = "0.1.0"
