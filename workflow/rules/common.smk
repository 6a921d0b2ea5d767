# Functions for the rules: configuration checks, and lists of targets.

import csv
import hashlib
import re
import sys
from functools import cache
from math import isfinite
from pathlib import Path

import yaml
from jsonschema import Draft202012Validator
from jsonschema.validators import extend
from snakemake.exceptions import WorkflowError

# Of this file and not of the Snakefile that was called, which may take this workflow as a module.
ROOT = Path(workflow.current_basedir.get_path_or_uri(secret_free=True)).parents[1]
# Last, so that no module of these folders hides another of its name.
sys.path[:] = [*sys.path, str(ROOT / "workflow"), str(ROOT / "workflow" / "scripts")]
from wtrak.versions import installed_versions
from wtrak_plan.tracking import Lineage, code

# Tables that scikit-learn ships, which convex models may be on.
EMBEDDED_TABLES = ["breast_cancer", "diabetes", "wine"]
# Experiments that claims of the paper are about.
PAPER_EXPERIMENTS = ["cifar10", "cifar10_5k"]
# Between the name of an experiment and that of a variation of it.
VARIED = "__"
# Sections of the configuration that every experiment shares.
SHARED = [
    "notice",
    "compute",
    "activations",
    "frontier",
    "certificates",
    "deletions",
    "audit",
    "refit",
    "ood",
    "tightness",
    "assumptions",
    "label_noise",
    "suspects",
    "removal",
    "retraining",
    "wrif",
    "robustness_gap",
    "theorems",
    "claims",
]


# --- configuration ---


def validate_config(config):
    """Stop with one line per mistake that names the key and what is allowed there."""
    schema = yaml.safe_load(
        (ROOT / "workflow" / "schemas" / "config.schema.yaml").read_text("utf-8")
    )
    # JSON Schema counts 2.0 as an integer, and NaN as above every minimum; here neither is.
    types = Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: type(value) is int
    ).redefine("number", lambda _, value: type(value) in (int, float) and isfinite(value))
    errors = sorted(
        extend(Draft202012Validator, type_checker=types)(schema).iter_errors(config),
        key=lambda error: [str(part) for part in error.absolute_path],
    )
    problems = [line for error in errors for line in explain(error, schema["$defs"])]
    if not problems:
        problems = broken_references(config)
    if problems:
        unique = dict.fromkeys(problems)
        raise WorkflowError("the configuration is wrong:\n  " + "\n  ".join(unique))


def name_folders(config):
    """Give each folder of images that stands within an experiment the experiment's name."""
    for name, block in config["experiments"].items():
        if isinstance(block["dataset"], dict):
            config["datasets"][name] = block["dataset"]
            block["dataset"] = name


def explain(error, definitions):
    """What a schema error says, in words: the key, its value, and what is allowed."""
    path = [str(part) for part in error.absolute_path]
    if "propertyNames" in error.absolute_schema_path:
        path.append(str(error.instance))
    key = ".".join(path)
    allowed = error.schema.get("description", "")
    allowed = f" ({allowed.rstrip('.')})" if allowed else ""
    if error.validator == "additionalProperties":
        known = sorted(error.schema.get("properties", {}))
        for name in sorted(set(error.instance) - set(known)):
            full = f"{key}.{name}" if key else name
            yield f"{full}: unknown key; known here are {', '.join(known)}"
    elif error.validator == "required":
        missing = [name for name in error.validator_value if name not in error.instance]
        for name in missing:
            full = f"{key}.{name}" if key else name
            about = error.schema["properties"].get(name, {})
            about = definitions.get(about.get("$ref", "").rsplit("/", 1)[-1], about)
            about = about.get("description", "")
            yield f"{full}: missing{f' ({about})' if about else ''}"
    else:
        hint = ""
        if error.validator == "type" and re.fullmatch(r"[-+]?\d+[eE][-+]?\d+", str(error.instance)):
            hint = "; YAML takes this for text, a number is written with a point, as in 1.0e-3"
        elif error.validator == "type" and re.fullmatch(r"-?\d+(\.\d*)?", str(error.instance)):
            hint = "; within a block, --config passes numbers as text: use --configfile and a file"
        yield f"{key}: {error.message}{allowed}{hint}"


