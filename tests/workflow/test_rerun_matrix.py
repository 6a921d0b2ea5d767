"""Every script and module: an edit re-runs exactly the rules that the graph says it reaches.

What is expected is computed here, from the imports and from Snakemake's own graph of the rules.
"""

import ast
import re
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest

from conftest import QUICK, REPOSITORY, cheap_copy, snakemake
from rulegraph import BLOCKS, following, script_of

pytestmark = pytest.mark.matrix

WORKFLOW = REPOSITORY / "workflow"
FILES = sorted(
    path.relative_to(WORKFLOW).as_posix()
    for folder in ("scripts", "lib")
    for path in (WORKFLOW / folder).rglob("*.py")
)


@cache
def imported(name):
    """Files here that one imports, directly or not, itself among them."""
    found, queue = set(), [name]
    while queue:
        current = queue.pop()
        if current in found:
            continue
        found.add(current)
        for node in ast.walk(ast.parse((WORKFLOW / current).read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "wtrak":
                path = "lib/" + node.module.replace(".", "/")
                # Packages run whenever a module of theirs is imported.
                parents = [parent.as_posix() for parent in Path(path).parents if parent.name]
                queue += [f"{path}.py", *(f"{parent}/__init__.py" for parent in parents)]
                # `from package import module`
                queue += [f"{path}/{alias.name}.py" for alias in node.names]
                queue.append(f"{path}/__init__.py")
        queue = [one for one in queue if (WORKFLOW / one).is_file()]
    return found


@pytest.fixture(scope="module")
def graph(finished):
    return following(finished)


def planned(finished, file):
    """Rules that would run after an edit of a file, and nothing else."""
    with tempfile.TemporaryDirectory() as folder:
        repository = cheap_copy(finished, Path(folder) / "copy")
        path = repository / "workflow" / file
        path.write_text(path.read_text("utf-8") + "\nEDITED = True\n", encoding="utf-8")
        output = snakemake(repository, *QUICK, "--dry-run").stdout
    return set(re.findall(r"^(\w+) +\d+$", output.split("Job stats:")[-1], flags=re.M))


@pytest.fixture(scope="module")
def plans(finished):
    """What an edit of each file would re-run."""
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda file: planned(finished, file), FILES)
        return dict(zip(FILES, found, strict=True))


@pytest.mark.parametrize("file", FILES)
def test_edit_reruns_what_the_graph_says(plans, graph, file):
    """Stale numbers would stay, or hours be spent on what the edit does not touch."""
    scripts = {name: script_of(name) for name in BLOCKS.keys() & graph.keys()}
    queue = [
        name
        for name, script in scripts.items()
        if script and file in imported(f"scripts/{script}")
        # Its content is checked, whatever the code.
        if name != "dataset"
    ]
    expected = set()
    while queue:
        rule = queue.pop()
        if rule not in expected:
            expected.add(rule)
            queue += graph[rule]
    assert plans[file] - {"total", "all"} == expected - {"all"}
