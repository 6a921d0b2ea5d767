"""Copy the results of a finished full run to where the repository shows them."""

import re
import shutil
from pathlib import Path

from wtrak.errors import WtrakError
from wtrak.io import atomic_path, write_text
from wtrak.runtime import run, say


def embed(page, table):
    """The page with `table`, less its title, between its two marks for table 1."""
    body = table.split("\n", 1)[1].strip()
    marks = r"(<!-- table1: written by make publish -->\n).*?(<!-- end of table1 -->)"
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
    readme = Path("README.md")
    if readme.exists():
        table = next(Path(path) for path in smk.input if path.endswith("table1.md"))
        write_text(readme, embed(readme.read_text("utf-8"), table.read_text("utf-8")))


if __name__ == "__main__":
    run(main, snakemake)