def broken_references(config):
    """Mistakes that a schema cannot see: names that point nowhere, sizes that do not fit."""
    problems = []

    def must_exist(key, name, section, also=()):
        known = config
        for part in section.split("."):
            known = known[part]
        if name not in known and name not in also:
            choices = ", ".join(sorted([*known, *also]))
            problems.append(f"{key}: {name!r} is not under {section}; known are {choices}")

    # A dataset's file needs a way to decode it; a state dict is told by its suffix.
    formats = {
        name: ["format" in source for source in sources]
        for name, sources in config["data"]["sources"].items()
    }
    blocks = {f"datasets.{name}": block for name, block in config["datasets"].items()}
    for name, block in config["experiments"].items():
        if isinstance(block["dataset"], dict):
            blocks[f"experiments.{name}.dataset"] = block["dataset"]
            if name in config["datasets"]:
                problems.append(
                    f"experiments.{name}.dataset: there is a dataset {name!r} under datasets too; "
                    "give the experiment another name"
                )
    for name, block in blocks.items():
        for key in ("path", "test_path"):
            if not Path(block.get(key, ".")).is_dir():
                problems.append(f"{name}.{key}: there is no folder {block[key]!r}")
        if "kind" in block:
            continue
        key = f"{name}.source"
        must_exist(key, block["source"], "data.sources")
        if not all(formats.get(block["source"], [True])):
            problems.append(f"{key}: {block['source']!r} has a source without a format")
    for name, block in config["backbones"].items():
        key = f"backbones.{name}.weights"
        must_exist(key, block["weights"], "data.sources", ["untrained"])
        if any(formats.get(block["weights"], [False])):
            problems.append(f"{key}: {block['weights']!r} has a source with a format: a dataset")
    for name, block in config["experiments"].items():
        for field, section in {
            "dataset": "datasets",
            "backbone": "backbones",
            "head": "heads",
        }.items():
            if not isinstance(block[field], dict):
                must_exist(f"experiments.{name}.{field}", block[field], section)
        if config["refit"]["n_test"] > block["n_test_frontier"]:
            problems.append(
                f"refit.n_test: {config['refit']['n_test']} is more than n_test_frontier of "
                f"{name}, {block['n_test_frontier']}"
            )
        if block["n_test_frontier"] > block["n_test_scored"]:
            problems.append(
                f"experiments.{name}.n_test_frontier: {block['n_test_frontier']} is more than "
                f"n_test_scored, {block['n_test_scored']}"
            )
    for name in config["ood"]["datasets"]:
        must_exist("ood.datasets", name, "datasets")
    block = config["assumptions"]
    if block["run"] != "all":
        for name in block["run"]:
            must_exist("assumptions.run", name, "assumptions.variations")
    for name, changes in block["variations"].items():
        if "head" in changes:
            must_exist(f"assumptions.variations.{name}.head", changes["head"], "heads")
    for name, task in config["wrif"]["tasks"].items():
        must_exist(f"wrif.tasks.{name}.data", task["data"], "datasets", EMBEDDED_TABLES)
        if task["data"] in config["datasets"] and not {"classes", "pool"} <= set(task):
            problems.append(
                f"wrif.tasks.{name}.data: {task['data']!r} holds images, for which classes and pool "
                "are needed"
            )
    if config["wrif"]["run"] != "all":
        for name in config["wrif"]["run"]:
            must_exist("wrif.run", name, "wrif.tasks")
    must_exist("robustness_gap.task", config["robustness_gap"]["task"], "wrif.tasks")
    task = config["wrif"]["tasks"].get(config["robustness_gap"]["task"], {})
    if task.get("model", "logistic") != "logistic":
        problems.append(
            f"robustness_gap.task: {config['robustness_gap']['task']!r} is not of the logistic model"
        )
    if config["removal"]["experiments"] != "all":
        for name in config["removal"]["experiments"]:
            must_exist("removal.experiments", name, "experiments")
    anew = config["retraining"]
    must_exist("retraining.dataset", anew["dataset"], "datasets")
    if anew["dataset"] in folders():
        problems.append(f"retraining.dataset: {anew['dataset']!r} is a folder of images")
    parts, count = anew["subsets"]["parts"], anew["subsets"]["count"]
    if parts > count:
        problems.append(f"retraining.subsets.parts: {parts} is more than count, {count}")
    for key, of in (("removal", config["removal"]), ("retraining.removal", anew["removal"])):
        if of["shares"] != sorted(of["shares"]):
            problems.append(f"{key}.shares: {of['shares']} is not in rising order")
    low, high = config["wrif"]["orders"]["step_range"]
    if low >= high:
        problems.append(f"wrif.orders.step_range: {low} is not below {high}")
    for name, own in config["claims"]["stand_ins"].items():
        must_exist(f"claims.stand_ins.{name}", own, "experiments")
    for claim in paper_claims():
        if claim["rule"] not in config["claims"]["rules"]:
            problems.append(
                f"claims.rules: {claim['rule']!r} is missing, which {claim['id']} needs"
            )
    must_exist("human_labels.source", config["human_labels"]["source"], "data.sources")
    must_exist("human_labels.dataset", config["human_labels"]["dataset"], "datasets")
    noise = config["label_noise"]["settings"]
    must_exist("label_noise.tracin", config["label_noise"]["tracin"], "heads")
    if config["heads"].get(config["label_noise"]["tracin"], {}).get("optimizer") == "lbfgs":
        problems.append(
            f"label_noise.tracin: {config['label_noise']['tracin']!r} is of lbfgs, which has no epochs"
        )
    fits = config["label_noise"]["fits"]
    must_exist("label_noise.fits.experiment", fits["experiment"], "experiments")
    must_exist("label_noise.fits.setting", fits["setting"], "label_noise.settings")
    for name in fits["heads"]:
        must_exist("label_noise.fits.heads", name, "heads")
        for n_train in fits["n_train"]:
            if f"{name}_{n_train}" in config["assumptions"]["variations"]:
                problems.append(
                    f"assumptions.variations.{name}_{n_train}: the name is that of head {name!r} "
                    f"at n_train {n_train} in label_noise.fits"
                )
    must_exist("label_noise.figure", config["label_noise"]["figure"], "label_noise.settings")
    for name, setting_ in noise.items():
        if setting_["experiments"] != "all":
            for experiment in setting_["experiments"]:
                must_exist(f"label_noise.settings.{name}.experiments", experiment, "experiments")
                of = config["experiments"].get(experiment, {}).get("dataset")
                known = config["human_labels"]["dataset"]
                if setting_["kind"] == "human" and of not in (known, None):
                    problems.append(
                        f"label_noise.settings.{name}.experiments: human labels are of {known}, "
                        f"and {experiment!r} is of {of}"
                    )
    if block["ridges"] != sorted(block["ridges"]):
        problems.append(f"assumptions.ridges: {block['ridges']} is not in rising order")
    if config["run"]["experiments"] != "all":
        for name in config["run"]["experiments"]:
            must_exist("run.experiments", name, "experiments")
    size, batch = config["activations"]["shard_size"], config["activations"]["batch_size"]
    if size % batch:
        problems.append(f"activations.shard_size: {size} is not a multiple of batch_size, {batch}")
    for section, key in (("frontier", "share_range"), ("certificates", "deletion_range")):
        low, high = config[section][key]
        if low >= high:
            problems.append(f"{section}.{key}: {low} is not below {high}")
    block = config["theorems"]
    if block["n_points"] < block["dimension"]:
        problems.append(
            f"theorems.n_points: {block['n_points']} is less than dimension, {block['dimension']}"
        )
    block = config["deletions"]
    if block["attacked_per_test"] > block["pairs_per_test"]:
        problems.append(
            f"deletions.attacked_per_test: {block['attacked_per_test']} is more than "
            f"pairs_per_test, {block['pairs_per_test']}"
        )
    for section in ("deletions", "refit"):
        removals = config[section]["removals"]
        if removals != sorted(removals):
            problems.append(f"{section}.removals: {removals} is not in rising order")
    return problems


