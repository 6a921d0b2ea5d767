"""Mutation testing of proofs and counts: every small change of the code must fail a test.

    python tests/mutation/mutate.py --out FOLDER [module ...]

Why a script of our own: tools for Python (mutmut, cosmic-ray) know few of the changes that matter
in mathematics (a term or factor that is dropped, a square root that is left out), and start a
process per mutant or copy the project, which at three seconds for importing torch takes hours.

One pytest session collects the tests once and runs them once, to learn which test calls which
function and how long it takes. Then each mutant gets a process that is forked from the session: it
exchanges the code of the changed functions, runs the tests that call the changed function, fastest
first, and ends at the first failure. A test that takes much longer than it should is a failure.
"""

import argparse
import contextlib
import gc
import importlib.util
import inspect
import json
import multiprocessing
import os
import pickle
import resource
import signal
import sys
import threading
import time
import types
from collections import Counter, defaultdict
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
WORKFLOW = REPOSITORY / "workflow"
_FOLDERS = [WORKFLOW / "lib", *(WORKFLOW / "scripts").iterdir(), REPOSITORY / "tests", HERE]
sys.path[:0] = map(str, _FOLDERS)

import pytest  # noqa: E402
from hypothesis import Phase, settings  # noqa: E402
from operators import mutants_of  # noqa: E402

EQUIVALENT = HERE / "equivalent.json"
# Each line names a module or script in which no mutant may survive, or some of its functions.
MODULES = {
    words[0]: words[1:]
    for words in map(str.split, (HERE / "modules.txt").read_text(encoding="utf-8").splitlines())
}
# The tests that must fail for every mutant.
TESTS = tuple((HERE / "tests.txt").read_text(encoding="utf-8").split())
# CPU seconds of a test, from those that it takes without a mutation.
LIMIT = (2.0, 8.0)
# A whole mutant, for what waits and does not work.
WALL = 120


class Calls:
    """Records which functions of the modules each test calls, and how long the test takes.

    A fixture's calls count for every test that uses it.
    """

    def __init__(self, modules):
        self.files = {inspect.getsourcefile(module): name for name, module in modules.items()}
        self.of, self.seconds = defaultdict(set), {}
        self.stack = []

    def _profile(self, frame, event, argument):
        if event == "call" and self.stack:
            code = frame.f_code
            name = self.files.get(code.co_filename)
            if name is not None:
                self.of[self.stack[-1]].add((name, code.co_qualname.split(".<locals>")[0]))

    @contextlib.contextmanager
    def _in(self, key):
        self.stack.append(key)
        try:
            yield
        finally:
            self.stack.pop()

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef, request):
        with self._in(fixturedef):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item, nextitem):
        start = time.process_time()
        sys.setprofile(self._profile)
        threading.setprofile(self._profile)
        try:
            with self._in(item.nodeid):
                return (yield)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
            self.seconds[item.nodeid] = time.process_time() - start

    def summary(self, items):
        """The functions that every test calls, and its seconds."""
        out = {}
        for item in items:
            functions = set(self.of[item.nodeid])
            for definitions in item._fixtureinfo.name2fixturedefs.values():
                functions |= self.of[definitions[-1]]
            out[item.nodeid] = functions, self.seconds[item.nodeid]
        return out


def install(module, code):
    """Replace the functions and constants in use by those of a changed module.

    Whoever imported a function holds the same object, so it is its code that is exchanged. What
    cannot be imported would fail every test: the process ends as a killed mutant.
    """
    fresh = types.ModuleType(module.__name__)
    fresh.__file__ = module.__file__
    sys.modules[module.__name__] = fresh  # dataclasses look their module up
    try:
        exec(code, fresh.__dict__)
    except Exception:
        os._exit(1)
    sys.modules[module.__name__] = module
    _exchange(module, fresh, module.__name__)


