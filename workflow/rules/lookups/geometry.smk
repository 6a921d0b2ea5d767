# Files of foreign inputs.


def of_images(pattern):
    """The paths of a pattern for every experiment on images; features have no foreign inputs."""
    return expand(pattern, experiment=plan.with_images(plan.experiments()))


def foreign_of(wildcards):
    """Path of the activations of foreign inputs under an experiment's backbone."""
    block = plan.experiment_block(wildcards.experiment)
    return f"results/ood/{block['dataset']}/{block['backbone']}/{block['image_size']}.safetensors"


def foreign_datasets(wildcards):
    """Paths of the datasets whose test images serve as foreign inputs."""
    return [plan.dataset_file(name) for name in config["ood"]["datasets"]]


def records_with_foreign():
    """Provenance records of experiments, and of datasets that serve as foreign inputs."""
    foreign = config["ood"]["datasets"] if plan.experiments() else []
    records = plan.records(plan.with_images(plan.chosen_experiments()))
    return sorted({*records, *(f"results/datasets/{name}.json" for name in foreign)})
