"""The rules of the workflow: their text, and the rules that depend on each in the quick run."""

import ast
import re

from conftest import QUICK, REPOSITORY, snakemake

_FILES = sorted((REPOSITORY / "workflow" / "rules").glob("*.smk"))
# The text above the first rule of a file belongs to no rule and is left out.
_TEXT = "\n".join(
    re.sub(r"\A.*?(?=^rule |\Z)", "", path.read_text("utf-8"), flags=re.M | re.S) for path in _FILES
)
# Text by name. A rule that inherits from another has both texts.
BLOCKS = dict(re.findall(r"^rule (\w+):\n(.*?)(?=^(?:use )?rule |\Z)", _TEXT, flags=re.M | re.S))
for _base, _name, _changes in re.findall(
    r"^use rule (\w+) as (\w+) with:\n(.*?)(?=^(?:use )?rule |\Z)", _TEXT, flags=re.M | re.S
):
    BLOCKS[_name] = BLOCKS[_base] + _changes

# Figures and tables, as kind and name.
SHOWN = re.findall(r'\*\*(figure|table)\(\s*"([\w{}]+)"', "".join(BLOCKS.values()))


def functions():
    """Text of the functions in the rule files and in the plan, by name."""
    texts = [
        re.split(r"^rule ", path.read_text("utf-8"), flags=re.M)[0]
        for path in (*_FILES, *(_FILES[0].parent / "lookups").glob("*.smk"))
        if path.name != "checks.smk"
    ]
    texts.append((REPOSITORY / "workflow/wtrak_plan/experiments.py").read_text("utf-8"))
    return {
        node.name: ast.unparse(node)
        for text in texts
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef)
    }


def script_of(rule):
    """Path of a rule's script below workflow/scripts; None if it has no script."""
    found = re.search(r'"\.\./scripts/(\w+/\w+\.py)"', BLOCKS[rule])
    return found and found.group(1)


def following(repository):
    """The rules that directly depend on each rule of the quick run, from Snakemake's graph."""
    dot = snakemake(repository, *QUICK, "--rulegraph", "dot").stdout
    names = dict(re.findall(r'(\d+)\[label = "(\w+)"', dot))
    out = {name: set() for name in names.values()}
    for before, after in re.findall(r"(\d+) -> (\d+)", dot):
        out[names[before]].add(names[after])
    return out


def rules_of(output):
    """Names of the rules in the table at the end of a dry run."""
    table = output.split("Job stats:")[-1] if "Job stats:" in output else ""
    return set(re.findall(r"^(\w+) +\d+$", table, flags=re.M)) - {"total", "all"}
