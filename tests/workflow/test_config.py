"""Mistakes in the configuration are named; every key is checked, used and commented."""

import copy
import re

import pytest
import yaml
from jsonschema import Draft202012Validator

import settings
from conftest import QUICK, REPOSITORY, snakemake
from wtrak_plan.configuration import load_schema, problems_of

CONFIG_TEXT = (REPOSITORY / "config.yaml").read_text(encoding="utf-8")
CONFIG = yaml.safe_load(CONFIG_TEXT)
QUICK_CONFIG = yaml.safe_load((REPOSITORY / "profiles/quick/config.yaml").read_text("utf-8"))
SCHEMA = load_schema()
DIGITS = QUICK_CONFIG["experiments"]["digits"]

# --- mistakes, as a user meets them ---


def nested(changes):
    """A configuration from values by dotted key."""
    out = {}
    for key, value in changes.items():
        *sections, last = key.split(".")
        inner = out
        for section in sections:
            inner = inner.setdefault(section, {})
        inner[last] = value
    return out


def dry_run(folder, changes):
    """A dry run of the quick configuration with changes, by dotted key, on top of it."""
    extra = folder / "extra.yaml"
    # Each value in full: YAML's anchors are no concern of these tests.
    extra.write_text(
        yaml.safe_dump(copy.deepcopy(nested(changes)), sort_keys=False), encoding="utf-8"
    )
    files = ("--configfile", str(extra))
    return snakemake(
        REPOSITORY, "--dry-run", *QUICK, *files, "--directory", str(folder), check=False
    )


def problems(done):
    """The lines of an error message that name a mistake each."""
    block = done.stdout.partition("the configuration is wrong:\n")[2]
    lines = [line[2:] for line in block.splitlines() if re.match(r"  \S", line)]
    # Snakemake adds where in the Snakefile it was.
    return [line for line in lines if not line.startswith('File "')]


