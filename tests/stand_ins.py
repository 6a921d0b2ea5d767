"""Replace scripts by quick stand-ins, whose outputs depend on all inputs and parameters.

Rules, parameters and tracking are the real ones. So many edits and failures can be tried.
"""

import ast

from conftest import copy_repository

# Each output contains a hash of parameters, content of inputs, and the output's name. If the file
# "fault" names an output, the script writes the outputs up to that one and then fails as requested.
STAND_IN = '''"""Stands in for a script of the workflow."""

import errno
import hashlib
import json
import os
import signal
import time
from pathlib import Path


def made_from(smk):
    own = {key: value for key, value in smk.params.items() if key != "made_from"}
    found = [smk.rule, dict(smk.wildcards.items()), own]
    for path in sorted(smk.input):
        # Times differ between any two runs.
        if not str(path).startswith(("results/logs/", "results/benchmarks/")):
            found.append([path, Path(path).read_text("utf-8")])
    return hashlib.sha256(json.dumps(found, sort_keys=True, default=repr).encode()).hexdigest()


def fail(fault):
    fault.rename("fault.reached")
    kind = Path("fault.reached").read_text("utf-8").split()[1]
    if kind == "error":
        raise RuntimeError("an error in a script")
    if kind == "full_disk":
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if kind == "kill_job":
        os.kill(os.getpid(), signal.SIGKILL)
    # Snakemake is about to be stopped or killed by the test.
    while Path("fault.reached").exists():
        time.sleep(0.02)
    if kind == "kill_snakemake":
        os.kill(os.getpid(), signal.SIGKILL)


content, fault = made_from(snakemake), Path("fault")
log = Path(str(snakemake.log[0]))
log.parent.mkdir(parents=True, exist_ok=True)
log.write_text("stand-in", "utf-8")
for path in snakemake.output:
    Path(path).write_text(f"{path} {content}", "utf-8")
    if fault.exists() and fault.read_text("utf-8").split()[0] == path:
        fail(fault)
'''


def repository_of_stand_ins(target):
    """A copy of the repository in which every script is replaced by a stand-in."""
    repository = copy_repository(target)
    for path in (repository / "workflow" / "scripts").glob("*/*.py"):
        # What a script imports decides what an edit re-runs.
        imports = [
            f"    from {node.module} import {node.names[0].name}\n"
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(node, ast.ImportFrom) and node.module.startswith("wtrak")
        ]
        guarded = "\n\nif False:\n" + "".join(imports) if imports else ""
        path.write_text(STAND_IN + guarded, "utf-8")
    return repository
