# Files of label noise, and settings of its heads.


def of_noise(pattern):
    """The paths of a pattern for every setting of label noise and each of its experiments."""
    return [
        path
        for noise in config["label_noise"]["settings"]
        for path in expand(pattern, noise=noise, experiment=plan.noisy(noise))
    ]


def of_shown_noise(pattern):
    """The paths of a pattern for the setting of label noise that figure 5 shows."""
    noise = config["label_noise"]["figure"]
    return expand(pattern, noise=noise, experiment=plan.noisy(noise))


def of_fits(pattern):
    """The paths of a pattern for every head and training size of ``label_noise.fits``."""
    names = [fit["name"] for fit in plan.fits()]
    return expand(pattern, noise=config["label_noise"]["fits"]["setting"], experiment=names)


def penalty_of(wildcards):
    """Weight decay of a head that is at its optimum; the ridge for other heads.

    Leave-one-out by a Newton step needs it.
    """
    recipe = config["heads"][plan.setting(wildcards, "head")]
    at_optimum = recipe["optimizer"] == "lbfgs"
    return recipe["weight_decay"] if at_optimum else plan.setting(wildcards, "ridge")


def human_labels_of(wildcards):
    """Path of the human labels in a list, if a setting of label noise needs them."""
    human = config["label_noise"]["settings"][wildcards.noise]["kind"] == "human"
    return ["results/human_labels.safetensors"] if human else []
