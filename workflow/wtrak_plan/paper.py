"""The paper's claims and numbers, from workflow/resources."""

import csv
from functools import cache
from pathlib import Path

RESOURCES = Path(__file__).resolve().parents[1] / "resources"
# Experiments that the paper makes claims about.
EXPERIMENTS = ("cifar10", "cifar10_5k")


@cache
def rows(name):
    """Rows of a CSV file under workflow/resources, as a list of dict of str."""
    with (RESOURCES / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def claims():
    """Rows of paper_claims.csv: each claim, and the result that decides it."""
    return rows("paper_claims.csv")


def values(experiment):
    """The paper's numbers for an experiment, by quantity; an empty dict if it gives none."""
    return {
        claim["quantity"]: float(claim["paper_value"])
        for claim in claims()
        if claim["experiment"] == experiment and claim["quantity"] and claim["paper_value"]
    }


def detection():
    """The paper's numbers for label noise, by experiment, setting and metric (shares, not %)."""
    numbers = values("cifar10")
    names = ("auroc", "average_precision", "separation")
    shares = {name: numbers[name] for name in names} | {"recall_20": numbers["recall_20"] / 100}
    return {"cifar10": {"uniform_10": shares}}


def share_certified():
    """Share of pairs that the paper certifies in the natural metric, between 0 and 1."""
    return values("cifar10")["certified_natural"] / 100
