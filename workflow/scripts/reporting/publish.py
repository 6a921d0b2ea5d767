"""Copy the results of a finished full run to results/published, and its verdicts to docs."""

import re
import shutil
from pathlib import Path

from wtrak.errors import WtrakError
from wtrak.job.io import atomic_path, read_csv, write_text
from wtrak.job.runtime import run, say
from wtrak.reporting.claims import short
from wtrak.reporting.tables import markdown


def embed(page, body):
    """The page with `body` between the two comments that mark the place of the claims."""
    marks = r"(<!-- claims: written by make publish -->\n).*?(<!-- end of claims -->)"
    return re.sub(marks, lambda m: f"{m[1]}\n{body}\n\n{m[2]}", page, flags=re.S)


def main(smk):
    if smk.params.notice:
        raise WtrakError(
            f"this run is marked {smk.params.notice!r}; only a run without a notice is published"
        )
    for source, target in zip(smk.input, smk.output, strict=True):
        with atomic_path(target) as temporary:
            shutil.copyfile(source, temporary)
        say(f"{source} -> {target}")
    page = Path("docs/results.md")
    if page.exists():
        ledger = read_csv(next(path for path in smk.input if path.endswith("claims.csv")))
        body = markdown(short(ledger)).strip()
        write_text(page, embed(page.read_text("utf-8"), body))


if __name__ == "__main__":
    run(main, snakemake)
