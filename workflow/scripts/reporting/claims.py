"""The ledger: every claim of the paper, the number that decides it here, and the verdict."""

import math

import pandas as pd

from wtrak.errors import WtrakError
from wtrak.job.io import write_csv
from wtrak.job.runtime import run
from wtrak.reporting.cells import count, plain, span
from wtrak.reporting.claims import NOT_RUN, VERDICTS, evidence, has_interval, ours, verdict
from wtrak.reporting.tables import Cell, write_documents

TITLE = "The paper's claims"


def decided(claim, sources, rules):
    """One row of the ledger.

    Parameters
    ----------
    claim : dict
        A row of ``paper_claims.csv``.
    sources : dict of str to str
        Paths ``source`` and ``sweep`` that it is decided by, and the ``experiment`` in place of its
        own; empty if that is not among what runs.
    rules : dict of str to dict
    """
    if claim["rule"] not in rules:
        raise WtrakError(
            f"claims: {claim['id']} has rule {claim['rule']!r}, which is not configured"
        )
    found = evidence(claim, sources) if sources else None
    paper = float(claim["paper_value"]) if claim["paper_value"] else None
    row = {key: claim[key] for key in ("id", "where", "claim", "kind", "unit", "experiment")}
    row |= {"paper": paper, "value": math.nan, "low": math.nan, "high": math.nan}
    row |= {"sweep_low": math.nan, "sweep_high": math.nan}
    if found is not None:
        row |= {"value": found.value, "low": found.low, "high": found.high}
        if found.sweep:
            row |= dict(zip(("sweep_low", "sweep_high"), found.sweep, strict=True))
    row["verdict"] = verdict(found, paper, rules[claim["rule"]])
    return row | {"target": claim["target"], "note": claim["note"]}


def as_text(ledger):
    """The ledger as a reader wants it, one row a claim."""
    rows = []
    for row in ledger.itertuples():
        ends = {"low": row.low, "high": row.high} if has_interval(row) else {}
        rows.append(
            {
                "claim": row.claim,
                "where": row.where,
                "verdict": row.verdict,
                "shown in": row.target.rsplit("/", 1)[-1],
                "what ours is": row.note,
                "paper": plain(row.paper, row.unit),
                "ours": plain(row.value, row.unit)
                if not ends
                else Cell(ours(row), row.unit, row.value, **ends),
                "over choices": span(row.sweep_low, row.sweep_high, row.unit),
            }
        )
    frame = pd.DataFrame(rows)
    frame.attrs["text_columns"] = 5
    return frame


def counted(ledger):
    """How many claims came to each verdict."""
    counts = ledger["verdict"].value_counts()
    rows = [{"verdict": name, "claims": count(counts.get(name, 0), "claims")} for name in VERDICTS]
    return pd.DataFrame(rows)


def within_the_paper(inconsistencies):
    """What the paper says against itself, with what its own numbers come to."""
    rows = []
    for row in inconsistencies:
        value = math.nan
        if row["expression"]:
            value = float(pd.eval(row["expression"], engine="python"))
        about = {"where": row["where"], "it says": row["says"], "but": row["but"]}
        rows.append(about | {"of its numbers": row["computed"], "value": plain(value, "ratio")})
    frame = pd.DataFrame(rows)
    frame.attrs["text_columns"] = 4
    return frame


def main(smk):
    rows = [
        decided(claim, smk.params.sources[claim["id"]], smk.params.rules)
        for claim in smk.params.claims
    ]
    ledger = pd.DataFrame(rows)
    parts = {
        "Verdicts": counted(ledger),
        "Claim by claim": as_text(ledger),
        "The paper against itself": within_the_paper(smk.params.inconsistencies),
    }
    missing = ledger.loc[ledger["verdict"] == NOT_RUN, "id"]
    footer = smk.params.notice
    if len(missing):
        footer += f" Not run, or without a number in this run: {', '.join(missing)}."
    write_csv(smk.output.csv, ledger)
    write_documents(smk.output, TITLE, parts, footer.strip(), "tab:claims")


if __name__ == "__main__":
    run(main, snakemake)