def _exchange(old, new, module):
    for name, value in list(vars(new).items()):
        present = vars(old).get(name)
        if getattr(value, "__module__", module) != module:
            continue
        if isinstance(value, types.FunctionType):
            for part in ("__code__", "__defaults__", "__kwdefaults__"):
                setattr(present, part, getattr(value, part))
        elif isinstance(value, property | classmethod | staticmethod):
            setattr(old, name, value)
        elif isinstance(value, type):
            _exchange(present, value, module)
        elif name.startswith("__"):
            continue
        elif isinstance(value, int | float | tuple | list | dict) and repr(value) != repr(present):
            for user in list(sys.modules.values()):
                if getattr(user, "__dict__", {}).get(name) is present:
                    setattr(user, name, value)


def children(count):
    """Fork `count` processes; their places, from 0; -1 in the parent, when all have ended."""
    pids = []
    for k in range(count):
        pid = os.fork()
        if pid == 0:
            return k
        pids.append(pid)
    for pid in pids:
        os.waitpid(pid, 0)
    return -1


class Session:
    """A pytest plugin that runs the tests once for every mutant."""

    def __init__(self, mutants, workers, folder):
        self.mutants, self.workers, self.folder = mutants, workers, folder
        self.baseline = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session):
        modules = {name: importlib.import_module(name) for name, _ in self.mutants}
        self.baseline = self._measured(session, modules)
        items = {item.nodeid: item for item in session.items}
        next_one = multiprocessing.Value("i", 0)
        # Garbage collection would copy memory pages that forked processes share.
        gc.collect()
        gc.freeze()
        gc.disable()
        place = children(self.workers)
        if place < 0:
            return True
        results = (self.folder / f"results{place}").open("w", encoding="utf-8")
        killers = defaultdict(Counter)
        while True:
            with next_one.get_lock():
                k = next_one.value
                next_one.value += 1
            if k >= len(self.mutants):
                os._exit(0)
            name, mutant = self.mutants[k]
            known = killers[name, mutant.function]
            chosen = self._chosen(name, mutant.function, known)
            start = time.perf_counter()
            fate, killer = self._fate(session, modules[name], mutant, [items[i] for i in chosen])
            if killer:
                known[killer] += 1
            record = {"k": k, "fate": fate, "killer": killer, "tests": len(chosen)}
            record["seconds"] = round(time.perf_counter() - start, 3)
            results.write(json.dumps(record) + "\n")
            results.flush()

    def _measured(self, session, modules):
        """Records of `Calls` for the unchanged code, from a separate process."""
        path = self.folder / "baseline"
        if children(1) == 0:
            _quiet()
            calls = Calls(modules)
            session.config.pluginmanager.register(calls)
            _run(session, session.items)
            if session.testsfailed:
                os._exit(1)
            path.write_bytes(pickle.dumps(calls.summary(session.items)))
            os._exit(0)
        if not path.exists():
            raise pytest.UsageError("a test fails without any mutation")
        return pickle.loads(path.read_bytes())

    def _chosen(self, module, function, known):
        """Tests that call a function. Tests that killed other mutants of it come first."""
        found = []
        for test, (functions, seconds) in self.baseline.items():
            called = (name for of, name in functions if of == module)
            if any(
                function in ("<module>", name) or name.startswith(f"{function}.") for name in called
            ):
                found.append((-known[test] / (0.02 + seconds), seconds, test))
        return [test for *_, test in sorted(found)]

    def _fate(self, session, module, mutant, items):
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(read)
            _quiet()
            session.config.pluginmanager.unregister(name="terminalreporter")
            signal.alarm(WALL)
            session.config.pluginmanager.register(Watch(write, self.baseline))
            try:
                install(module, mutant.compiled(module.__file__))
            except BaseException:
                os._exit(2)
            _run(session, items)
            os._exit(1 if session.testsfailed else 0)
        os.close(write)
        _, status = os.waitpid(pid, 0)
        with os.fdopen(read, encoding="utf-8") as pipe:
            last = pipe.read().split("\n")[-2:-1]
        if os.WIFSIGNALED(status):
            return "time", last[0] if last else None
        code = os.WEXITSTATUS(status)
        if code == 0:
            return "survived", None
        return ("killed", last[0] if last else None) if code == 1 else ("error", None)


