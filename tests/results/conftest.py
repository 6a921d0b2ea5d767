"""Where the results are that are checked: WTRAK_RESULTS, or those of the quick run."""

import os
from pathlib import Path

import pytest


def pytest_collection_modifyitems(items):
    """Without a folder of results these tests need a whole run."""
    if "WTRAK_RESULTS" not in os.environ:
        for item in items:
            if Path(__file__).parent in item.path.parents:
                item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def results(request):
    """The folder of results."""
    if "WTRAK_RESULTS" in os.environ:
        return Path(os.environ["WTRAK_RESULTS"])
    return request.getfixturevalue("finished") / "runs" / "quick" / "results"
