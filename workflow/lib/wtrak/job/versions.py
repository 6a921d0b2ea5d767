"""Versions of the packages that a result was made with: noted in each job's log, compared later."""

import importlib.metadata
import json
import platform
import sys
from pathlib import Path

# Distribution that each imported package belongs to. These decide numbers or what files hold.
PACKAGES = {
    "snakemake": "snakemake",
    "torch": "torch",
    "torchvision": "torchvision",
    "numpy": "numpy",
    "scipy": "scipy",
    "pandas": "pandas",
    "sklearn": "scikit-learn",
    "cleanlab": "cleanlab",
    "safetensors": "safetensors",
    "PIL": "pillow",
    "matplotlib": "matplotlib",
    "seaborn": "seaborn",
}
_MARK = "versions "


def installed_versions():
    """Version of Python and of each of `PACKAGES` that is installed, by distribution name."""
    found = {"python": platform.python_version()}
    for name in PACKAGES.values():
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def versions_line():
    """One line for the log of a job: versions of Python and of the packages it has imported."""
    imported = {PACKAGES[name] for name in PACKAGES.keys() & sys.modules.keys()} | {"python"}
    found = {name: value for name, value in installed_versions().items() if name in imported}
    return _MARK + json.dumps(found, sort_keys=True)


def versions_of(log):
    """Versions that the log of a finished job notes; empty if it notes none.

    Parameters
    ----------
    log : path

    Returns
    -------
    dict of str to str
    """
    found = {}
    for line in Path(log).read_text("utf-8", errors="replace").splitlines():
        if line.startswith(_MARK):
            found = json.loads(line.removeprefix(_MARK))
    return found


def other_versions(logs, installed):
    """Jobs that were made with other versions than those installed.

    Parameters
    ----------
    logs : dict of str to path
        Log of each job, by the job's name.
    installed : dict of str to str

    Returns
    -------
    dict of str to list of str
        Names of the jobs, by "package version", both sorted. "unknown" has those whose log notes no
        versions.
    """
    out = {}
    for name, path in sorted(logs.items()):
        used = versions_of(path)
        for package, version in used.items() or [("unknown", "")]:
            if version != installed.get(package):
                out.setdefault(f"{package} {version}".strip(), []).append(name)
    return dict(sorted(out.items()))