# For each mistake: the key to set, its value, and words of the message that say what is allowed.
# All mistakes are made in one file.
MISTAKES = {
    "an unknown section": ("ridge", 1.0e-4, "known here are activations, assumptions, audit"),
    "an unknown key": ("compute.blocksize", 64, "known here are block_size, device"),
    "an unknown key of an experiment": ("experiments.digits.rigde", 1.0, "n_wasserstein, ridge"),
    "an unknown key of a head": ("heads.lbfgs.epochs", 3, "known here are gradient_norm"),
    "a key of another optimizer": ("heads.adam.momentum", 0.9, "known here are batch_size, epochs"),
    "text for a number": ("experiments.digits.n_train", "many", "at least 2"),
    "a number that YAML reads as text": ("heads.adam.learning_rate", "1e-3", "above 0"),
    "a fraction for a whole number": ("frontier.points", 2.5, "2 to 1000"),
    "a whole number with a point": ("compute.block_size", 2048.0, "at least 1"),
    "true for a number": ("activations.batch_size", True, "at least 1"),
    "a number for text": ("notice", 3, "text printed on every figure"),
    "a number for a folder": ("data.directory", 3, "folder for downloads"),
    "a value for a section": ("frontier.share_range", 0.5, "two shares between 0 and 1"),
    "text for a list": ("data.sources.h", "https://x/y", "array"),
    "null for a value": ("experiments.digits.gradient", None, "loss, margin or logit"),
    "null for a number": ("experiments.digits.ridge", None, "above 0"),
    "null for a block": ("heads.sgd", None, "object"),
    "a ridge of zero": ("experiments.zero.ridge", 0, "above 0"),
    "a negative ridge": ("experiments.negative.ridge", -1.0e-4, "above 0"),
    "a ridge that is NaN": ("experiments.nan.ridge", float("nan"), "above 0"),
    "an infinite ridge": ("experiments.infinite.ridge", float("inf"), "above 0"),
    "an image size of zero": ("experiments.negative.image_size", 0, "32 to 1024"),
    "a negative seed": ("backbones.untrained.seed", -1, "0 to 4294967295"),
    "a seed beyond 32 bits": ("backbones.resnet18.seed", 2**32, "0 to 4294967295"),
    "an unknown gradient": ("experiments.zero.gradient", "los", "loss, margin or logit"),
    "an unknown test label": ("experiments.zero.test_label", "true", "true_label or predicted"),
    "a label with a formula": ("experiments.zero.label", "$n$", "spaces and , . : ;"),
    "an unknown precision": ("activations.precision", "float16", "float32 or bfloat16"),
    "an unknown device": ("compute.device", "gpu", "auto, cpu, cuda or cuda:NUMBER"),
    "an architecture that is a number": ("backbones.untrained.architecture", 18, "of torchvision"),
    "an image size that is a word": ("experiments.zero.image_size", "own", "or published"),
    "a mean of one channel": (
        "backbones.untrained.preprocessing",
        {"mean": [0.5]},
        "three numbers from 0 to 1",
    ),
    "an unknown interpolation": (
        "backbones.resnet18.preprocessing",
        {"interpolation": "lanczos"},
        "one of bilinear, bicubic",
    ),
    "an unknown optimizer": ("heads.mine.optimizer", "lion", "lbfgs, adam or sgd"),
    "one name for a list": ("run.experiments", "digits", "list of names"),
    "a short hash": ("datasets.digits.content_sha256", "cc55477c", "64 hexadecimal digits"),
    "a colon in a folder": ("data.mirrors", ["/a:b"], "without colons"),
    "a name with capitals": ("heads.Adam", CONFIG["heads"]["adam"], "lower-case letters"),
    "plain http": ("data.sources.a", [{"kind": "https", "url": "http://x/y"}], "https://"),
    "an unknown key of a source": (
        "data.sources.b",
        [{"kind": "file", "path": "x", "sha": "0"}],
        "known here are description, format, kind, notice, path, sha256",
    ),
    "a key of another kind": (
        "data.sources.c",
        [{"kind": "npm", "package": "x", "version": "1.0", "url": "https://x/y"}],
        "known here are description, format, kind, notice, package, sha256, version",
    ),
    "an unknown kind": ("data.sources.d", [{"kind": "ftp"}], "file, https, npm, pypi or embedded"),
    "a share of all labels": (
        "label_noise.settings.a",
        {"kind": "uniform", "rate": 1.0, "experiments": "all"},
        "a share between 0 and 1",
    ),
    "a rate of human labels": (
        "label_noise.settings.b",
        {"kind": "human", "rate": 0.1, "labels": "worse", "experiments": "all"},
        "known here are experiments, kind, label, labels",
    ),
    "an unknown key of a variation": (
        "assumptions.variations.v",
        {"ridge": 1.0e-4},
        "known here are gradient, head, image_size",
    ),
    "a variation of nothing": ("assumptions.variations.w", {}, "what it changes"),
    "a name with two underscores": ("assumptions.variations.x__y", {"head": "adam"}, "single"),
    "an experiment like a variation": ("experiments.digits__adam", dict(DIGITS), "single"),
    "an unknown kind of dataset": (
        "datasets.x",
        {"kind": "folder", "path": "x", "side": 32},
        "image_folder",
    ),
    "a folder without a size": (
        "experiments.y",
        DIGITS | {"dataset": {"kind": "image_folder", "path": "x"}},
        "pixels, 8 to 1024",
    ),
    "an unknown ranking": ("suspects.rank_by", "si", "loss or out_of_fold_loss"),
    "all but for training": ("experiments.z", DIGITS | {"n_test_scored": "all"}, "at least 1"),
    "an unknown model": (
        "wrif.tasks.a",
        {"data": "wine", "model": "svm", "penalty": 0.1},
        "logistic, multinomial or ridge",
    ),
    "three classes for two": (
        "wrif.tasks.b",
        {"data": "digits", "classes": [1, 2, 3], "pool": 1, "model": "logistic", "penalty": 0.1},
        "two classes",
    ),
    "a network without units": ("retraining.recipe.width", 0, "at least 1"),
    "a recipe of another optimizer": ("retraining.recipe.momentum", 0.9, "batch_size, epochs"),
    "one size of a projection": ("retraining.projection", [32], "two sizes"),
    "all points removed": ("retraining.removal.shares", [0.1, 1.0], "a share between 0 and 1"),
    "an unknown comparison": (
        "claims.rules.near",
        {"compare": "closeness", "reproduced": 1},
        "factor, absolute, at_least or at_most",
    ),
    "a stand-in for no experiment of the paper": ("claims.stand_ins.svhn", "digits", "cifar10"),
    "no hidden layer": ("robustness_gap.hidden", [], "a list of numbers of units"),
    "one name for some variations": ("assumptions.run", "adam", "'all', or a list of names"),
    "a ridge of the sweep at zero": ("assumptions.ridges", [0, 1.0e-4], "above 0"),
    "a file that leads outside": (
        "data.sources.i",
        [{"kind": "https", "url": "https://x/y/", "files": ["../z"]}],
        "without folders",
    ),
    "an unknown format": (
        "data.sources.e",
        [{"kind": "file", "path": "x", "format": "zip"}],
        "how the file is decoded",
    ),
    "a range for a version": (
        "data.sources.f",
        [{"kind": "pypi", "package": "x", "version": "^1"}],
        "one exact version",
    ),
    "a source without its address": ("data.sources.g", [{"kind": "https"}], "begins with https://"),
}
# The key that the message must name, where the mistake lies inside the value above.
INSIDE = {
    "a mean of one channel": "backbones.untrained.preprocessing.mean",
    "an unknown interpolation": "backbones.resnet18.preprocessing.interpolation",
    "an unknown comparison": "claims.rules.near.compare",
    "a colon in a folder": "data.mirrors.0",
    "plain http": "data.sources.a.0.url",
    "an unknown key of a source": "data.sources.b.0.sha",
    "a key of another kind": "data.sources.c.0.url",
    "an unknown kind": "data.sources.d.0.kind",
    "an unknown format": "data.sources.e.0.format",
    "a share of all labels": "label_noise.settings.a.rate",
    "an unknown model": "wrif.tasks.a.model",
    "three classes for two": "wrif.tasks.b.classes",
    "an unknown kind of dataset": "datasets.x.kind",
    "a folder without a size": "experiments.y.dataset.side",
    "all but for training": "experiments.z.n_test_scored",
    "all points removed": "retraining.removal.shares.1",
    "a rate of human labels": "label_noise.settings.b.rate",
    "an unknown key of a variation": "assumptions.variations.v.ridge",
    "a ridge of the sweep at zero": "assumptions.ridges.0",
    "a file that leads outside": "data.sources.i.0.files.0",
    "a range for a version": "data.sources.f.0.version",
    "a source without its address": "data.sources.g.0.url",
}


