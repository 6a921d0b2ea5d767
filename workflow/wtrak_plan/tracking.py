"""What an edit re-runs, and which jobs stand behind a result.

Snakemake compares what a job was made with only while the job's own record exists, and compares
parameters as a set of values without their names. After an edit and a failed job, an intermediate
file and its record are gone, and what follows from it would pass as finished. Therefore every job
has a parameter ``made_from``: one hash of its own parameters and of those of every job behind it.
"""

import ast
import hashlib
import json
from functools import cache
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.iocontainers import Wildcards

WORKFLOW = Path(__file__).resolve().parents[1]
SCRIPTS, LIBRARY = WORKFLOW / "scripts", WORKFLOW / "lib"


@cache
def _parsed(path):
    return ast.parse(path.read_text("utf-8"))


@cache
def imported(path):
    """Files of the library that a Python file imports directly, as a set of paths."""
    found = set()
    for node in ast.walk(_parsed(path)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                raise WorkflowError(f"{path}: relative imports escape edit tracking; name wtrak")
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        for name in names:
            parts = name.split(".")
            # A package's __init__ runs whenever a module of it is imported.
            for depth in range(1, len(parts) + 1):
                base = LIBRARY.joinpath(*parts[:depth])
                found.update(
                    file
                    for file in (base.with_suffix(".py"), base / "__init__.py")
                    if file.is_file()
                )
    return found


@cache
def meaning(path):
    """Hash of what a Python file does: of its syntax tree, without docstrings.

    Comments, formatting and docstrings have no part in it, nor has the version of Python. Of any
    other file it is that of its bytes.
    """
    if path.suffix != ".py":
        return hashlib.sha256(path.read_bytes()).hexdigest()[:10]
    return hashlib.sha256(repr(_described(_parsed(path))).encode()).hexdigest()[:10]


# Of some versions of Python only, or the same for every use of a name.
_NO_MEANING = {"ctx", "kind", "type_comment", "type_ignores"}
_WITH_DOCSTRING = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def _described(node):
    """A syntax tree as nested lists; what is empty is left out, as versions differ in it."""
    if isinstance(node, list):
        return [_described(item) for item in node]
    if not isinstance(node, ast.AST):
        return repr(node)
    out = [type(node).__name__]
    for name, value in ast.iter_fields(node):
        if name == "body" and isinstance(node, _WITH_DOCSTRING):
            documented = ast.get_docstring(node, clean=False) is not None
            value = value[documented:] or [ast.Pass()]
        if value is not None and value != [] and name not in _NO_MEANING:
            out.append([name, _described(value)])
    return out


@cache
def code(script):
    """Hash of the meaning of a script and of all it imports here, as a list for ``params``.

    A template, which bears the name of its module, counts with it.

    Snakemake sees no edit of an imported module, and takes an edited comment for an edit. As a
    parameter, this list re-runs exactly the rules whose results an edit may change.

    Parameters
    ----------
    script : str
        Path below workflow/scripts.

    Returns
    -------
    list of str
        Path below workflow and hash of each file, sorted.
    """
    reached, queue = set(), [SCRIPTS / script]
    while queue:
        path = queue.pop()
        if path not in reached:
            reached.add(path)
            queue.extend(imported(path))
    templates = {path.with_suffix(".html") for path in reached}
    files = reached | {path for path in templates if path.is_file()}
    return sorted(f"{path.relative_to(WORKFLOW).as_posix()}:{meaning(path)}" for path in files)


class Lineage:
    """The jobs behind each file, found through the rules' own patterns and input functions.

    A job is a pair of a rule and a sorted tuple of its wildcards, as (name, value) pairs.

    Parameters
    ----------
    rules : iterable of snakemake.rules.Rule
        Every rule of the workflow.
    folder : path
        Rules of files in it are ours. Those of a workflow that takes this one as a module are not.
    """

    def __init__(self, rules, folder):
        folder = Path(folder).as_posix()
        self._rules = [
            rule
            for rule in rules
            if rule.output and Path(str(rule.snakefile)).parent.as_posix() == folder
        ]
        self._makers, self._inputs, self._hashes = {}, {}, {}

    def maker(self, path):
        """The job that makes a file; None if no rule does.

        Raises
        ------
        WorkflowError
            If several rules make it.
        """
        if path not in self._makers:
            found = [rule for rule in self._rules if rule.is_producer(path)]
            if len(found) > 1:
                names = ", ".join(sorted(rule.name for rule in found))
                raise WorkflowError(f"{path}: more than one rule makes this file: {names}")
            self._makers[path] = (
                (found[0], tuple(sorted(found[0].get_wildcards(path).items()))) if found else None
            )
        return self._makers[path]

    def inputs(self, job):
        """Sorted paths that a job reads."""
        if job not in self._inputs:
            files, *_ = job[0].expand_input(dict(job[1]))
            self._inputs[job] = sorted({str(path) for path in files})
        return self._inputs[job]

    def hash_of(self, job):
        """Hash of a job's parameters by name, its inputs, and this hash of whatever makes those.

        As in Snakemake, parameters that are functions of more than the wildcards do not count.
        """
        if job not in self._hashes:
            rule, wildcards = job
            values = Wildcards(fromdict=dict(wildcards))
            own = {
                name: value(values) if callable(value) else value
                for name, value in rule.params.items()
                if name != "made_from" and not rule._is_deriving_function(value)
            }
            makers = ((path, self.maker(path)) for path in self.inputs(job))
            behind = [(path, maker and self.hash_of(maker)) for path, maker in makers]
            record = json.dumps([wildcards, own, behind], sort_keys=True, default=repr)
            self._hashes[job] = hashlib.sha256(record.encode()).hexdigest()[:16]
        return self._hashes[job]

    def jobs_behind(self, paths):
        """Every job that files are made by, directly or not, as a set."""
        found, queue = set(), [self.maker(path) for path in paths]
        while queue:
            job = queue.pop()
            if job and job not in found:
                found.add(job)
                queue += [self.maker(path) for path in self.inputs(job)]
        return found

    def records_behind(self, paths):
        """Log and benchmark files of these jobs, as a dict of two sorted lists."""
        logs, benchmarks = set(), set()
        for rule, wildcards in self.jobs_behind(paths):
            logs |= {str(path.apply_wildcards(dict(wildcards))) for path in rule.log}
            if rule.benchmark:
                benchmarks.add(str(rule.benchmark.apply_wildcards(dict(wildcards))))
        return {"logs": sorted(logs), "benchmarks": sorted(benchmarks)}

    def track(self):
        """Give every rule its parameter ``made_from``, a function of the wildcards."""

        def made_from(rule):
            return lambda wildcards: self.hash_of((rule, tuple(sorted(wildcards.items()))))

        for rule in self._rules:
            if not hasattr(rule.params, "made_from"):
                rule.set_params(made_from=made_from(rule))
