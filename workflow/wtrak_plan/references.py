"""Find mistakes that a schema cannot see: names that do not exist, and values that do not fit."""

from dataclasses import replace
from importlib.util import find_spec

from wtrak.errors import WtrakError
from wtrak.geometry.catalogue import (
    ARCHITECTURES,
    TIMM,
    UNTRAINED,
    architecture_problem,
    published_preprocessing,
    size_problem,
)
from wtrak_plan import own_data, paper
from wtrak_plan.experiments import Plan

# Tables that scikit-learn ships; tasks for convex models may use them.
EMBEDDED_TABLES = ("breast_cancer", "diabetes", "wine")


def broken_references(config):
    """Describe mistakes that involve several keys, as a list of str.

    The configuration must fit the schema.
    """
    checks = (_data, _backbones, _experiments, _assumptions, _convex)
    checks += (_removal, _claims, _labels, _sizes)
    return [problem for check in checks for problem in check(config)]


def _missing(config, key, name, section, also=()):
    """Yield a sentence if `name`, the value of `key`, is neither in a section nor in `also`."""
    known = config
    for part in section.split("."):
        known = known[part]
    if name not in known and name not in also:
        choices = ", ".join(sorted([*known, *also]))
        yield f"{key}: {name!r} is not under {section}; known are {choices}"


def _rising(key, values):
    if values != sorted(values):
        yield f"{key}: {values} is not in rising order"


def _range(key, bounds):
    low, high = bounds
    if low >= high:
        yield f"{key}: {low} is not below {high}"


def _data(config):
    """Check data of one's own, and that sources of datasets have a format, and of weights none."""
    formats = {
        name: ["format" in source for source in sources]
        for name, sources in config["data"]["sources"].items()
    }
    blocks = {f"datasets.{name}": block for name, block in config["datasets"].items()}
    for name, block in config["experiments"].items():
        if isinstance(block["dataset"], dict):
            blocks[f"experiments.{name}.dataset"] = block["dataset"]
            if name in config["datasets"]:
                yield (
                    f"experiments.{name}.dataset: there is a dataset {name!r} under datasets too; "
                    "give the experiment another name"
                )
    for name, block in blocks.items():
        if "kind" in block:
            yield from own_data.problems_of(name, block)
            continue
        key = f"{name}.source"
        yield from _missing(config, key, block["source"], "data.sources")
        if not all(formats.get(block["source"], [True])):
            yield f"{key}: {block['source']!r} has a source without a format"
    for name, block in config["backbones"].items():
        key = f"backbones.{name}.weights"
        also = [*ARCHITECTURES.get(block["architecture"], []), UNTRAINED]
        yield from _missing(config, key, block["weights"], "data.sources", also)
        if any(formats.get(block["weights"], [False])):
            yield f"{key}: {block['weights']!r} has a source with a format: a dataset"
    human = config["human_labels"]
    yield from _missing(config, "human_labels.source", human["source"], "data.sources")
    yield from _missing(config, "human_labels.dataset", human["dataset"], "datasets")
    for name in config["ood"]["datasets"]:
        yield from _missing(config, "ood.datasets", name, "datasets")
        if own_data.are_features(config["datasets"].get(name, {})):
            yield f"ood.datasets: {name!r} holds features; foreign inputs are images"


def _backbones(config):
    """Check architectures, preprocessing, and that networks take the images of experiments."""
    for name, block in config["backbones"].items():
        architecture = block["architecture"]
        problem = architecture_problem(architecture) or missing_timm(architecture)
        if problem:
            yield f"backbones.{name}.architecture: {problem}"
        elif architecture in ARCHITECTURES:
            published = published_preprocessing(architecture, block["weights"])
            try:
                preprocessing = replace(published, **block.get("preprocessing", {}))
            except WtrakError as error:
                yield f"backbones.{name}.preprocessing: {error}"
                continue
            for key, size in _image_sizes(config, name):
                problem = size_problem(architecture, preprocessing, size)
                varied = "; or leave it out of assumptions.run" if key.startswith("ass") else ""
                if problem:
                    yield f"{key}: {problem}{varied}"