# --- lookups ---


def chosen_experiments():
    """Names of the experiments to run, in the order of the configuration."""
    chosen = config["run"]["experiments"]
    return [name for name in config["experiments"] if chosen == "all" or name in chosen]


def experiments():
    """Those of them that have test points, whose scores can be certified."""
    blocks = {name: config["experiments"][name] for name in chosen_experiments()}
    return [
        name
        for name, block in blocks.items()
        if block["dataset"] not in folders() or "test_path" in config["datasets"][block["dataset"]]
    ]


def needed(targets):
    """Those of the targets that show something: an experiment to run is behind them."""
    if not experiments():
        return []
    noises = config["label_noise"]["settings"]
    behind = {
        "fig5_label_noise": noisy(config["label_noise"]["figure"]),
        "detector_comparison": any(map(noisy, noises)),
        "table6": any(map(noisy, noises)),
        "noise_by_fit": fits(),
        "table7": fits(),
        "fig7_head_removal": removal_experiments(),
        "table10": removal_experiments(),
    }
    return [path for path in targets if behind.get(Path(path).name.split(".")[0], True)]


def folders():
    """Names of the datasets that are folders of images."""
    return [name for name, block in config["datasets"].items() if "kind" in block]


def chosen_folders():
    """Those of them that the experiments to run are on."""
    used = {config["experiments"][name]["dataset"] for name in chosen_experiments()}
    return [name for name in folders() if name in used]


