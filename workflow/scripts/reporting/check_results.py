"""Run the tests of results on the results of this run."""

import os
from pathlib import Path

import pytest

from wtrak.errors import WtrakError
from wtrak.job.runtime import run


def main(smk):
    root = Path(smk.scriptdir).resolve().parents[2]
    os.environ["WTRAK_RESULTS"] = str(Path("results").resolve())
    status = pytest.main(
        [
            str(root / "tests" / "results"),
            f"--config-file={root / 'pyproject.toml'}",
            f"--junitxml={smk.output[0]}",
            "--override-ini=junit_family=xunit2",
            "-p",
            "no:cacheprovider",
        ]
    )
    if status != pytest.ExitCode.OK:
        raise WtrakError(f"the results fail their tests: see {smk.log[0]}")


if __name__ == "__main__":
    run(main, snakemake)
