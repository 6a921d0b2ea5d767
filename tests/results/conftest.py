"""The folder of results that is looked at."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def results(request):
    """The folder that WTRAK_RESULTS names; without it, that of the quick run, which is slow."""
    if "WTRAK_RESULTS" in os.environ:
        return Path(os.environ["WTRAK_RESULTS"])
    return request.getfixturevalue("finished") / "runs" / "quick" / "results"
