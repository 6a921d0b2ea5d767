# Files and settings of tasks for convex models.


def of_tasks(pattern):
    """The paths of a pattern for every task to run."""
    return expand(pattern, task=plan.tasks())


def task_of(wildcards):
    """Settings of a task for convex models."""
    return stable(config["wrif"]["tasks"][wildcards.task])


def images_of_task(wildcards):
    """Path of the image dataset of a task, in a list; an empty list if it uses a table."""
    return [plan.dataset_file(name) for name in plan.datasets_of_task(wildcards.task)]
