"""The library as an installed package, without the workflow's other packages."""

import json
import os
import subprocess
import sys
import zipfile
from importlib.metadata import PackageNotFoundError, version

import pytest

from conftest import REPOSITORY, copy_repository

pytestmark = pytest.mark.slow

# What only the workflow needs. A package of this name that cannot be imported comes first.
FORBIDDEN = ("matplotlib", "seaborn", "snakemake", "torchvision", "cleanlab", "jsonschema", "tqdm")


def has_setuptools():
    """Whether a wheel can be built without fetching setuptools."""
    try:
        return int(version("setuptools").split(".")[0]) >= 77
    except PackageNotFoundError:
        return False


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with the unpacked wheel and poisoned packages, and the metadata of the wheel."""
    folder = tmp_path_factory.mktemp("install")
    # Of a copy, as a build leaves files beside the code.
    source = copy_repository(folder / "source")
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", folder / "wheels"]
    isolation = ["--no-build-isolation"] if has_setuptools() else []
    subprocess.run([*command, *isolation, source], check=True, capture_output=True)
    (wheel,) = (folder / "wheels").glob("wtrak-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    for name in FORBIDDEN:
        (folder / "site" / name).mkdir()
        (folder / "site" / name / "__init__.py").write_text(
            f"raise ImportError('{name} is forbidden')", encoding="utf-8"
        )
    return folder / "site"


def python(site, code):
    """What Python prints that finds the unpacked wheel first and nothing of this repository."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=site.parent,
        env=os.environ | {"PYTHONPATH": str(site), "PYTHONSAFEPATH": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_wheel_has_every_module_and_nothing_else(installed):
    """An installed module would miss another, or the tests would be installed."""
    library = REPOSITORY / "workflow" / "lib"
    expected = {str(path.relative_to(library)) for path in library.glob("wtrak/**/*.py")}
    found = {str(path.relative_to(installed)) for path in installed.glob("**/*.py")}
    assert found - {f"{name}/__init__.py" for name in FORBIDDEN} == expected
    (metadata,) = installed.glob("wtrak-*.dist-info/METADATA")
    text = metadata.read_text("utf-8")
    assert "License-Expression: MIT" in text
    assert not [name for name in FORBIDDEN if f"Requires-Dist: {name}" in text]


def test_import_is_quick_and_imports_no_torch(installed):
    """A program that may not need it would wait for torch."""
    code = (
        "import time; start = time.process_time(); import wtrak; "
        "seconds = time.process_time() - start; import json, sys; "
        "print(json.dumps([seconds, wtrak.__file__, wtrak.__version__, 'torch' in sys.modules]))"
    )
    seconds, file, found, torch = json.loads(python(installed, code))
    assert file == str(installed / "wtrak" / "__init__.py")
    assert (
        found == (REPOSITORY / "CITATION.cff").read_text("utf-8").split("version: ")[2].split()[0]
    )
    assert not torch
    # Of a processor and not of the clock, as other work may run beside.
    assert seconds < 1


def test_public_part_works_without_the_workflow(installed):
    """A user would need Snakemake or matplotlib to attribute a prediction."""
    code = """
import numpy as np
from wtrak import Attributor
rng = np.random.default_rng(0)
y = np.arange(60) % 3
x = rng.standard_normal((60, 4)) + 2 * np.eye(3, 4)[y]
a = Attributor(ridge=1.0).fit(x[:50], y[:50])
print(a.scores(x[50:]).shape, len(a.top(x[50:])), len(a.label_issues()))
print(len(a.certify_order(x[50:], 0, 1)))
import sys
print([name for name in FORBIDDEN if name in sys.modules])
""".replace("FORBIDDEN", repr(FORBIDDEN))
    first, *rest = python(installed, code).splitlines()
    assert first.startswith("(10, 50) ")
    assert rest == ["10", "[]"]


@pytest.mark.parametrize("name", FORBIDDEN)
def test_poison_works(installed, name):
    """The tests above would pass whatever is imported."""
    assert "forbidden" in python(
        installed, f"try:\n import {name}\nexcept ImportError as error: print(error)"
    )
