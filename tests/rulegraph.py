"""The rules of the workflow: their text, and what follows from each in the quick run."""

import ast
import re

from conftest import QUICK, REPOSITORY, snakemake

_FILES = sorted((REPOSITORY / "workflow" / "rules").glob("*.smk"))
# Without what stands above the first rule of each file, which belongs to none.
_TEXT = "\n".join(
    re.sub(r"\A.*?(?=^rule |\Z)", "", path.read_text("utf-8"), flags=re.M | re.S) for path in _FILES
)
# By name. A rule that is made from another has that one's text, and its own.
BLOCKS = dict(re.findall(r"^rule (\w+):\n(.*?)(?=^(?:use )?rule |\Z)", _TEXT, flags=re.M | re.S))
for _base, _name, _changes in re.findall(
    r"^use rule (\w+) as (\w+) with:\n(.*?)(?=^(?:use )?rule |\Z)", _TEXT, flags=re.M | re.S
):
    BLOCKS[_name] = BLOCKS[_base] + _changes

# Figures and tables, as kind and name.
SHOWN = re.findall(r'\*\*(figure|table)\(\s*"([\w{}]+)"', "".join(BLOCKS.values()))


def functions():
    """The text of every function that rules may call, by name, of rules' files and of the plan."""
    texts = [
        re.split(r"^rule ", path.read_text("utf-8"), flags=re.M)[0]
        for path in _FILES
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
    """Path of a rule's script below workflow/scripts; None for a rule without."""
    found = re.search(r'"\.\./scripts/(\w+/\w+\.py)"', BLOCKS[rule])
    return found and found.group(1)


def following(repository):
    """Rules that follow directly from each rule of the quick run, by Snakemake's own graph."""
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
