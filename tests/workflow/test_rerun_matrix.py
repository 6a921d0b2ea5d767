"""Every script and module: an edit re-runs exactly the rules that the graph says it reaches.

What is expected is computed here, from the imports and from Snakemake's own graph of the rules.
"""

import ast
import re

import pytest

from conftest import QUICK, REPOSITORY, snakemake

pytestmark = pytest.mark.matrix

SCRIPTS = REPOSITORY / "workflow" / "scripts"
TEXT = "\n".join(
    path.read_text("utf-8") for path in sorted((REPOSITORY / "workflow" / "rules").glob("*.smk"))
)
BLOCKS = dict(re.findall(r"^rule (\w+):\n(.*?)(?=^(?:use )?rule |\Z)", TEXT, flags=re.M | re.S))
# A rule that is made from another has its script.
for base, name, changes in re.findall(
    r"^use rule (\w+) as (\w+) with:\n(.*?)(?=^(?:use )?rule |\Z)", TEXT, flags=re.M | re.S
):
    BLOCKS[name] = BLOCKS[base] + changes
FILES = sorted(path.relative_to(SCRIPTS).as_posix() for path in SCRIPTS.rglob("*.py"))


def imported(name):
    """Files here that one imports, directly or not, itself among them."""
    found, queue = set(), [name]
    while queue:
        current = queue.pop()
        if current in found:
            continue
        found.add(current)
        for node in ast.walk(ast.parse((SCRIPTS / current).read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom):
                queue += [f"{node.module.replace('.', '/')}.py", "wtrak/__init__.py"][
                    : 2 if node.module.startswith("wtrak") else 1
                ]
        queue = [one for one in queue if (SCRIPTS / one).is_file()]
    return found


@pytest.fixture(scope="module")
def graph(finished):
    """Rules that follow directly from each rule of the quick run."""
    dot = snakemake(finished, *QUICK, "--rulegraph", "dot").stdout
    names = dict(re.findall(r'(\d+)\[label = "(\w+)"', dot))
    following = {name: set() for name in names.values()}
    for before, after in re.findall(r"(\d+) -> (\d+)", dot):
        following[names[before]].add(names[after])
    return following


@pytest.mark.parametrize("file", FILES)
def test_edit_reruns_what_the_graph_says(editable, graph, file):
    """Stale numbers would stay, or hours be spent on what the edit does not touch."""
    scripts = {
        name: re.search(r'"\.\./scripts/(\w+\.py)"', block) for name, block in BLOCKS.items()
    }
    queue = [
        name
        for name, script in scripts.items()
        if name in graph and script and file in imported(script.group(1))
        # Its content is checked, whatever the code.
        if name != "dataset"
    ]
    if not queue:
        pytest.skip("no rule of the quick run needs it")
    expected = set()
    while queue:
        rule = queue.pop()
        if rule not in expected:
            expected.add(rule)
            queue += graph[rule]
    path = editable / "workflow" / "scripts" / file
    path.write_text(path.read_text("utf-8") + "\n# edited\n")
    done = snakemake(editable, *QUICK, "--dry-run")
    planned = set(re.findall(r"^(\w+) +\d+$", done.stdout.split("Job stats:")[-1], flags=re.M))
    assert planned - {"total", "all"} == expected - {"all"}
