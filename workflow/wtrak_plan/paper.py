"""What the paper says: its claims and numbers, from workflow/resources."""

import csv
from functools import cache
from pathlib import Path

RESOURCES = Path(__file__).resolve().parents[1] / "resources"
# Experiments that claims of the paper are about.
EXPERIMENTS = ("cifar10", "cifar10_5k")


@cache
def rows(name):
    """Rows of a CSV file under workflow/resources, as a list of dict of str."""
    with (RESOURCES / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def claims():
    """Every claim of the paper, and which result decides it."""
    return rows("paper_claims.csv")


def values(experiment):
    """The paper's numbers for an experiment, by quantity; empty where the paper has none."""
    return {
        claim["quantity"]: float(claim["paper_value"])
        for claim in claims()
        if claim["experiment"] == experiment and claim["quantity"] and claim["paper_value"]
    }


def detection():
    """The paper's numbers for label noise, by experiment, setting and metric (shares, not %)."""
    found = values("cifar10")
    names = ("auroc", "average_precision", "separation", "recall_20")
    own = {name: found[name] for name in names}
    return {"cifar10": {"uniform_10": own | {"recall_20": own["recall_20"] / 100}}}


def share_certified():
    """Share of pairs that the paper certifies in the natural metric."""
    return values("cifar10")["certified_natural"] / 100
