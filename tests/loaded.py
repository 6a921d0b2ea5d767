"""Load the workflow of the quick run and print facts as JSON; tests run this as a process.

What is printed: for every file of a finished run, the rules that make it, as Snakemake finds them,
and the rule in Snakemake's record of it; and each product of a job that means another job.
"""

import json
import sys
from pathlib import Path

from snakemake.api import SnakemakeApi
from snakemake.settings.types import ConfigSettings, OutputSettings, Quietness, ResourceSettings


def products(job):
    """Paths of the outputs, logs and benchmark of a job."""
    rule, wildcards = job
    benchmark = [rule.benchmark] if rule.benchmark else []
    patterns = [*rule.output, *rule.log, *benchmark]
    return [str(path.apply_wildcards(dict(wildcards))) for path in patterns]


def main(repository):
    folder = repository / "runs" / "quick"
    with SnakemakeApi(OutputSettings(quiet={Quietness.ALL})) as api:
        loaded = api.workflow(
            resource_settings=ResourceSettings(cores=1),
            config_settings=ConfigSettings(
                configfiles=[repository / "profiles" / "quick" / "config.yaml"]
            ),
            snakefile=repository / "Snakefile",
            workdir=folder,
        )._workflow
        lineage, rules = loaded.globals["LINEAGE"], list(loaded.rules)
        files = [
            path.relative_to(folder).as_posix()
            for path in (folder / "results").rglob("*")
            if path.is_file()
        ]
        makers = {
            path: sorted(rule.name for rule in rules if rule.is_producer(path)) for path in files
        }
        jobs = lineage.jobs_behind(path for path in files if makers[path])
        strays = [
            f"{path} of {job[0].name} means {lineage.maker(path)[0].name}"
            for job in jobs
            for path in products(job)
            if lineage.maker(path) != job
        ]
        one_each = {job[0].name: products(job)[-1] for job in sorted(jobs, key=products)}
    print(json.dumps({"makers": makers, "strays": strays, "one_of_each_rule": one_each}))


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