def either(names):
    """A wildcard constraint that admits these names and no others."""
    return "|".join(map(re.escape, names)) or "(?!)"


@cache
def folder_listing(name):
    """Every file below a folder of images, its size and its time, without reading any."""
    block = config["datasets"][name]
    return [
        (path.as_posix(), path.lstat().st_size, path.lstat().st_mtime_ns)
        for key in ("path", "test_path")
        if key in block
        for path in sorted(Path(block[key]).rglob("*"))
        if not path.is_dir()
    ]


def folder_megabytes(name):
    """Memory for reading a folder of images: all of them, and once more while they are written."""
    side = config["datasets"][name]["side"]
    return 1000 + len(folder_listing(name)) * 2 * 3 * side**2 // 10**6


def experiment_block(name):
    """Settings of an experiment, or of a variation of one.

    Variations are those of the assumptions, as in ``cifar10__size_32``, and another head at another
    size, as in ``cifar10__adam_5000``.
    """
    name, _, variation = name.partition(VARIED)
    block, known = config["experiments"][name], config["assumptions"]["variations"]
    if variation and variation not in known:
        head, _, n_train = variation.rpartition("_")
        return block | {"head": head, "n_train": int(n_train)}
    return block | known.get(variation, {})


def setting(wildcards, key):
    """A key of the experiment that the wildcards name."""
    return experiment_block(wildcards.experiment)[key]


def variations():
    """Names of the variations to compute, in the order of the configuration."""
    chosen = config["assumptions"]["run"]
    names = config["assumptions"]["variations"]
    return [name for name in names if chosen == "all" or name in chosen]


def of_readings(pattern):
    """A path pattern for every experiment to run as it is, and for every variation of it."""
    names = [
        name
        for experiment in experiments()
        for name in [experiment, *(f"{experiment}{VARIED}{v}" for v in variations())]
    ]
    return expand(pattern, experiment=names)


