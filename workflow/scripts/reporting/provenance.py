"""Record what made the results: configuration, versions, data, weights, machine, and times."""

import csv
import os
import platform
import shutil
import subprocess
from pathlib import Path

from wtrak.job.io import read_json, sha256_file, write_json
from wtrak.job.runtime import describe_device, run, select_device
from wtrak.job.versions import other_versions


def git_commit(folder):
    """The checked-out commit, with a remark if files differ from it; None outside a repository."""
    if shutil.which("git") is None:
        return None

    def git(*words):
        return subprocess.run(
            ["git", "-C", folder, *words],
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
        )

    commit = git("rev-parse", "HEAD")
    if commit.returncode:
        return None
    changed = git("status", "--porcelain", "--untracked-files=no").stdout.strip()
    return commit.stdout.strip() + (" with uncommitted changes" if changed else "")


def job_name(path):
    """A job's rule and wildcards, from the path of its log or benchmark file."""
    path = Path(path)
    return "/".join(path.parts[path.parts.index("results") + 2 :]).removesuffix(path.suffix)


def wall_times(paths):
    """Seconds and peak memory of each job, from its benchmark file, by rule and wildcards."""
    times = {}
    for path in sorted(map(Path, paths)):
        with path.open(newline="", encoding="utf-8") as file:
            row = next(csv.DictReader(file, delimiter="\t"))
        name = job_name(path)
        times[name] = {"seconds": round(float(row["s"]), 1)}
        if row["max_rss"] not in ("NA", "-"):
            times[name]["peak_memory_mb"] = round(float(row["max_rss"]))
    return times


def main(smk):
    jobs = wall_times(smk.input.benchmarks)
    device = select_device(smk.params.config["compute"]["device"])
    record = {
        "commit": git_commit(smk.scriptdir),
        "config": smk.params.config,
        "inputs": [read_json(path) for path in smk.input.records],
        "versions": smk.params.versions,
        # A new version of a package re-runs no job. Results of older versions are listed here.
        "made_with_other_versions": other_versions(
            {job_name(path): path for path in smk.input.logs}, smk.params.versions
        ),
        "machine": {
            "system": f"{platform.system()} {platform.machine()}",
            "cores": os.cpu_count(),
            # Without the number of threads, which holds only for this job.
            "device": describe_device(device).split(", ")[0],
        },
        "jobs": jobs,
        "seconds_of_all_jobs": round(sum(job["seconds"] for job in jobs.values()), 1),
        "sha256": {str(path): sha256_file(path) for path in smk.input.results},
    }
    write_json(smk.output[0], record)


if __name__ == "__main__":
    run(main, snakemake)
