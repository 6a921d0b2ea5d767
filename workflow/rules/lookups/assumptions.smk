# Files of an experiment and of its variations.


def of_variations(pattern):
    """The paths of a pattern for every experiment to run and for each of its variations."""
    names = [
        name
        for experiment in plan.experiments()
        for name in [experiment, *(f"{experiment}{VARIED}{v}" for v in plan.variations(experiment))]
    ]
    return expand(pattern, experiment=names)


def head_of(wildcards):
    """Path of a head. Variations that change neither the head nor the image size share it."""
    name, _, variation = wildcards.experiment.partition(VARIED)
    changed = config["assumptions"]["variations"].get(variation, {})
    refitted = {"head", "image_size"} & set(changed)
    return f"results/experiments/{wildcards.experiment if refitted else name}/head.safetensors"


def frontier_of(wildcards):
    """Path of the frontier of an experiment; a variation uses that of its experiment."""
    name = wildcards.experiment.partition(VARIED)[0]
    return f"results/experiments/{name}/frontier.json"
