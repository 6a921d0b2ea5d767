"""How many pairs an attack turns inside the radius that each certificate gives them."""

import math

import pandas as pd

from wtrak.certificates.catalogue import full_title, of_metric
from wtrak.job.io import read_csv, read_json, write_csv
from wtrak.job.runtime import run
from wtrak.reporting.cells import count, percentage, plain
from wtrak.reporting.panels import share_over_panels
from wtrak.reporting.plotting import provenance_line
from wtrak.reporting.tables import labelled, write_documents

TITLE = "Certificates broken by attack"
INTERVALS = "95 % intervals over test and training points"


def rows_of(name, audit):
    """Counts and ratios of one experiment, a certificate a row."""
    points = (audit["test_index"], audit["train_index_i"], audit["train_index_j"])
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
            "most_broken": share_over_panels(broken, *points)[2],
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
        points = (audit["test_index"], audit["train_index_i"], audit["train_index_j"])
        for kind, title in ATTACKS.items():
            cost = audit[f"attack_{kind}"]
            rows.append(
                {
                    "experiment": name,
                    "mass moved": title,
                    "turns the pair": percentage(*share_over_panels(cost < math.inf, *points)),
                    "is the cheapest": percentage(
                        *share_over_panels(cost <= audit["attack"], *points)
                    ),
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


# Which cases of a refit a row is about.
GROUPS = {"": "all pairs", "stable": "stable to first order", "proved": "proved for any set"}


def display_refits(frames):
    """Pairs that turn when sets are deleted, features fixed and head refitted, over all sets."""
    rows = []
    for name, frame in frames.items():
        for (removed, kind), part in frame.groupby(["removed", "kind"], sort=False):
            for column, title in GROUPS.items():
                cases = part[part[column]] if column else part
                points = (cases["test_index"], cases["train_index_i"], cases["train_index_j"])
                row = {
                    "experiment": name,
                    "deleted": f"{removed}, {kind}",
                    "pairs": title,
                    "cases": count(len(cases), "pairs"),
                }
                for how, heading in {
                    "fixed": "features fixed",
                    "refitted": "head refitted",
                }.items():
                    turned = cases[f"flipped_{how}"]
                    row[f"turned, {heading}"] = count(turned.sum(), "pairs")
                    share = share_over_panels(turned, *points)
                    row[f"share, {heading}"] = percentage(*share)
                rows.append(row)
    table = pd.DataFrame(rows)
    table.attrs["text_columns"] = 3
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
            "broken, at most": list(map(percentage, long["most_broken"])),
            "radius / attack, median": [plain(ratio, "ratio") for ratio in long["median_ratio"]],
            "largest": [plain(ratio, "ratio") for ratio in long["largest_ratio"]],
        }
    )
    display.attrs["text_columns"] = 2
    refits = {name: read_csv(path) for name, path in zip(names, smk.input.refits, strict=True)}
    heading = (
        "Pairs whose order an attack turns at a cost below their certified radius "
        "(at most: upper end of the 95 % interval of the share)"
    )
    footer = provenance_line([read_json(path) for path in smk.input.provenance], smk.params.notice)
    parts = {
        heading: display,
        f"The attacks ({INTERVALS})": display_attacks(audits),
        "What fixed features hide: pairs turned when points are deleted for real "
        f"({INTERVALS})": display_refits(refits),
    }
    write_csv(smk.output.csv, long)
    parts = labelled(parts, smk.params.labels)
    write_documents(smk.output, TITLE, parts, footer, "tab:audit")


if __name__ == "__main__":
    run(main, snakemake)