def problems_with(changes):
    """Mistakes in the quick configuration with changes, by dotted key, on top of it."""
    return problems_of(copy.deepcopy(settings.merged(settings.CONFIG, nested(changes))))


def changes_of_mistakes():
    """A configuration with every mistake above in it."""
    names = ("zero", "negative", "nan", "infinite")
    blocks = {f"experiments.{name}": dict(DIGITS) for name in names}
    return blocks | {key: value for key, value, _ in MISTAKES.values()}


@pytest.fixture(scope="module")
def mistaken():
    """What is said of all of them."""
    return problems_with(changes_of_mistakes())


@pytest.mark.parametrize("case", MISTAKES)
def test_mistake_is_named_with_its_key_and_what_is_allowed(mistaken, case):
    """If it failed, the mistake would be ignored, or its message would not help to mend it."""
    key, _, allowed = MISTAKES[case]
    key = INSIDE.get(case, key)
    lines = [line for line in mistaken if line.startswith(f"{key}: ")]
    assert len(lines) == 1, mistaken
    assert allowed in lines[0]


def test_nothing_but_the_mistakes_is_named(mistaken):
    """If it failed, right values would be called wrong beside the wrong ones."""
    keys = {INSIDE.get(case, key) for case, (key, _, _) in MISTAKES.items()}
    assert [line for line in mistaken if line.split(": ")[0] not in keys] == []


@pytest.mark.slow
def test_mistakes_end_the_run_without_a_traceback(mistaken, tmp_path):
    """If it failed, a user with a typo would read a Python traceback, or jobs would start."""
    done = dry_run(tmp_path, changes_of_mistakes())
    assert done.returncode == 1 and sorted(problems(done)) == sorted(mistaken)
    assert "Traceback" not in done.stdout
    assert "rule " not in done.stdout


