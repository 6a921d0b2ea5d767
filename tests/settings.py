"""Every setting of the quick run, and other values to try in its place."""

import copy

import yaml

from conftest import REPOSITORY

# Sections in which the user chooses the names of the blocks.
NAMED = [("data", "sources"), ("datasets",), ("backbones",), ("heads",), ("experiments",)]
NAMED += [("assumptions", "variations"), ("label_noise", "settings"), ("wrif", "tasks")]
NAMED += [("claims", "rules")]
QUICK_CONFIG = "profiles/quick/config.yaml"
# Datasets have tests of their own (`test_rerun`): they follow their content. What decides which
# rules there are is no setting of any of them.
LEFT_OUT = {("data",), ("datasets",), ("human_labels",), ("run",), ("claims", "stand_ins")}
LEFT_OUT |= {("robustness_gap", "task"), ("label_noise", "figure")}
# No other model suits the table of this task.
LEFT_OUT |= {("wrif", "tasks", "diabetes", "model")}
LEFT_OUT |= {("heads", name, "optimizer") for name in ("lbfgs", "regularised", "adam_1")}
# Blocks under names that users choose: those that the quick run uses.
USED = {
    "backbones": ["untrained"],
    "experiments": ["digits_half"],
    "heads": ["lbfgs", "regularised", "adam_1"],
    "rules": ["number", "always"],
    "settings": ["uniform_10", "pair_10"],
    "tasks": ["diabetes"],
    "variations": ["margin"],
}
# Another value of each setting that is a word, or that not every number fits.
OTHER = {
    # The same for both experiments, which their sizes tell apart.
    ("experiments", "digits_half", "label"): "another, n = {n_train}",
    ("notice",): "another",
    ("compute", "device"): "auto",
    ("activations", "precision"): "bfloat16",
    ("activations", "shard_size"): 2048,
    ("assumptions", "run"): ["margin"],
    ("assumptions", "variations", "margin", "gradient"): "logit",
    ("label_noise", "settings", "pair_10", "kind"): "uniform",
    ("label_noise", "settings", "pair_10", "experiments"): ["digits"],
    ("label_noise", "settings", "uniform_10", "experiments"): ["digits"],
    ("label_noise", "tracin"): "adam_1",
    ("label_noise", "fits", "experiment"): "digits_half",
    ("label_noise", "fits", "setting"): "pair_10",
    ("ood", "datasets"): ["digits"],
    ("removal", "experiments"): ["digits"],
    ("retraining", "dataset"): "measurements",
    ("suspects", "rank_by"): "loss",
    ("wrif", "run"): ["breast_cancer"],
}
FOR_KEY = {
    "backbone": "resnet18",
    "compare": "at_most",
    "dataset": "mnist",
    "head": "adam",
    "kind": "pair",
    "otherwise": "not reproduced",
    "gradient": "margin",
    "test_label": "predicted",
    "architecture": "resnet34",
    "weights": "resnet18",
    "data": "wine",
    "label": "another",
}


def merged(base, changes):
    """A configuration with another laid over it, as Snakemake does."""
    if not isinstance(base, dict) or not isinstance(changes, dict):
        return changes
    return base | {key: merged(base.get(key), value) for key, value in changes.items()}


def leaves(value, path=()):
    """Path and value of every setting."""
    if path in LEFT_OUT:
        return
    if isinstance(value, dict):
        for key in USED.get(path[-1], value) if path else value:
            if key in value:
                yield from leaves(value[key], (*path, key))
    else:
        yield path, value


CONFIG = merged(
    yaml.safe_load((REPOSITORY / "config.yaml").read_text("utf-8")),
    yaml.safe_load((REPOSITORY / QUICK_CONFIG).read_text("utf-8")),
)
LEAVES = dict(leaves(CONFIG))


def others(path, value):
    """Values to try instead, until one is allowed."""
    if path in OTHER:
        return [OTHER[path]]
    if path and path[-1] in FOR_KEY:
        return [FOR_KEY[path[-1]]]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1, 2 * value]
    if isinstance(value, float):
        return [1.01 * value, 0.99 * value] if value else [0.1]
    if isinstance(value, list) and value:
        last = [[*value[:-1], last] for last in others((), value[-1])]
        return [*last, value[:-1]]
    return []


def write_change(file, path, value):
    """Write a configuration file that gives one setting another value."""
    changes = value
    for key in reversed(path):
        # What holds for one experiment holds for all.
        every = path[0] == "experiments" and key == path[1]
        changes = dict.fromkeys(["digits", "digits_half"] if every else [key], changes)
    # Each value in full: YAML's anchors are no concern of these tests.
    file.write_text(yaml.safe_dump(copy.deepcopy(changes)), "utf-8")