def noisy(noise):
    """Experiments to run whose labels a setting of label_noise makes wrong."""
    chosen = config["label_noise"]["settings"][noise]["experiments"]
    return [name for name in experiments() if chosen == "all" or name in chosen]


def fits():
    """Experiments on wrong labels with several heads and sizes, as name, head and n_train.

    One that the configuration has under a name of its own goes by that. None where the experiment
    that they vary is not to be run.
    """
    out = []
    if config["label_noise"]["fits"]["experiment"] not in experiments():
        return out
    for head in config["label_noise"]["fits"]["heads"]:
        for n_train in config["label_noise"]["fits"]["n_train"]:
            name = f"{config['label_noise']['fits']['experiment']}{VARIED}{head}_{n_train}"
            wanted = experiment_block(name)
            own = [one for one in experiments() if config["experiments"][one] == wanted]
            out.append({"name": own[0] if own else name, "head": head, "n_train": n_train})
    return out


def of_fits(pattern):
    """A path pattern for every head and size on wrong labels."""
    names = [fit["name"] for fit in fits()]
    return expand(pattern, noise=config["label_noise"]["fits"]["setting"], experiment=names)


def penalty_of(wildcards):
    """Factor of ½‖W‖² at whose optimum the head is, or the ridge for one that is at none."""
    recipe = config["heads"][setting(wildcards, "head")]
    at_optimum = recipe["optimizer"] == "lbfgs"
    return recipe["weight_decay"] if at_optimum else setting(wildcards, "ridge")


def human_labels_of(wildcards):
    """The human labels that a setting of label noise needs, if any."""
    human = config["label_noise"]["settings"][wildcards.noise]["kind"] == "human"
    return ["results/human_labels.safetensors"] if human else []


def of_noise(pattern):
    """A path pattern for every setting of label noise and experiment that it is computed for."""
    return [
        path
        for noise in config["label_noise"]["settings"]
        for path in expand(pattern, noise=noise, experiment=noisy(noise))
    ]


def of_shown_noise(pattern):
    """A path pattern for the setting of label noise that figure 5 shows."""
    noise = config["label_noise"]["figure"]
    return expand(pattern, noise=noise, experiment=noisy(noise))


def head_of(wildcards):
    """The head of an experiment; a variation that changes neither it nor its input shares it."""
    name, _, variation = wildcards.experiment.partition(VARIED)
    changed = config["assumptions"]["variations"].get(variation, {})
    own = {"head", "image_size"} & set(changed)
    return f"results/experiments/{wildcards.experiment if own else name}/head.safetensors"


def frontier_of(wildcards):
    """The frontier of an experiment, or of the one that a variation belongs to."""
    name = wildcards.experiment.partition(VARIED)[0]
    return f"results/experiments/{name}/frontier.json"


def activations_of(wildcards):
    """The activations file that an experiment shares with all of its dataset, backbone and size."""
    block = experiment_block(wildcards.experiment)
    return f"results/activations/{block['dataset']}/{block['backbone']}/{block['image_size']}.safetensors"


def dataset_file(name):
    """The file of a dataset."""
    return f"results/datasets/{name}.safetensors"


def dataset_of(wildcards):
    """The file of the dataset that the wildcards name, directly or through an experiment."""
    return dataset_file(getattr(wildcards, "dataset", None) or setting(wildcards, "dataset"))


def content_of(wildcards):
    """Hash of the content of the dataset that the wildcards name, directly or not.

    Of a folder of images, which is decoded in no job yet, it is that of its listing.
    """
    name = getattr(wildcards, "dataset", None) or setting(wildcards, "dataset")
    if name in folders():
        return hashlib.sha256(repr(folder_listing(name)).encode()).hexdigest()
    return config["datasets"][name]["content_sha256"]


