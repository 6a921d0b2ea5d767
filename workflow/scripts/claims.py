"""The ledger: every claim of the paper, the number that decides it here, and the verdict."""

import math

import pandas as pd

from wtrak.claims import NOT_RUN, VERDICTS, evidence, ours, verdict
from wtrak.errors import WtrakError
from wtrak.io import write_csv
from wtrak.runtime import run
from wtrak.tables import number, write_documents

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
    row = {key: claim[key] for key in ("id", "where", "claim", "kind", "experiment")}
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
        swept = math.isfinite(row.sweep_low)
        rows.append(
            {
                "claim": row.claim,
                "where": row.where,
                "verdict": row.verdict,
                "shown in": row.target.rsplit("/", 1)[-1],
                "what ours is": row.note,
                "paper": "–" if math.isnan(row.paper) else number(row.paper),
                "ours": ours(row),
                "over choices": f"{number(row.sweep_low)} to {number(row.sweep_high)}"
                if swept
                else "–",
            }
        )
    frame = pd.DataFrame(rows)
    frame.attrs["text_columns"] = 5
    return frame


def counted(ledger):
    """How many claims came to each verdict."""
    counts = ledger["verdict"].value_counts()
    rows = [{"verdict": name, "claims": str(counts.get(name, 0))} for name in VERDICTS]
    return pd.DataFrame(rows)


def within_the_paper(inconsistencies):
    """What the paper says against itself, with what its own numbers come to."""
    rows = []
    for row in inconsistencies:
        computed = "–"
        if row["expression"]:
            value = float(pd.eval(row["expression"], engine="python"))
            computed = f"{row['computed']}: {number(value)}"
        about = {"where": row["where"], "it says": row["says"], "but": row["but"]}
        rows.append(about | {"computed": computed})
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
