"""The limits of the tests of hostile input themselves: what passes them, and what fails."""

import sys
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from limits import limited, within_limits
from wtrak.errors import SourceError

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux only")


def refuse(reason):
    raise SourceError(reason)


def test_values_and_exceptions_come_back():
    """A test could not say what it expects of the reader."""
    assert within_limits(divmod, 7, 2) == (3, 1)
    with pytest.raises(SourceError, match="no such thing"):
        within_limits(refuse, "no such thing")
    with pytest.raises(pytest.fail.Exception, match="test_limits"):
        within_limits(lambda: pytest.fail("why"))


def claim(size):
    np.zeros(size, np.uint8)  # is never touched


def hide(claim_):
    """As readers do that turn every exception into one of their own."""
    try:
        claim_()
    except Exception as error:
        raise SourceError("damaged") from error


@on_linux
@pytest.mark.parametrize(
    "call",
    [
        lambda: claim(2 << 30),
        lambda: hide(lambda: claim(2 << 30)),
        lambda: hide(lambda: refuse("[enforce fail] can't allocate memory")),
    ],
    ids=["untouched", "of another name", "by another library"],
)
def test_more_memory_fails_however_it_is_handled(call):
    """The reader would pass whose MemoryError is taken for a refusal of the file."""
    with pytest.raises(pytest.fail.Exception, match="took more than 1024 MiB"):
        within_limits(call)


@on_linux
def test_memory_counts_from_what_was_there():
    """A test would fail for what tests before it hold."""
    held = np.ones(600 << 20, np.uint8)
    within_limits(claim, 900 << 20)
    assert held[-1]


def test_more_time_fails():
    """A reader that never ends would hold the tests for ever."""
    began = time.monotonic()
    with pytest.raises(pytest.fail.Exception, match=r"took longer than 0\.3 s"):
        within_limits(time.sleep, 60, seconds=0.3)
    assert time.monotonic() - began < 20


@on_linux
def test_fuzzed_test_fails_for_one_example():
    """A hostile example among thousands would be overlooked."""

    @limited
    @settings(max_examples=20, database=None, derandomize=True)
    @given(st.integers(0, 3))
    def fuzzed(value):
        if value == 2:
            hide(lambda: claim(2 << 30))

    with pytest.raises(pytest.fail.Exception, match="took more than"):
        fuzzed()