def foreign_of(wildcards):
    """Activations of foreign inputs by the backbone of an experiment."""
    block = experiment_block(wildcards.experiment)
    return f"results/ood/{block['dataset']}/{block['backbone']}/{block['image_size']}.safetensors"


def foreign_datasets(wildcards):
    """Files of the datasets whose test images are foreign inputs."""
    return [dataset_file(name) for name in config["ood"]["datasets"]]


def removal_experiments():
    """Experiments to run from which training points are removed."""
    chosen = config["removal"]["experiments"]
    return [name for name in experiments() if chosen == "all" or name in chosen]


def of_removal(pattern):
    """A path pattern for each of them."""
    return expand(pattern, experiment=removal_experiments())


def of_networks(pattern):
    """A path, {} in which is each network that attributions are a mean of."""
    return [pattern.format(network) for network in range(config["retraining"]["networks"])]


def of_removed_shares(pattern):
    """A path, {} in which is each share of the training points that networks are without."""
    return [pattern.format(share) for share in (0, *config["retraining"]["removal"]["shares"])]


def of_subset_parts(pattern):
    """A path, {} in which is each part of the random subsets that networks are trained on."""
    return [pattern.format(part) for part in range(config["retraining"]["subsets"]["parts"])]


def tasks():
    """Names of the tasks for convex models to run, in the order of the configuration."""
    chosen = config["wrif"]["run"]
    return [name for name in config["wrif"]["tasks"] if chosen == "all" or name in chosen]


def of_tasks(pattern):
    """A path pattern for every task for convex models to run."""
    return expand(pattern, task=tasks())


def task_of(wildcards):
    """Settings of a task for convex models."""
    return stable(config["wrif"]["tasks"][wildcards.task])


def datasets_of_task(name):
    """The dataset whose images a task is on, if it is on images."""
    data = config["wrif"]["tasks"][name]["data"]
    return [data] if data in config["datasets"] else []


def images_of_task(wildcards):
    """The file of that dataset."""
    return [dataset_file(name) for name in datasets_of_task(wildcards.task)]


def of_experiments(pattern):
    """A path pattern for every experiment to run."""
    return expand(pattern, experiment=experiments())


def records(names=None):
    """Provenance records of the datasets and backbones of experiments, of all unless named."""
    blocks = [config["experiments"][name] for name in names or experiments()]
    datasets = {block["dataset"] for block in blocks}
    return sorted(
        {f"results/datasets/{name}.json" for name in datasets}
        | {f"results/backbones/{block['backbone']}.json" for block in blocks}
    )


def records_of(wildcards):
    """Provenance records of the dataset and backbone of one experiment."""
    return records([wildcards.experiment])


def people_of(wildcards):
    """What people say of the labels of an experiment's dataset, if they were asked."""
    known = setting(wildcards, "dataset") == config["human_labels"]["dataset"]
    return ["results/human_labels.safetensors"] if known else []


def records_with_foreign():
    """The same, with those of datasets that serve as foreign inputs."""
    foreign = config["ood"]["datasets"] if experiments() else []
    own = records(chosen_experiments())
    return sorted({*own, *(f"results/datasets/{name}.json" for name in foreign)})


def further_datasets():
    """Datasets that are used beside those of experiments, if anything but suspects is computed."""
    if not experiments():
        return set()
    of_convex = {name for task in tasks() for name in datasets_of_task(task)}
    return {*config["ood"]["datasets"], config["retraining"]["dataset"], *of_convex}


def all_records():
    """Provenance records of every dataset and backbone that is used."""
    further = {f"results/datasets/{name}.json" for name in further_datasets()}
    return sorted({*records(chosen_experiments()), *further})


def stable(value):
    """The same value with keys in alphabetical order at every level, for `params`.

    Snakemake compares parameters as text, and the order of merged configuration files varies.
    """
    if isinstance(value, dict):
        return {key: stable(value[key]) for key in sorted(value)}
    return [stable(item) for item in value] if isinstance(value, list) else value


