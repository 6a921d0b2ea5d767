# Shared by rules of several themes: the plan, outputs of figures and tables, and resources.

import re
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

# Found from this file, because the Snakefile of the command may use this workflow as a module.
ROOT = Path(workflow.current_basedir.get_path_or_uri(secret_free=True)).parents[1]
LIBRARY = ROOT / "workflow" / "lib"
# Appended, so that modules of these folders hide no installed module of the same name.
sys.path[:] = [*sys.path, str(ROOT / "workflow"), str(LIBRARY)]
from wtrak_plan import configuration, paper, paths
from wtrak_plan.experiments import VARIED, Plan, stable
from wtrak_plan.tracking import Lineage, code

paths.expose(LIBRARY)
plan = Plan(config)
# Files of all figures and tables to make, in the order of their rules.
FIGURES, TABLES = [], []


def stop(problems):
    """Raise an error with one line for each mistake in the configuration, if there are any."""
    if problems:
        raise WorkflowError("the configuration is wrong:\n  " + "\n  ".join(problems))


def either(names):
    """A wildcard constraint that matches exactly these names."""
    return "|".join(map(re.escape, names)) or "(?!)"


def figure(name, title, when=True, category="Figures", numbers=False):
    """Outputs of a figure, for ``output: **figure(...)``. The figure becomes a target too.

    Parameters
    ----------
    name : str
        Name of its files under results/figures and of its caption in workflow/report.
    title : str
        Title in the report.
    when : object
        The figure is a target if this is true and any experiment has a verdict.
    category : str
        Category in the report.
    numbers : bool
        Whether the figure prints numbers that no table contains. They get a CSV file.
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
    # For a name with wildcards, the file of the rule lists the figures to make.
    if when and plan.experiments() and "{" not in name:
        FIGURES.extend(out.values())
    return out


def table(name, title, when=True, category="Tables"):
    """Outputs of a table, for ``output: **table(...)``. The table becomes a target too.

    The parameters are those of `figure`. The files are under results/tables.
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
    """Number of GPUs to ask for, 0 if the configuration asks for the CPU."""
    return 0 if config["compute"]["device"] == "cpu" else 1


def megabytes(base):
    """Memory of a rule in MB. It grows with each attempt, so that a retry after a kill can pass."""
    return lambda wildcards, attempt: base * attempt


def minutes(base):
    """Run time of a rule in minutes. It grows with each attempt."""
    return lambda wildcards, attempt: base * attempt
