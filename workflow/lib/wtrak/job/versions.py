"""Versions of packages: written to each job's log, and compared with those installed later."""

import importlib.metadata
import json
import platform
import sys
from pathlib import Path

# Distribution name of each package that may change numbers or files.
PACKAGES = {
    "snakemake": "snakemake",
    "torch": "torch",
    "torchvision": "torchvision",
    "numpy": "numpy",
    "scipy": "scipy",
    "pandas": "pandas",
    "pyarrow": "pyarrow",
    "sklearn": "scikit-learn",
    "cleanlab": "cleanlab",
    "safetensors": "safetensors",
    "PIL": "pillow",
    "matplotlib": "matplotlib",
    "seaborn": "seaborn",
}
_MARK = "versions "


def installed_versions():
    """Versions of Python and of the installed `PACKAGES`, by distribution name."""
    versions = {"python": platform.python_version()}
    for name in PACKAGES.values():
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


def versions_line():
    """The line of a log that lists versions of Python and of the imported `PACKAGES`."""
    imported = {PACKAGES[name] for name in PACKAGES.keys() & sys.modules.keys()} | {"python"}
    used = {name: value for name, value in installed_versions().items() if name in imported}
    return _MARK + json.dumps(used, sort_keys=True)


def versions_of(log):
    """Versions listed in the log of a finished job; empty if there are none.

    Parameters
    ----------
    log : path

    Returns
    -------
    dict of str to str
    """
    versions = {}
    for line in Path(log).read_text("utf-8", errors="replace").splitlines():
        if line.startswith(_MARK):
            versions = json.loads(line.removeprefix(_MARK))
    return versions


def other_versions(logs, installed):
    """Jobs that ran with other versions than those installed.

    Parameters
    ----------
    logs : dict of str to path
        Log of each job, by the job's name.
    installed : dict of str to str

    Returns
    -------
    dict of str to list of str
        Sorted names of the jobs, by "package version". Jobs whose log lists no versions are under
        "unknown".
    """
    out = {}
    for name, path in sorted(logs.items()):
        used = versions_of(path)
        for package, version in used.items() or [("unknown", "")]:
            if version != installed.get(package):
                out.setdefault(f"{package} {version}".strip(), []).append(name)
    return dict(sorted(out.items()))
