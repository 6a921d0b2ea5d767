"""Copy the results of a finished full run to where the repository shows them."""

import shutil

from wtrak.errors import WtrakError
from wtrak.io import atomic_path
from wtrak.runtime import run, say


def main(smk):
    if smk.params.notice:
        raise WtrakError(
            f"this run is marked {smk.params.notice!r}; only a run without a notice is published"
        )
    for source, target in zip(smk.input, smk.output, strict=True):
        with atomic_path(target) as temporary:
            shutil.copyfile(source, temporary)
        say(f"{source} -> {target}")


if __name__ == "__main__":
    run(main, snakemake)
