"""Run a job: log, progress, device, threads, and the speed of the machine's arithmetic."""

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
# Open lock files of the GPUs that this process holds, by index.
_held = {}


def run(main, smk):
    """Call ``main(smk)`` and write stdout, stderr and tracebacks to the rule's log file.

    If the job succeeds, the last line of its log lists the versions of the packages it used.

    For a `WtrakError` the terminal shows only its message. For any other exception it shows one
    line that points to the log. In both cases the process ends with status 1.
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
                # If the disk is full, the traceback cannot be written; the message is still shown.
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
        return (
            f"the disk or quota is full ({error}); free some space and run again; "
            "finished files are kept"
        )
    return f"{type(error).__name__}: {error} (traceback in {log})"


def say(message):
    """Write one line with the time to the log."""
    print(f"{dt.datetime.now():%H:%M:%S} {message}", flush=True)


@contextlib.contextmanager
def progress(total, what, unit="rows", every=30.0):
    """Yield ``advance(k)``, which shows progress.

    A terminal gets a progress bar. The log gets a line every `every` seconds.

    Parameters
    ----------
    total : int
        Number of units of work.
    what, unit : str
        Name of the work and of its units, for example ``"activations", "images"``.
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
    """Limit torch and numpy's BLAS to `threads` cores, the number that the rule declares.

    torch is not imported here, which takes 1.5 s. A script that needs it has imported it already.
    """
    from threadpoolctl import threadpool_limits

    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(threads)
    threadpool_limits(threads)


def select_device(name):
    """Return the torch device for ``auto``, ``cpu``, ``cuda`` or ``cuda:k``.

    Jobs of one user on one machine never share a GPU, even across runs. ``auto`` and ``cuda`` take
    the first free GPU and keep it until the process ends. If none is free, the job waits.

    Raises
    ------
    WtrakError
        If the name asks for a GPU that is not there.
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
    """Index of one of `cards`, which this process locks; it waits until one is free.

    Lock files carry the GPU's unique identifier, because its index differs between jobs that see
    different GPUs. The system releases the lock when the process ends.
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
            say("every GPU that this job may use is taken by another job; waiting for one")
            waiting = True
        time.sleep(every)


def describe_device(device):
    """Name of the GPU or processor, for provenance."""
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

    Logs compare the time of each stage of linear algebra with its operations divided by this rate.
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
