"""Table 3: how many pairs an attack turns inside the radius that each certificate gives them."""

import pandas as pd

from wtrak.io import read_csv, read_json, write_csv
from wtrak.plotting import provenance_line
from wtrak.runtime import run
from wtrak.tables import number, write_documents

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


def main(smk):
    names = smk.params.experiments
    long = pd.DataFrame(
        row
        for name, path in zip(names, smk.input.audits, strict=True)
        for row in rows_of(name, read_csv(path))
    )
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
    heading = "Pairs whose order an attack turns at a cost below their certified radius"
    footer = provenance_line([read_json(path) for path in smk.input.provenance], smk.params.notice)
    write_csv(smk.output.csv, long)
    write_documents(smk.output, TITLE, {heading: display}, footer, "tab:audit")


if __name__ == "__main__":
    run(main, snakemake)
