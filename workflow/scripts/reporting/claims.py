"""Write the ledger: each claim of the paper, the number that decides it, and the verdict."""

import math

import pandas as pd

from wtrak.errors import WtrakError
from wtrak.job.io import write_csv
from wtrak.job.runtime import run
from wtrak.reporting.cells import count, plain, span
from wtrak.reporting.claims import (
    NO_VERDICT,
    VERDICTS,
    evidence,
    has_interval,
    ours,
    unit_in_words,
    verdict,
)
from wtrak.reporting.tables import Cell, write_documents

TITLE = "The paper's claims"


def decided(claim, sources, rules, judged=True):
    """One row of the ledger, as a dict.

    Parameters
    ----------
    claim : dict
        A row of ``paper_claims.csv``.
    sources : dict of str to str
        Paths ``source`` and ``sweep`` of the results that decide it, and ``experiment``, the name
        of the experiment to look up. Empty if that experiment does not run.
    rules : dict of str to dict
        ``claims.rules`` of the configuration.
    judged : bool, optional
        If False, the row has its numbers and no verdict.
    """
    if claim["rule"] not in rules:
        raise WtrakError(
            f"claims: {claim['id']} has rule {claim['rule']!r}, which is not configured"
        )
    numbers = evidence(claim, sources) if sources else None
    paper = float(claim["paper_value"]) if claim["paper_value"] else None
    row = {key: claim[key] for key in ("id", "where", "claim", "kind", "unit", "experiment")}
    row |= {"paper": paper, "value": math.nan, "low": math.nan, "high": math.nan}
    row |= {"mean": math.nan, "sweep_low": math.nan, "sweep_high": math.nan}
    if numbers is not None:
        row |= {"value": numbers.value, "low": numbers.low, "high": numbers.high}
        row |= {"mean": numbers.mean}
        if numbers.sweep:
            row |= dict(zip(("sweep_low", "sweep_high"), numbers.sweep, strict=True))
    row["verdict"] = NO_VERDICT
    if judged:
        row["verdict"] = verdict(numbers, paper, rules[claim["rule"]], claim["kind"])
    return row | {"target": claim["target"], "note": claim["note"]}


def as_text(ledger):
    """The ledger as a table of text, one row for each claim."""
    rows = []
    for row in ledger.itertuples():
        ends = {"low": row.low, "high": row.high} if has_interval(row) else {}
        rows.append(
            {
                "claim": row.claim,
                "where": row.where,
                "verdict": row.verdict,
                "shown in": row.target.rsplit("/", 1)[-1],
                "how we measure it": row.note,
                "unit": unit_in_words(row.unit),
                "paper": plain(row.paper, row.unit),
                "ours": plain(row.value, row.unit)
                if not ends
                else Cell(ours(row), row.unit, row.value, **ends),
                "mean, where ours is a maximum": plain(row.mean, row.unit),
                "over choices": span(row.sweep_low, row.sweep_high, row.unit),
            }
        )
    frame = pd.DataFrame(rows)
    frame.attrs["text_columns"] = 6
    return frame


def counted(ledger):
    """Number of claims with each verdict that any claim has."""
    counts = ledger["verdict"].value_counts()
    names = [name for name in VERDICTS if name in counts]
    return pd.DataFrame(
        [{"verdict": name, "claims": count(counts[name], "claims")} for name in names]
    )


def within_the_paper(inconsistencies):
    """Contradictions within the paper, with values computed from the paper's own numbers."""
    rows = []
    for row in inconsistencies:
        value = math.nan
        if row["expression"]:
            value = float(pd.eval(row["expression"], engine="python"))
        about = {"where": row["where"], "it says": row["says"], "but": row["but"]}
        rows.append(
            about | {"computed from its numbers": row["computed"], "value": plain(value, "ratio")}
        )
    frame = pd.DataFrame(rows)
    frame.attrs["text_columns"] = 4
    return frame


def main(smk):
    rows = [
        decided(claim, smk.params.sources[claim["id"]], smk.params.rules, smk.params.judged)
        for claim in smk.params.claims
    ]
    ledger = pd.DataFrame(rows)
    parts = {
        "Verdicts": counted(ledger),
        "Claim by claim": as_text(ledger),
        "Contradictions within the paper": within_the_paper(smk.params.inconsistencies),
    }
    missing = ledger.loc[ledger["value"].isna(), "id"]
    footer = smk.params.notice
    if len(missing):
        footer += f" Not run, or without a number in this run: {', '.join(missing)}."
    write_csv(smk.output.csv, ledger)
    write_documents(smk.output, TITLE, parts, footer.strip(), "tab:claims")


if __name__ == "__main__":
    run(main, snakemake)
