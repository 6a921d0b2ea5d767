"""Compare the results of two runs, byte by byte and number by number."""

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
from safetensors.numpy import load_file

# Files that contain times, or numbers from such files. They differ between any two runs.
TIMED = {
    "checks.xml",
    "convex/cost.csv",
    "figures/claims_figure.pdf",
    "figures/claims_figure.svg",
    "index.html",
    "provenance.json",
    "retraining/speed.csv",
    *(
        f"tables/{name}.{suffix}"
        for name in ("claims", "convex_table", "networks_table")
        for suffix in ("csv", "numbers.csv", "html", "md", "tex")
    ),
}


def files_of(results):
    """Results of a run by their path below its folder, without logs and benchmarks."""
    return {
        path.relative_to(results).as_posix(): path
        for path in Path(results).rglob("*")
        if path.is_file() and path.relative_to(results).parts[0] not in ("logs", "benchmarks")
    }


def differing(one, other):
    """Results that differ between two runs, by name, with a description of the difference.

    Parameters
    ----------
    one, other : path
        Folders of results. The report is not among what is compared, which a run does not write.
    """
    one, other = files_of(one), files_of(other)
    out = dict.fromkeys(one.keys() ^ other.keys(), "only one run has it")
    for name in one.keys() & other.keys() - TIMED:
        if one[name].read_bytes() != other[name].read_bytes():
            out[name] = "other bytes"
    out.pop("report.html", None)
    return out


def numbers_of(path):
    """Arrays of a result by name: tensors, columns of a table, or numbers of a JSON record."""
    if path.suffix == ".safetensors":
        return load_file(path)
    if path.suffix == ".csv":
        frame = pd.read_csv(path)
        # A list of suspects is in the order of a score, of which two may be nearly equal.
        return dict(frame.sort_values("index") if {"rank", "index"} <= set(frame) else frame)
    out, queue = {}, [("", json.loads(path.read_text("utf-8")))]
    while queue:
        name, value = queue.pop()
        if isinstance(value, dict | list):
            inner = value.items() if isinstance(value, dict) else enumerate(value)
            queue += [(f"{name}.{key}", item) for key, item in inner]
        else:
            out[name] = np.array([value])
    return out


def differences(one, other, tolerance, but=()):
    """Numbers of two runs that differ by more than a tolerance times the largest in the array.

    Parameters
    ----------
    one, other : path
        Folders of results.
    tolerance : float
    but : collection of str
        Arrays, columns and keys that are not compared.

    Returns
    -------
    dict of str to str
        What differs, as file and array, column or key: by how much.
    """
    one, other, out = files_of(one), files_of(other), {}
    for name in sorted(one.keys() & other.keys() - TIMED):
        if Path(name).suffix not in (".safetensors", ".csv", ".json"):
            continue
        these, those = numbers_of(one[name]), numbers_of(other[name])
        for key in sorted(these.keys() | those.keys()):
            if key in but:
                continue
            if key not in these or key not in those or np.shape(these[key]) != np.shape(those[key]):
                out[f"{name} {key}"] = "not in both, or of other length"
                continue
            a, b = (pd.Series(np.ravel(part[key])) for part in (these, those))
            if not (pd.api.types.is_numeric_dtype(a) and pd.api.types.is_numeric_dtype(b)):
                if not a.equals(b):
                    out[f"{name} {key}"] = "other words"
                continue
            a, b = a.to_numpy(float), b.to_numpy(float)
            finite = np.isfinite(a)
            if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
                out[f"{name} {key}"] = "other gaps"
            elif finite.any():
                a, b = a[finite], b[finite]
                apart = np.abs(a - b).max() / max(np.abs(a).max(), 1e-300)
                if not apart <= tolerance:
                    out[f"{name} {key}"] = f"{apart:.2g}"
    return out


def times_of(benchmark):
    """Wall time in seconds of the last repeat in a benchmark file of Snakemake."""
    with Path(benchmark).open(newline="", encoding="utf-8") as file:
        return float(list(csv.DictReader(file, delimiter="\t"))[-1]["s"])
