# What rules of several themes share: the plan, outputs of figures and tables, and resources.

import os
import re
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

# Of this file and not of the Snakefile that was called, which may take this workflow as a module.
ROOT = Path(workflow.current_basedir.get_path_or_uri(secret_free=True)).parents[1]
LIBRARY = ROOT / "workflow" / "lib"
# Last, so that no module of these folders hides another of its name.
sys.path[:] = [*sys.path, str(ROOT / "workflow"), str(LIBRARY)]
# Scripts find the library here, of whichever folder they are.
os.environ["PYTHONPATH"] = os.pathsep.join(
    dict.fromkeys([str(LIBRARY), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))])
)
from wtrak_plan import configuration, paper
from wtrak_plan.experiments import VARIED, Plan, stable
from wtrak_plan.tracking import Lineage, code

plan = Plan(config)
# Files of the figures and of the tables to make, in the order of their rules.
FIGURES, TABLES = [], []


def stop(problems):
    """Stop with one line per mistake in the configuration, if there are any."""
    if problems:
        raise WorkflowError("the configuration is wrong:\n  " + "\n  ".join(problems))


def either(names):
    """A wildcard constraint that admits these names and no others."""
    return "|".join(map(re.escape, names)) or "(?!)"


def figure(name, title, when=True, category="Figures", numbers=False):
    """Outputs of a figure, for ``output: **figure(...)``, which makes it a target too.

    Parameters
    ----------
    name : str
        Of its files under results/figures, and of its caption in workflow/report.
    title : str
        Shown in the report.
    when : object
        The figure is a target if this is true and any experiment has a verdict.
    category : str
        Of the report.
    numbers : bool
        Whether it prints numbers that no table holds, which then stand in a file of their own.
    """
    out = {
        "svg": report(
            f"results/figures/{name}.svg",
            caption=f"../report/{name.removesuffix('_{experiment}')}.rst",
            category=category,
            labels={"figure": title},
        ),
        "pdf": f"results/figures/{name}.pdf",
    }
    out |= {"numbers": f"results/figures/{name}.numbers.csv"} if numbers else {}
    # Of one with wildcards, the rule's file says which are made.
    if when and plan.experiments() and "{" not in name:
        FIGURES.extend(out.values())
    return out


def table(name, title, when=True, category="Tables"):
    """Outputs of a table, for ``output: **table(...)``, which makes it a target too.

    Parameters are those of `figure`; the files are under results/tables.
    """
    out = {
        "csv": f"results/tables/{name}.csv",
        "numbers": f"results/tables/{name}.numbers.csv",
        "md": f"results/tables/{name}.md",
        "tex": f"results/tables/{name}.tex",
        "html": report(
            f"results/tables/{name}.html",
            caption=f"../report/{name}.rst",
            category=category,
            labels={"table": title},
        ),
    }
    if when and plan.experiments():
        TABLES.extend(out.values())
    return out


def cards():
    """How many GPUs to ask for where one helps, none if everything stays on the CPU."""
    return 0 if config["compute"]["device"] == "cpu" else 1


def megabytes(base):
    """Memory for a rule that grows with every attempt, so that a retry after a kill can pass."""
    return lambda wildcards, attempt: base * attempt


def minutes(base):
    """Run time for a rule that grows with every attempt."""
    return lambda wildcards, attempt: base * attempt