def missing_timm(architecture):
    """A sentence if the architecture needs timm, which is not installed beside torch."""
    # Without torch here, jobs run in another environment, which may have timm.
    if architecture.startswith(TIMM) and find_spec("torch") and not find_spec("timm"):
        return f"{architecture!r} needs the package timm, which is not installed"
    return None


def _image_sizes(config, backbone):
    """Yield key and value of each image size that experiments to run have with a backbone."""
    plan, attributed = Plan(config), None
    for name in plan.chosen_experiments():
        block = config["experiments"].get(name, {})
        data = block.get("dataset", {})
        data = data if isinstance(data, dict) else config["datasets"].get(data, {})
        if block.get("backbone") == backbone and not own_data.are_features(data):
            yield f"experiments.{name}.image_size", block["image_size"]
            attributed = name if "kind" not in data or own_data.have_test(data) else attributed
    # Experiments with test points have variations.
    for name in plan.variations(attributed) if attributed else ():
        size = config["assumptions"]["variations"][name].get("image_size")
        if size:
            yield f"assumptions.variations.{name}.image_size", size


def _same_labels(section, labels):
    """Yield a sentence for each label that two blocks of a section share."""
    owners = {}
    for name, label in sorted(labels.items()):
        if owners.setdefault(label, name) != name:
            yield (
                f"{section}.{name}.label: {label!r} is also the label of {owners[label]!r}; "
                "figures and tables could not tell them apart"
            )


def _experiments(config):
    plan = Plan(config)
    yield from _same_labels("experiments", plan.labels(plan.chosen_experiments()))
    for name, block in config["experiments"].items():
        for field in ("dataset", "backbone", "head"):
            if not isinstance(block[field], dict):
                key = f"experiments.{name}.{field}"
                yield from _missing(config, key, block[field], f"{field}s")
        if config["refit"]["n_test"] > block["n_test_frontier"]:
            yield (
                f"refit.n_test: {config['refit']['n_test']} is more than n_test_frontier of "
                f"{name}, {block['n_test_frontier']}"
            )
        if block["n_test_frontier"] > block["n_test_scored"]:
            yield (
                f"experiments.{name}.n_test_frontier: {block['n_test_frontier']} is more than "
                f"n_test_scored, {block['n_test_scored']}"
            )
    if config["run"]["experiments"] != "all":
        for name in config["run"]["experiments"]:
            yield from _missing(config, "run.experiments", name, "experiments")


def _assumptions(config):
    block = config["assumptions"]
    if block["run"] != "all":
        for name in block["run"]:
            yield from _missing(config, "assumptions.run", name, "assumptions.variations")
    for name, changes in block["variations"].items():
        if "head" in changes:
            key = f"assumptions.variations.{name}.head"
            yield from _missing(config, key, changes["head"], "heads")
    yield from _rising("assumptions.ridges", block["ridges"])


def _convex(config):
    for name, task in config["wrif"]["tasks"].items():
        key = f"wrif.tasks.{name}.data"
        yield from _missing(config, key, task["data"], "datasets", EMBEDDED_TABLES)
        if task["data"] in config["datasets"] and not {"classes", "pool"} <= set(task):
            yield f"{key}: {task['data']!r} holds images, for which classes and pool are needed"
        if own_data.are_features(config["datasets"].get(task["data"], {})):
            yield f"{key}: {task['data']!r} holds features; images are taken, and tables by name"
    if config["wrif"]["run"] != "all":
        for name in config["wrif"]["run"]:
            yield from _missing(config, "wrif.run", name, "wrif.tasks")
    yield from _range("wrif.orders.step_range", config["wrif"]["orders"]["step_range"])
    yield from _rising("wrif.radii", config["wrif"]["radii"])
    name = config["robustness_gap"]["task"]
    yield from _missing(config, "robustness_gap.task", name, "wrif.tasks")
    if config["wrif"]["tasks"].get(name, {}).get("model", "logistic") != "logistic":
        yield f"robustness_gap.task: {name!r} is not a task of the logistic model"


