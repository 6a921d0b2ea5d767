"""Decide which jobs an edit re-runs, and find the jobs behind a result.

Snakemake alone would miss some changes. It compares parameters as a set of values without their
names, and only while the job's record exists. After an edit and a failed job, an intermediate file
and its record are gone, and results that were made from the old file pass as finished. Therefore
every job gets a parameter ``made_from``: a hash of its own parameters and of the parameters of
every job behind it.
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
def _read(path):
    """Description of a Python file's syntax tree, as a list of str, and its import statements."""
    words, imports = [], []
    _describe(ast.parse(path.read_text("utf-8")), words, imports)
    return words, imports


@cache
def _files_of(module):
    """The file of a module of the library, and those of its packages, which run before it."""
    files = set()
    parts = module.split(".")
    for depth in range(1, len(parts) + 1):
        base = LIBRARY.joinpath(*parts[:depth])
        files.update(
            file for file in (base.with_suffix(".py"), base / "__init__.py") if file.is_file()
        )
    return files


@cache
def imported(path):
    """Files of the library that a Python file imports directly, as a set of paths."""
    files = set()
    for node in _read(path)[1]:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            if node.level:
                raise WorkflowError(f"{path}: relative imports escape edit tracking; name wtrak")
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            if name.split(".")[0] == "wtrak":
                files |= _files_of(name)
    return files


@cache
def meaning(path):
    """Hash of what a file does.

    For a Python file it is the hash of the syntax tree without docstrings. Comments, formatting,
    docstrings and the version of Python do not change it. For any other file it is the hash of its
    bytes.
    """
    if path.suffix != ".py":
        return hashlib.sha256(path.read_bytes()).hexdigest()[:10]
    return hashlib.sha256("\n".join(_read(path)[0]).encode()).hexdigest()[:10]


# Fields that only some versions of Python have, or that repeat what a node's place already says.
_NO_MEANING = {"ctx", "kind", "type_comment", "type_ignores"}
_WITH_DOCSTRING = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def _describe(node, out, imports):
    """Append the names and values of a syntax tree to a list, and import statements to another.

    Empty fields are left out, because versions of Python differ in which they have.
    """
    out.append(node.__class__.__name__)
    if isinstance(node, ast.Import | ast.ImportFrom):
        imports.append(node)
    for name in node._fields:
        value = getattr(node, name, None)
        if name == "body" and isinstance(node, _WITH_DOCSTRING):
            documented = ast.get_docstring(node, clean=False) is not None
            value = value[documented:] or [ast.Pass()]
        if value is None or value == [] or name in _NO_MEANING:
            continue
        out.append(name)
        for item in value if isinstance(value, list) else (value,):
            if isinstance(item, ast.AST):
                _describe(item, out, imports)
            else:
                out.append(repr(item))
        out.append(")")


@cache
def code(script):
    """Hashes of a script, of the library modules it imports and of their templates.

    Snakemake does not notice edits of imported modules, and re-runs a rule after any edit of a
    comment. With this list among its ``params``, a rule re-runs exactly when an edit may change its
    results. A template is an HTML file with the name of its module.

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
    """The jobs behind each file, found through the patterns and input functions of the rules.

    A job is a pair of a rule and a sorted tuple of its wildcards, as (name, value) pairs.

    Parameters
    ----------
    rules : iterable of snakemake.rules.Rule
        Every rule of the workflow.
    folder : path
        Only rules of files in this folder count. Another workflow may use this one as a module.
    """

    def __init__(self, rules, folder):
        folder = Path(folder).as_posix()
        self._rules = [
            rule
            for rule in rules
            if rule.output and Path(str(rule.snakefile)).parent.as_posix() == folder
        ]
        self._prefixes = [
            (rule, tuple(product.constant_prefix() for product in rule.products()))
            for rule in self._rules
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
            # The text before the first wildcard excludes most rules faster than their patterns.
            makers = [
                rule
                for rule, prefixes in self._prefixes
                if path.startswith(prefixes) and rule.is_producer(path)
            ]
            if len(makers) > 1:
                names = ", ".join(sorted(rule.name for rule in makers))
                raise WorkflowError(f"{path}: more than one rule makes this file: {names}")
            self._makers[path] = (
                (makers[0], tuple(sorted(makers[0].get_wildcards(path).items())))
                if makers
                else None
            )
        return self._makers[path]

    def inputs(self, job):
        """Sorted paths that a job reads."""
        if job not in self._inputs:
            files, *_ = job[0].expand_input(dict(job[1]))
            self._inputs[job] = sorted({str(path) for path in files})
        return self._inputs[job]

    def hash_of(self, job):
        """Hash of a job's wildcards, its named parameters, its inputs, and the jobs behind those.

        As in Snakemake, parameters that are functions of more than the wildcards do not count.
        """
        if job not in self._hashes:
            rule, wildcards = job
            values = Wildcards(fromdict=dict(wildcards))
            parameters = {
                name: value(values) if callable(value) else value
                for name, value in rule.params.items()
                if name != "made_from" and not rule._is_deriving_function(value)
            }
            makers = ((path, self.maker(path)) for path in self.inputs(job))
            behind = [(path, maker and self.hash_of(maker)) for path, maker in makers]
            record = json.dumps([wildcards, parameters, behind], sort_keys=True, default=repr)
            self._hashes[job] = hashlib.sha256(record.encode()).hexdigest()[:16]
        return self._hashes[job]

    def jobs_behind(self, paths):
        """The set of jobs that make some files, and all jobs that those depend on."""
        jobs, queue = set(), [self.maker(path) for path in paths]
        while queue:
            job = queue.pop()
            if job and job not in jobs:
                jobs.add(job)
                queue += [self.maker(path) for path in self.inputs(job)]
        return jobs

    def records_behind(self, paths):
        """Sorted log and benchmark files of the jobs behind some files, by kind."""
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
