"""The rules of the workflow: their text, and what follows from each in the quick run."""

import re

from conftest import QUICK, REPOSITORY, snakemake

# Without the functions, which belong to no rule.
_TEXT = "\n".join(
    path.read_text("utf-8")
    for path in sorted((REPOSITORY / "workflow" / "rules").glob("*.smk"))
    if path.name not in ("common.smk", "checks.smk")
)
# By name. A rule that is made from another has that one's text, and its own.
BLOCKS = dict(re.findall(r"^rule (\w+):\n(.*?)(?=^(?:use )?rule |\Z)", _TEXT, flags=re.M | re.S))
for _base, _name, _changes in re.findall(
    r"^use rule (\w+) as (\w+) with:\n(.*?)(?=^(?:use )?rule |\Z)", _TEXT, flags=re.M | re.S
):
    BLOCKS[_name] = BLOCKS[_base] + _changes


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