class Watch:
    """Reports which test runs, and ends the process if it takes too long."""

    def __init__(self, pipe, baseline):
        self.pipe, self.baseline = pipe, baseline

    def pytest_runtest_setup(self, item):
        os.write(self.pipe, f"{item.nodeid}\n".encode())
        constant, factor = LIMIT
        signal.setitimer(signal.ITIMER_PROF, constant + factor * self.baseline[item.nodeid][1])


def _quiet():
    empty = os.open(os.devnull, os.O_WRONLY)
    os.dup2(empty, 1)
    os.dup2(empty, 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _run(session, items):
    """Run tests up to the first failure."""
    for item, following in zip(items, [*items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.testsfailed:
            return


def fates(names, tests, *, workers, folder):
    """Run the tests for all mutants of some modules, and return the fate of each.

    Parameters
    ----------
    names : sequence of str
        Modules as they are imported, ``wtrak.certificates.frontier`` or a script's name.
    tests : sequence of path
    workers : int
    folder : pathlib.Path
        For intermediate results.

    Returns
    -------
    dict of (module, function, before, after, place) to dict
        ``fate`` is killed, time, survived or error; ``killer`` the test that fails.
    """
    settings.register_profile(
        "mutation",
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.explicit, Phase.generate],
    )
    settings.load_profile("mutation")
    mutants = []
    for name in names:
        source = Path(importlib.util.find_spec(name).origin).read_text(encoding="utf-8")
        chosen = MODULES.get(name)
        mutants += [
            (name, mutant)
            for mutant in mutants_of(source)
            if not chosen or mutant.function in chosen
        ]
    status = pytest.main(
        ["-q", "-p", "no:cacheprovider", "-o", "addopts=", *map(str, tests)],
        plugins=[Session(mutants, workers, folder)],
    )
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise SystemExit(f"pytest ended with {status}")
    records = {}
    for path in folder.glob("results*"):
        for line in path.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            records[record["k"]] = record
    return {(name, *mutant.key): records[k] for k, (name, mutant) in enumerate(mutants)}


def listed(path):
    """Equivalent mutations, which change no promised behaviour, with the reason.

    Keys are those of `fates`. In the file: by module, entries of function, before, after, why and,
    where not the first of its kind alone is meant, places.
    """
    return {
        (module, entry["function"], entry["before"], entry["after"], place): entry["why"]
        for module, entries in json.loads(path.read_text(encoding="utf-8")).items()
        for entry in entries
        for place in entry.get("places", [0])
    }


def faults_of(found, known, names):
    """Yield unlisted mutants that survive, and listed ones that do not."""
    for key, record in found.items():
        if record["fate"] == "error" or (record["fate"] == "survived" and key not in known):
            yield record["fate"], key
    for key in known:
        if key[0] in names and key not in found:
            yield "listed, and no mutation any more", key
        elif key in found and found[key]["fate"] != "survived":
            yield "listed, and killed", key


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("modules", nargs="*", help="by default all of modules.txt")
    parser.add_argument("--out", type=Path, required=True, help="new folder for results")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--tests", type=Path, nargs="*", help="by default those of tests.txt")
    parser.add_argument("--equivalent", type=Path, default=EQUIVALENT)
    arguments = parser.parse_args()
    names = arguments.modules or list(MODULES)
    arguments.out.mkdir(parents=True)
    start = time.perf_counter()
    found = fates(
        names,
        arguments.tests or [REPOSITORY / "tests" / "unit" / name for name in TESTS],
        workers=arguments.workers,
        folder=arguments.out,
    )
    known = listed(arguments.equivalent)
    faults = list(faults_of(found, known, names))
    counts = Counter(record["fate"] for record in found.values())
    report = {
        "mutants": len(found),
        "killed": counts["killed"],
        "out of time": counts["time"],
        "equivalent": sum(key in known for key in found),
        "seconds": round(time.perf_counter() - start),
        "faults": [[what, *key] for what, key in faults],
    }
    (arguments.out / "report.json").write_text(
        json.dumps(report, indent=1, ensure_ascii=False), encoding="utf-8"
    )
    for what, (module, function, before, after, place) in faults:
        print(f"{what}: {module}, {function} [{place}]\n    {before}\n    {after}")
    print({name: value for name, value in report.items() if name != "faults"})
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