@pytest.mark.slow
def test_number_in_a_block_on_the_command_line_is_told_where_to_go(tmp_path):
    """If it failed, a user would read that '300' is no integer and not know why."""
    block = ("--config", "compute={block_size: 300}")
    done = snakemake(
        REPOSITORY, "--dry-run", *QUICK, *block, "--directory", str(tmp_path), check=False
    )
    (line,) = problems(done)
    assert line.startswith("compute.block_size: '300' is not of type 'integer'")
    assert "--config passes numbers as text: use --configfile" in line


@pytest.fixture(scope="module")
def incomplete():
    """What is said of a configuration with blocks that lack keys."""
    changes = {
        "experiments.mine": {"dataset": "digits", "backbone": "untrained"},
        "heads.mine": {"epochs": 3},
        "data.sources.mine": [{"path": "x"}],
        "datasets.mine": {},
    }
    return problems_with(changes)


@pytest.mark.parametrize(
    ("block", "missing"),
    [
        ("experiments.mine", set(DIGITS) - {"dataset", "backbone", "label"}),
        ("heads.mine", {"optimizer"}),
        ("data.sources.mine.0", {"kind"}),
        ("datasets.mine", {"source", "content_sha256"}),
    ],
)
def test_missing_keys_are_named_once_each(incomplete, block, missing):
    """If it failed, what is missing would drown in repetitions and in keys of other kinds."""
    lines = [line for line in incomplete if line.startswith(f"{block}.")]
    named = [line.split(": ")[0].removeprefix(f"{block}.") for line in lines]
    assert sorted(named) == sorted(missing)
    for line in lines:
        assert re.search(r": missing \(.+\)$", line), line


# What a schema cannot see: the same form as above.
# The key that the message must name, where it lies inside the value.
WITHIN = {
    "no such head of a variation": "assumptions.variations.odd.head",
    "no such folder": "datasets.images.path",
    "no such data of a task": "wrif.tasks.iris.data",
    "images without classes": "wrif.tasks.digits.data",
    "a folder with the name of a dataset": "experiments.cifar10.dataset",
}
BROKEN_REFERENCES = {
    "no such dataset": ("experiments.digits.dataset", "svhn", "cifar10, digits"),
    "no such backbone": ("experiments.digits.backbone", "vit", "resnet18, untrained"),
    "no such head": ("experiments.digits.head", "adamw", "adam, adam_1, lbfgs, memorising"),
    "no such source of a dataset": (
        "datasets.cifar10.source",
        "cifar",
        "cifar10, cifar10n, digits, measurements, mnist, resnet18",
    ),
    "no such source of weights": ("backbones.resnet18.weights", "r18", "resnet18, untrained"),
    "no such experiment": ("run.experiments", ["digits", "nope"], "cifar10, cifar10_5k, digits"),
    "frontier beyond the scores": ("experiments.digits.n_test_frontier", 361, "n_test_scored, 360"),
    "no such foreign dataset": ("ood.datasets", ["svhn"], "cifar10, digits"),
    "no such noise for figure 5": ("label_noise.figure", "uniform_50", "human_aggre, human_worse"),
    "TracIn without epochs": ("label_noise.tracin", "lbfgs", "lbfgs, which has no epochs"),
    "one label for two kinds of noise": (
        "label_noise.settings.uniform_10.label",
        "10 % labels of the next class",
        "also the label of 'pair_10'",
    ),
    "no such head of a fit": ("label_noise.fits.heads", ["adamw"], "adam, adam_1, lbfgs"),
    "no such experiment of a fit": ("label_noise.fits.experiment", "nope", "cifar10, cifar10_5k"),
    "no such noise of a fit": ("label_noise.fits.setting", "uniform_50", "human_aggre"),
    "human labels of other images": (
        "label_noise.settings.odd.experiments",
        ["digits"],
        "human labels are for cifar10",
    ),
    "no such folder": (
        "datasets.images",
        {"kind": "image_folder", "path": "/no/such/folder", "side": 32},
        "there is no folder '/no/such/folder'",
    ),
    "a folder with the name of a dataset": (
        "experiments.cifar10",
        DIGITS | {"dataset": {"kind": "image_folder", "path": ".", "side": 32}},
        "give the experiment another name",
    ),
    "no such experiment to remove from": ("removal.experiments", ["nope"], "cifar10, cifar10_5k"),
    "shares in no order": ("removal.shares", [0.2, 0.1], "not in rising order"),
    "no such dataset to retrain on": ("retraining.dataset", "svhn", "cifar10, digits"),
    "removal shares in no order": ("retraining.removal.shares", [0.4, 0.1], "not in rising order"),
    "more parts than subsets": ("retraining.subsets.parts", 21, "more than count, 20"),
    "no such stand-in": ("claims.stand_ins.cifar10", "nope", "cifar10, cifar10_5k"),
    "no such task": ("wrif.run", ["svhn"], "breast_cancer, diabetes"),
    "no such data of a task": (
        "wrif.tasks.iris",
        {"data": "iris", "model": "multinomial", "penalty": 0.1},
        "breast_cancer, cifar10",
    ),
    "images without classes": (
        "wrif.tasks.digits",
        {"data": "digits", "model": "logistic", "penalty": 0.1},
        "classes and pool are needed",
    ),
    "a gap of another model": ("robustness_gap.task", "wine", "not a task of the logistic model"),
    "a reversed range of steps": ("wrif.orders.step_range", [0.1, 0.01], "not below 0.01"),
    "radii in no order": ("wrif.radii", [1.0, 0.1], "not in rising order"),
    "no such variation": ("assumptions.run", ["size_16"], "adam, adam_1, logit"),
    "no such head of a variation": (
        "assumptions.variations.odd",
        {"head": "adamw"},
        "adam, adam_1, lbfgs",
    ),
    "ridges in no order": ("assumptions.ridges", [1.0e-3, 1.0e-4], "not in rising order"),
    "shards that cut a batch": ("activations.shard_size", 1000, "multiple of batch_size, 64"),
    "a reversed range": ("frontier.share_range", [0.9, 0.1], "not below 0.1"),
    "a dataset from weights": ("datasets.odd.source", "resnet18", "format"),
    "weights from a dataset": ("backbones.odd.weights", "digits", "format"),
}