def _removal(config):
    if config["removal"]["experiments"] != "all":
        for name in config["removal"]["experiments"]:
            yield from _missing(config, "removal.experiments", name, "experiments")
    retraining = config["retraining"]
    yield from _missing(config, "retraining.dataset", retraining["dataset"], "datasets")
    if "kind" in config["datasets"].get(retraining["dataset"], {}):
        yield f"retraining.dataset: {retraining['dataset']!r} is data of your own"
    parts, count = retraining["subsets"]["parts"], retraining["subsets"]["count"]
    if parts > count:
        yield f"retraining.subsets.parts: {parts} is more than count, {count}"
    yield from _rising("removal.shares", config["removal"]["shares"])
    yield from _rising("retraining.removal.shares", retraining["removal"]["shares"])


def _claims(config):
    for name, stand_in in config["claims"]["stand_ins"].items():
        key = f"claims.stand_ins.{name}"
        yield from _missing(config, key, stand_in, "experiments")
        dataset = config["experiments"].get(stand_in, {}).get("dataset", "")
        block = dataset if isinstance(dataset, dict) else config["datasets"].get(dataset, {})
        if own_data.are_features(block):
            yield f"{key}: {stand_in!r} is on features; claims are judged on images"
    for claim in paper.claims():
        if claim["rule"] not in config["claims"]["rules"]:
            yield f"claims.rules: {claim['rule']!r} is missing; the claim {claim['id']} needs it"


def _labels(config):
    block = config["label_noise"]
    tracin = block["tracin"]
    yield from _missing(config, "label_noise.tracin", tracin, "heads")
    if config["heads"].get(tracin, {}).get("optimizer") == "lbfgs":
        yield f"label_noise.tracin: {tracin!r} uses lbfgs, which has no epochs; name an adam or sgd"
    fits = block["fits"]
    yield from _missing(config, "label_noise.fits.experiment", fits["experiment"], "experiments")
    yield from _missing(config, "label_noise.fits.setting", fits["setting"], "label_noise.settings")
    for name in fits["heads"]:
        yield from _missing(config, "label_noise.fits.heads", name, "heads")
        for n_train in fits["n_train"]:
            if f"{name}_{n_train}" in config["assumptions"]["variations"]:
                yield (
                    f"assumptions.variations.{name}_{n_train}: the name is that of head {name!r} "
                    f"at n_train {n_train} in label_noise.fits"
                )
    yield from _missing(config, "label_noise.figure", block["figure"], "label_noise.settings")
    noise_labels = {name: Plan(config).noise_label(name) for name in block["settings"]}
    yield from _same_labels("label_noise.settings", noise_labels)
    known = config["human_labels"]["dataset"]
    for name, noise in block["settings"].items():
        key = f"label_noise.settings.{name}.experiments"
        for experiment in noise["experiments"] if noise["experiments"] != "all" else ():
            yield from _missing(config, key, experiment, "experiments")
            dataset = config["experiments"].get(experiment, {}).get("dataset")
            if noise["kind"] == "human" and dataset not in (known, None):
                yield f"{key}: human labels are for {known}, but {experiment!r} is on {dataset}"


def _sizes(config):
    size, batch = config["activations"]["shard_size"], config["activations"]["batch_size"]
    if size % batch:
        yield f"activations.shard_size: {size} is not a multiple of batch_size, {batch}"
    yield from _range("frontier.share_range", config["frontier"]["share_range"])
    yield from _range("certificates.deletion_range", config["certificates"]["deletion_range"])
    block = config["theorems"]
    if block["n_points"] < block["dimension"]:
        yield (
            f"theorems.n_points: {block['n_points']} is less than dimension, {block['dimension']}"
        )
    block = config["deletions"]
    if block["attacked_per_test"] > block["pairs_per_test"]:
        yield (
            f"deletions.attacked_per_test: {block['attacked_per_test']} is more than "
            f"pairs_per_test, {block['pairs_per_test']}"
        )
    yield from _rising("deletions.removals", config["deletions"]["removals"])
    yield from _rising("refit.removals", config["refit"]["removals"])
