"""Limit memory and time of tests with hostile input. A test that exceeds them fails."""

import functools
import multiprocessing
import os
import pickle
import resource
import sys
import traceback
import warnings
from pathlib import Path

import pytest

MEMORY = 1024**3
STATUS = Path("/proc/self/status")
# Messages of libraries outside Python for a failed allocation.
_REFUSALS = ("memoryerror", "bad_alloc", "allocate memory", "not enough memory", "out of memory")


def within_limits(function, *arguments, memory=MEMORY, seconds=30, **options):
    """Call a function in a forked child with limits for additional memory and time.

    The child has all that this process has loaded, so a call costs some hundredths of a second;
    many examples go into one call. What the child changes in memory is lost.

    Parameters
    ----------
    memory : int
        Bytes that the child may claim beyond what this process had, touched or not. Enforced on
        Linux only; elsewhere the time alone is limited, with a warning.
    seconds : float
        Wall time.

    Returns
    -------
    object
        What the function returned; it must be picklable.

    Raises
    ------
    Exception
        What the function raised. But the test fails where memory was refused, even if the function
        made another exception of it, and where the time was up. A refusal of which no trace is
        left, because the function went on, is not seen: say what it should have returned.
    """
    if not STATUS.exists():
        warnings.warn("only on Linux is memory limited here; elsewhere time is", stacklevel=2)
    receiver, sender = multiprocessing.Pipe(duplex=False)
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if not child:
        receiver.close()
        _answer(sender, memory, functools.partial(function, *arguments, **options))
    sender.close()
    try:
        if not receiver.poll(seconds):
            pytest.fail(f"took longer than {seconds} s")
        kind, body = receiver.recv()
    except EOFError:
        pytest.fail("the process died, as one does that is refused memory in C")
    finally:
        receiver.close()
        os.kill(child, 9)
        os.waitpid(child, 0)
    if kind == "returned":
        return pickle.loads(body)
    if kind == "raised":
        raise pickle.loads(body)
    pytest.fail(f"took more than {memory >> 20} MiB:\n{body}" if kind == "refused" else body)


def limited(function=None, **limits):
    """Decorate a test so that the whole test has limits, with all examples of a fuzzed one."""
    if function is None:
        return functools.partial(limited, **limits)

    @functools.wraps(function)
    def test(*arguments, **options):
        within_limits(lambda: function(*arguments, **options) and None, **limits)

    return test


def _answer(sender, memory, call):
    """In the child: set limits, call, send the result or exception, and exit without clean-up."""
    try:
        _limit(memory)
        try:
            answer = "returned", pickle.dumps(call())
        except BaseException as error:
            text = "".join(traceback.format_exception(error))
            _unlimit()
            answer = ("refused", text) if _refused(error) else _raised(error, text)
        sender.send(answer)
    finally:
        os._exit(0)


def _raised(error, text):
    """The exception itself if it can be pickled, so that a test can expect its type."""
    try:
        body = pickle.dumps(error)
        pickle.loads(body)
    except Exception:
        return "failed", text
    # For an assertion the report needs the place where it failed.
    return ("failed", text) if isinstance(error, AssertionError) else ("raised", body)


def _limit(memory):
    if not STATUS.exists():
        return
    # Kilobytes of private writable memory, which RLIMIT_DATA limits.
    (line,) = (
        line
        for line in STATUS.read_text(encoding="utf-8").splitlines()
        if line.startswith("VmData")
    )
    soft = int(line.split()[1]) * 1024 + memory
    resource.setrlimit(resource.RLIMIT_DATA, (soft, resource.getrlimit(resource.RLIMIT_DATA)[1]))


def _unlimit():
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))


def _refused(error):
    """Whether an exception, or one of its causes, reports a failed allocation."""
    seen, todo = set(), [error]
    while todo:
        one = todo.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        todo += [one.__cause__, one.__context__, *getattr(one, "exceptions", ())]
        if isinstance(one, MemoryError) or any(word in str(one).lower() for word in _REFUSALS):
            return True
    return False