def changes_of_broken_references():
    """A configuration whose every block is right and whose references are not."""
    blocks = {
        "datasets.odd": dict(CONFIG["datasets"]["digits"]),
        "backbones.odd": dict(CONFIG["backbones"]["resnet18"]),
        "label_noise.settings.odd": {"kind": "human", "labels": "worse", "experiments": "all"},
    }
    return blocks | {key: value for key, value, _ in BROKEN_REFERENCES.values()}


@pytest.fixture(scope="module")
def dangling():
    """What is said of all of them."""
    return problems_with(changes_of_broken_references())


@pytest.mark.parametrize("case", BROKEN_REFERENCES)
def test_broken_reference_is_named_with_its_key_and_what_is_allowed(dangling, case):
    """If it failed, a name that points nowhere would end a job, hours later, in a KeyError."""
    key, _, allowed = BROKEN_REFERENCES[case]
    key = WITHIN.get(case, key)
    lines = [line for line in dangling if line.startswith(f"{key}: ")]
    assert len(lines) == 1, dangling
    assert allowed in lines[0]


@pytest.mark.slow
def test_broken_references_end_the_run_without_a_traceback(dangling, tmp_path):
    """If it failed, a user with a typo would read a Python traceback, or jobs would start."""
    done = dry_run(tmp_path, changes_of_broken_references())
    assert done.returncode == 1 and sorted(problems(done)) == sorted(dangling)
    assert "Traceback" not in done.stdout
    assert "rule " not in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("chosen", "absent"),
    [
        ("digits", {"fig7_head_removal", "head_removal_table", "head_removal"}),
        ("digits_half", {"noise_by_fit", "detection_by_fit_table"}),
    ],
)
def test_run_of_one_experiment_plans_no_other(tmp_path, chosen, absent):
    """Heads of an experiment that was not asked for would be fitted, or a figure of none drawn."""
    done = dry_run(tmp_path, {"run.experiments": [chosen]})
    assert done.returncode == 0, done.stdout
    planned = set(re.findall(r"^(\w+) +\d+$", done.stdout, flags=re.M))
    both = {
        "fig7_head_removal",
        "head_removal_table",
        "head_removal",
        "noise_by_fit",
        "detection_by_fit_table",
    }
    assert planned & both == both - absent
    other = {"digits": "digits_half", "digits_half": "digits"}[chosen]
    folders = "experiments|label_noise|removal|suspects"
    assert not re.search(rf"results/({folders})/{other}(__\w+)?/", done.stdout)


