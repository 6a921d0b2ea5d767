"""Table 3: how many pairs an attack turns inside the radius that each certificate gives them."""

import math

import pandas as pd

from wtrak.io import read_csv, read_json, write_csv
from wtrak.plotting import provenance_line
from wtrak.runtime import run
from wtrak.tables import number, percent, write_documents

TITLE = "Table 3: certificates broken by attack"
METHODS = {
    "paper": "paper's intervals, capped",
    "tight": "tight intervals",
    "direct": "direct",
    "rigorous": "rigorous",
}


def rows_of(name, audit):
    """Counts and ratios of one experiment, a certificate a row."""
    for method in METHODS:
        ratio = audit[method] / audit["attack"]
        broken = ratio > 1
        yield {
            "experiment": name,
            "certificate": method,
            "pairs": len(audit),
            "broken": int(broken.sum()),
            "broken_with_capped_test_point": int((broken & audit["capped"]).sum()),
            "pairs_with_capped_test_point": int(audit["capped"].sum()),
            "median_ratio": ratio.median(),
            "largest_ratio": ratio.max(),
        }


ATTACKS = {
    "move": "one point's mass, anywhere in the ball",
    "spread": "many points' mass, anywhere in the ball",
    "reweighting": "from training points to others",
    "deletion": "one point deleted",
}


def display_attacks(frames):
    """How often each attack turns a pair at all, and is the cheapest, and what it costs."""
    rows = []
    for name, audit in frames.items():
        for kind, title in ATTACKS.items():
            cost = audit[f"attack_{kind}"]
            rows.append(
                {
                    "experiment": name,
                    "mass moved": title,
                    "turns the pair": percent((cost < math.inf).mean()),
                    "is the cheapest": percent((cost <= audit["attack"]).mean()),
                    "median cost (deletions)": cost_in_deletions(cost, audit["one_deletion"]),
                    "breaks the paper's intervals": f"{(cost < audit['paper']).sum():,}",
                    "breaks the rigorous": f"{(cost < audit['rigorous']).sum():,}",
                }
            )
    table = pd.DataFrame(rows)
    table.attrs["text_columns"] = 2
    return table


def cost_in_deletions(cost, unit):
    """Median over all pairs, as text; attacks that fail cost infinity."""
    median = (cost / unit).median()
    return number(median) if median < math.inf else "∞"


def display_refits(frames):
    """Pairs that turn when sets are deleted, features fixed and head refitted; means over sets."""
    rows = []
    for name, frame in frames.items():
        for (removed, kind), part in frame.groupby(["removed", "kind"], sort=False):
            pairs, certified = part["pairs"].sum(), part["certified"].sum()
            rows.append(
                {
                    "experiment": name,
                    "deleted": f"{removed}, {kind}",
                    "turned, features fixed": percent(part["flipped_fixed"].sum() / pairs),
                    "turned, head refitted": percent(part["flipped_refitted"].sum() / pairs),
                    "certified pairs": f"{certified:,}",
                    "of these turned, fixed": f"{part['certified_flipped_fixed'].sum():,}",
                    "of these turned, refitted": f"{part['certified_flipped_refitted'].sum():,}",
                }
            )
    table = pd.DataFrame(rows)
    table.attrs["text_columns"] = 2
    return table


def main(smk):
    names = smk.params.experiments
    audits = {name: read_csv(path) for name, path in zip(names, smk.input.audits, strict=True)}
    long = pd.DataFrame(row for name, audit in audits.items() for row in rows_of(name, audit))
    display = pd.DataFrame(
        {
            "experiment": long["experiment"],
            "certificate": long["certificate"].map(METHODS),
            "pairs attacked": long["pairs"].map("{:,}".format),
            "broken": long["broken"].map("{:,}".format),
            "of these, test point capped": long["broken_with_capped_test_point"].map("{:,}".format),
            "radius / attack, median": long["median_ratio"].map(number),
            "largest": long["largest_ratio"].map(number),
        }
    )
    display.attrs["text_columns"] = 2
    refits = {name: read_csv(path) for name, path in zip(names, smk.input.refits, strict=True)}
    heading = "Pairs whose order an attack turns at a cost below their certified radius"
    footer = provenance_line([read_json(path) for path in smk.input.provenance], smk.params.notice)
    parts = {
        heading: display,
        "The attacks": display_attacks(audits),
        "What fixed features hide: pairs turned when points are deleted for real": display_refits(
            refits
        ),
    }
    write_csv(smk.output.csv, long)
    write_documents(smk.output, TITLE, parts, footer, "tab:audit")


if __name__ == "__main__":
    run(main, snakemake)
