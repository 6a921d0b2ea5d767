# Files beside a list of suspicious labels.


def skipped_of(wildcards):
    """Path of the list of files that were skipped, in a list; empty for data without such files."""
    name = plan.setting(wildcards, "dataset")
    with_files = name in plan.own_datasets("image_folder", "image_list")
    return [f"results/datasets/{name}.skipped.csv"] if with_files else []