@pytest.mark.slow
def test_bounds_themselves_are_allowed(tmp_path):
    """If it failed, the tests above would pass with a check that refuses everything."""
    changes = {
        "frontier.points": 2,
        "experiments.digits.ridge": 1,
        "experiments.digits.n_test_frontier": 360,
        "activations.shard_size": 64,
        "compute.device": "cuda:1",
        "compute.block_size": 1,
        "backbones.untrained.seed": 2**32 - 1,
        "run.experiments": ["digits"],
        "data.mirrors": ["/a", "b c"],
    }
    done = dry_run(tmp_path, changes)
    assert done.returncode == 0, done.stdout
    assert "the configuration is wrong" not in done.stdout


@pytest.mark.slow
def test_configuration_of_the_paper_is_accepted(tmp_path):
    """If it failed, the workflow could not be started as it is shipped."""
    done = snakemake(
        REPOSITORY,
        *("--dry-run", "--profile", "profiles/default", "--workflow-profile", "none"),
        *("--directory", str(tmp_path)),
    )
    for experiment in CONFIG["experiments"]:
        assert f"results/experiments/{experiment}/scores.safetensors" in done.stdout


# --- the schema is closed ---


def resolve(schema):
    return SCHEMA["$defs"][schema["$ref"].removeprefix("#/$defs/")] if "$ref" in schema else schema


def is_closed(schema):
    """Whether unknown keys are refused: outright, by a rule for all names, or in every case."""
    schema = resolve(schema)
    others = schema.get("additionalProperties")
    if others is False:
        return True
    if isinstance(others, dict):
        return "propertyNames" in schema
    if {"then", "else"} <= set(schema):
        return is_closed(schema["then"]) and is_closed(schema["else"])
    # A block whose keys depend on one of them, such as the kind of a source.
    cases = schema.get("allOf", [])
    conditions = [case["if"]["properties"] for case in cases if "if" in case]
    if not conditions or not all(is_closed(case["then"]) for case in cases):
        return False
    (key,) = {name for condition in conditions for name in condition}
    covered = set()
    for condition in conditions:
        covered |= set(condition[key].get("enum", [condition[key].get("const")]))
    return key in schema["required"] and covered == set(schema["properties"][key]["enum"])


def objects(schema, path=()):
    """Every subschema that describes an object, with its path."""
    if isinstance(schema, dict):
        if schema.get("type") == "object" or isinstance(schema.get("properties"), dict):
            yield path, schema
        for key, inner in schema.items():
            # A condition only asks; what it leads to is what must be closed.
            if key != "if":
                yield from objects(inner, (*path, str(key)))
    elif isinstance(schema, list):
        for k, inner in enumerate(schema):
            yield from objects(inner, (*path, str(k)))


def test_schema_refuses_unknown_keys_at_every_level():
    """If it failed, a typo in a key would be ignored and the default silently used."""
    found = dict(objects(SCHEMA))
    assert len(found) > 15
    assert ["/".join(path) for path, schema in found.items() if not is_closed(schema)] == []


def mappings(value, path=()):
    """Every mapping inside a configuration, with its path."""
    if isinstance(value, dict):
        yield path
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in items:
            yield from mappings(inner, (*path, key))


@pytest.mark.parametrize("path", list(mappings(CONFIG)), ids=lambda path: ".".join(map(str, path)))
def test_surplus_key_in_any_block_is_an_error_of_that_block(path):
    """If it failed, a key in this block of config.yaml could be misspelt without notice."""
    changed = copy.deepcopy(CONFIG)
    assert list(Draft202012Validator(SCHEMA).iter_errors(changed)) == []
    block = changed
    for key in path:
        block = block[key]
    block["surplus"] = None
    errors = list(Draft202012Validator(SCHEMA).iter_errors(changed))
    assert errors
    # In a section of named blocks the surplus is a block, and wrong as such.
    assert {tuple(error.absolute_path) for error in errors} <= {path, (*path, "surplus")}