def published_config():
    """The configuration of the experiments that run, without the folders of this machine."""
    used = {name: config["experiments"][name] for name in chosen_experiments()}
    blocks = used.values()

    def chosen(section, names):
        return {name: config[section][name] for name in names}

    used_datasets = {block["dataset"] for block in blocks} | further_datasets()
    datasets = {
        name: {key: value for key, value in block.items() if key not in ("path", "test_path")}
        for name, block in chosen("datasets", used_datasets).items()
    }
    backbones = chosen("backbones", {block["backbone"] for block in blocks})
    sources = {block["source"] for block in datasets.values() if "source" in block}
    sources |= {block["weights"] for block in backbones.values()} - {"untrained"}
    heads = {block["head"] for block in blocks}
    heads |= {config["label_noise"]["tracin"], *config["label_noise"]["fits"]["heads"]}
    heads |= {
        block["head"]
        for name, block in config["assumptions"]["variations"].items()
        if "head" in block and name in variations()
    }
    return stable(
        {key: config[key] for key in SHARED}
        | {
            "experiments": used,
            "datasets": datasets,
            "backbones": backbones,
            "heads": chosen("heads", heads),
            "sources": {name: config["data"]["sources"][name] for name in sources},
        }
    )


@cache
def resource(name):
    """Rows of a CSV file under workflow/resources."""
    path = ROOT / "workflow" / "resources" / name
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def paper_claims():
    """What the paper says, claim by claim, and which result decides each."""
    return resource("paper_claims.csv")


def claim_sources():
    """Results files that decide each claim, by its id; none where its experiment does not run.

    ``claims.stand_ins`` puts another experiment in the place of one of the paper's.
    """
    out = {}
    for claim in paper_claims():
        name = config["claims"]["stand_ins"].get(claim["experiment"], claim["experiment"])
        runs = name in experiments() or claim["experiment"] not in PAPER_EXPERIMENTS
        found = {
            key: f"results/{claim[key]}".format(experiment=name)
            for key in ("source", "sweep")
            if claim[key]
        }
        out[claim["id"]] = found | {"experiment": name} if runs else {}
    return out


def claim_inputs():
    """All of them."""
    files = (found.get(key) for found in claim_sources().values() for key in ("source", "sweep"))
    return sorted({path for path in files if path})


def paper_values(experiment):
    """The paper's numbers for an experiment, by quantity; empty where the paper has none."""
    return {
        row["quantity"]: float(row["paper_value"])
        for row in paper_claims()
        if row["experiment"] == experiment and row["quantity"] and row["paper_value"]
    }


def paper_detection():
    """The paper's numbers for label noise, by experiment, setting and metric (shares, not %)."""
    values = paper_values("cifar10")
    names = ("auroc", "average_precision", "separation", "recall_20")
    found = {name: values[name] for name in names}
    return {"cifar10": {"uniform_10": found | {"recall_20": found["recall_20"] / 100}}}


@cache
def captions():
    """Captions of figures and tables, by name."""
    folder = ROOT / "workflow" / "report"
    return {path.stem: path.read_text("utf-8") for path in sorted(folder.glob("*.rst"))}


@cache
def suite_of_results():
    """Content hash of each file of the tests that run on results, and of what they read."""
    columns = ROOT / "workflow" / "resources" / "columns.csv"
    return [
        f"{path.name}:{hashlib.sha256(path.read_bytes()).hexdigest()[:10]}"
        for path in [columns, *sorted((ROOT / "tests" / "results").glob("*.py"))]
    ]


def cards():
    """How many GPUs to ask for where one helps, none if everything stays on the CPU."""
    return 0 if config["compute"]["device"] == "cpu" else 1


def megabytes(base):
    """Memory for a rule that grows with every attempt, so that a retry after a kill can pass."""
    return lambda wildcards, attempt: base * attempt


def minutes(base):
    """Run time for a rule that grows with every attempt."""
    return lambda wildcards, attempt: base * attempt
