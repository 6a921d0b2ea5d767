"""How many pairs an attack turns inside the radius that each certificate gives them."""

import math

import pandas as pd

from wtrak.certificates.catalogue import full_title, of_metric
from wtrak.job.io import read_csv, read_json, write_csv
from wtrak.job.runtime import run
from wtrak.reporting.cells import count, percentage, plain
from wtrak.reporting.plotting import provenance_line
from wtrak.reporting.tables import labelled, write_documents

TITLE = "Certificates broken by attack"


def rows_of(name, audit):
    """Counts and ratios of one experiment, a certificate a row."""
    for method in of_metric("natural"):
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
                    "turns the pair": percentage((cost < math.inf).mean()),
                    "is the cheapest": percentage((cost <= audit["attack"]).mean()),
                    "median cost (deletions)": plain(
                        (cost / audit["one_deletion"]).median(), "deletions"
                    ),
                    "breaks the paper's intervals": count((cost < audit["paper"]).sum(), "pairs"),
                    "breaks the direct": count((cost < audit["direct"]).sum(), "pairs"),
                }
            )
    table = pd.DataFrame(rows)
    table.attrs["text_columns"] = 2
    return table


def display_refits(frames):
    """Pairs that turn when sets are deleted, features fixed and head refitted; means over sets."""
    rows = []
    for name, frame in frames.items():
        for (removed, kind), part in frame.groupby(["removed", "kind"], sort=False):
            pairs, stable = part["pairs"].sum(), part["stable"].sum()
            rows.append(
                {
                    "experiment": name,
                    "deleted": f"{removed}, {kind}",
                    "turned, features fixed": percentage(part["flipped_fixed"].sum() / pairs),
                    "turned, head refitted": percentage(part["flipped_refitted"].sum() / pairs),
                    "stable to first order": count(stable, "pairs"),
                    "of these turned, fixed": count(part["stable_flipped_fixed"].sum(), "pairs"),
                    "of these turned, refitted": count(
                        part["stable_flipped_refitted"].sum(), "pairs"
                    ),
                }
            )
    table = pd.DataFrame(rows)
    table.attrs["text_columns"] = 2
    return table


def main(smk):
    names = smk.params.experiments
    audits = {name: read_csv(path) for name, path in zip(names, smk.input.audits, strict=True)}
    long = pd.DataFrame(row for name, audit in audits.items() for row in rows_of(name, audit))

    def pairs(column):
        return [count(value, "pairs") for value in long[column]]

    display = pd.DataFrame(
        {
            "experiment": long["experiment"],
            "certificate": [full_title("natural", name) for name in long["certificate"]],
            "pairs attacked": pairs("pairs"),
            "broken": pairs("broken"),
            "of these, test point capped": pairs("broken_with_capped_test_point"),
            "radius / attack, median": [plain(ratio, "ratio") for ratio in long["median_ratio"]],
            "largest": [plain(ratio, "ratio") for ratio in long["largest_ratio"]],
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
    parts = labelled(parts, smk.params.labels)
    write_documents(smk.output, TITLE, parts, footer, "tab:audit")


if __name__ == "__main__":
    run(main, snakemake)
