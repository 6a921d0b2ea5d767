"""How a job runs: log, progress, device, threads, and the machine's own arithmetic rate."""

import contextlib
import datetime as dt
import errno
import fcntl
import os
import sys
import tempfile
import time
import traceback
from pathlib import Path

from wtrak.errors import WtrakError
from wtrak.job.versions import versions_line

_terminal = sys.__stderr__
# Open lock files of the cards that this process holds, by index.
_held = {}


def run(main, smk):
    """Call ``main(smk)`` with stdout, stderr and tracebacks in the rule's log file.

    The last line of the log of a job that succeeds has the versions of the packages it used.

    An anticipated fault (`WtrakError`) is shown on the terminal as its message alone; any other
    exception as one line that points to the log. Both end the process with status 1.
    """
    path = Path(str(smk.log[0]))
    message = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with (
            path.open("w", buffering=1, encoding="utf-8", errors="backslashreplace") as log,
            contextlib.redirect_stdout(log),
            contextlib.redirect_stderr(log),
        ):
            try:
                if getattr(smk, "threads", None):
                    use_threads(int(smk.threads))
                main(smk)
                print(versions_line())
            except Exception as error:
                message = f"{smk.rule}: {_in_words(error, path)}"
                # A log on a full disk takes no traceback, and must not hide the reason.
                with contextlib.suppress(OSError):
                    traceback.print_exc()
    except OSError as error:
        message = message or f"{smk.rule}: its log cannot be written: {error}"
    if message:
        print(f"\n{message}\n", file=_terminal, flush=True)
        sys.exit(1)


def _in_words(error, log):
    if isinstance(error, WtrakError):
        return str(error)
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"the disk or quota is full ({error}); free some and run again, finished files stay"
    return f"{type(error).__name__}: {error} (traceback in {log})"


def say(message):
    """One time-stamped line for the log."""
    print(f"{dt.datetime.now():%H:%M:%S} {message}", flush=True)


@contextlib.contextmanager
def progress(total, what, unit="rows", every=30.0):
    """Yield ``advance(k)``: a bar on a terminal, else a line in the log every `every` seconds.

    Parameters
    ----------
    total : int
        Number of units of work.
    what, unit : str
        What is being done, and to what; for example ``"activations", "images"``.
    """
    from tqdm import tqdm

    show = _terminal is not None and _terminal.isatty()
    start = last = time.monotonic()
    done = 0
    with tqdm(
        total=total, desc=what, unit=f" {unit}", file=_terminal, disable=not show, leave=False
    ) as bar:

        def advance(k):
            nonlocal done, last
            done += k
            bar.update(k)
            now = time.monotonic()
            if now - last >= every or done == total:
                last = now
                rate = done / max(now - start, 1e-9)
                left = (total - done) / max(rate, 1e-9)
                digits = 0 if rate >= 10 else 2
                say(
                    f"{what}: {done:,} of {total:,} {unit}, "
                    f"{rate:,.{digits}f} {unit}/s, {left:,.0f} s left"
                )

        yield advance


def use_threads(threads):
    """Let torch and the BLAS behind numpy use `threads` cores, no more than the rule declared.

    A script that needs torch has imported it by now; others are spared its second and a half.
    """
    from threadpoolctl import threadpool_limits

    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(threads)
    threadpool_limits(threads)


def select_device(name):
    """Return the torch device for ``auto``, ``cpu``, ``cuda`` or ``cuda:k``.

    A card belongs to one job of this user on this machine until the job's process ends, so that
    jobs side by side never share one: ``auto`` and ``cuda`` take the first that is free, and where
    none is, the job waits.

    Raises
    ------
    WtrakError
        If CUDA is asked for and no usable card is there.
    """
    import torch

    cards = torch.cuda.device_count() if name != "cpu" and torch.cuda.is_available() else 0
    if name == "cpu" or (name == "auto" and not cards):
        return torch.device("cpu")
    index = None if name == "auto" else torch.device(name).index
    if (index or 0) >= cards:
        raise WtrakError(
            f"config: device is {name!r}, but torch finds {cards or 'no'} usable CUDA cards here; "
            "use 'auto' or 'cpu'"
        )
    return torch.device("cuda", _hold_card(range(cards) if index is None else [index]))


def _hold_card(cards, every=1.0):
    """Index of the one of `cards` that this process holds from now on, waiting for it if need be.

    Locks are on files, by the card's own identifier: indices differ between jobs that see
    different cards. The system drops them when a process ends, however it ends.
    """
    import torch

    mine = [card for card in cards if card in _held]
    if mine:
        return mine[0]
    waiting = False
    while True:
        for card in cards:
            name = f"wtrak-{os.getuid()}-{torch.cuda.get_device_properties(card).uuid}.lock"
            file = (Path(tempfile.gettempdir()) / name).open("w", encoding="utf-8")
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.close()
            else:
                _held[card] = file
                return card
        if not waiting:
            say("other jobs hold every card that this one may take; waiting for one")
            waiting = True
        time.sleep(every)


def describe_device(device):
    """The card's or processor's name, for provenance."""
    import torch

    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
            if line.startswith("model name"):
                return f"{line.split(':', 1)[1].strip()}, {torch.get_num_threads()} threads"
    return f"CPU, {torch.get_num_threads()} threads"


def matmul_rate(device, size=3072, repeats=2):
    """Measured rate of a float64 matrix product on `device`, in operations per second.

    The yardstick for the linear algebra here: time taken over (operations / this rate) is how
    far a stage is from what the machine can do.
    """
    import torch

    a = torch.ones(size, size, dtype=torch.float64, device=device)

    def timed():
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        start = time.perf_counter()
        a @ a
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return time.perf_counter() - start

    timed()
    return 2 * size**3 / min(timed() for _ in range(repeats))
