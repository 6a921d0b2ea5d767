# Files beside a list of suspicious labels.


def skipped_of(wildcards):
    """Path of the list of files that were skipped, in a list; empty for data that are no folder."""
    name = plan.setting(wildcards, "dataset")
    return [f"results/datasets/{name}.skipped.csv"] if name in plan.folders() else []
