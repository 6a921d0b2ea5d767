"""What a configuration asks of data that are too small for it is said before the first job."""

import copy
import json
import re

import numpy as np
import pytest
import yaml

from conftest import QUICK, REPOSITORY, snakemake
from wtrak.convex.data import TABLES as CONVEX_TABLES
from wtrak.convex.data import table
from wtrak.geometry.ood import SYNTHETIC
from wtrak.sources import datasets
from wtrak.sources.human_labels import CIFAR10N
from wtrak.sources.image_files import ImageFile
from wtrak_plan.dataset_sizes import (
    FOREIGN,
    FORMATS,
    IN_CLASSES,
    TABLES,
    Images,
    folder_counts,
    size_problems,
)
from wtrak_plan.early_checks import missing_card, unknown_names

CONFIG = yaml.safe_load((REPOSITORY / "config.yaml").read_text("utf-8"))
QUICK_CONFIG = yaml.safe_load((REPOSITORY / "profiles/quick/config.yaml").read_text("utf-8"))


def merged(base, changes):
    """Nested dictionaries, the second over the first, as Snakemake lays them."""
    if not (isinstance(base, dict) and isinstance(changes, dict)):
        return copy.deepcopy(changes)
    out = copy.deepcopy(base)
    for key, value in changes.items():
        out[key] = merged(base.get(key), value)
    return out


def problems(changes, base=None, folder=()):
    """Lines for the quick configuration with changes by dotted key; a folder's files by name."""
    config = merged(CONFIG, QUICK_CONFIG if base is None else base)
    for key, value in changes.items():
        *sections, last = key.split(".")
        inner = config
        for section in sections:
            inner = inner[section]
        inner[last] = value
    every = config["experiments"]
    chosen = config["run"]["experiments"]
    chosen = [*every] if chosen == "all" else chosen

    def some(names):
        return [name for name in chosen if names == "all" or name in names]

    settings = config["label_noise"]["settings"]
    run = config["wrif"]["run"]
    plan = {
        "chosen": chosen,
        "attributed": chosen,
        "noisy": {noise: some(block["experiments"]) for noise, block in settings.items()},
        "fits": config["label_noise"]["fits"]["experiment"] in chosen,
        "removal": some(config["removal"]["experiments"]),
        "tasks": [*config["wrif"]["tasks"]] if run == "all" else run,
        "share": 0.687,
        "own_rows": {},
    }
    return size_problems(config, plan, lambda name: dict(folder))


def test_configurations_as_they_are_have_no_problem():
    """The workflow could not be started as it is shipped."""
    assert problems({}) == []
    assert problems({}, base={}) == []


PAIR = "label_noise.settings.pair_10.rate"
FOLDS = {"experiments.digits_half.n_train": 21, "removal.looked_at": 0.5, "removal.shares": [0.5]}
# For each: the key, a value that is too much, the last that is not, and words of the message.
LIMITS = {
    "training examples": ("experiments.digits.n_train", 1438, 1437, "1,437 training images of dig"),
    "scored": ("experiments.digits.n_test_scored", 361, 360, "360 test images of digits"),
    "read again": ("assumptions.n_test", 361, 360, "360 test images of digits"),
    "foreign": ("ood.n_images", 361, 360, "360 test images of digits"),
    "neighbours of foreign": ("ood.neighbours", 701, 700, "700 training points of digits_half"),
    "removals": ("deletions.removals", [1, 700], [1, 699], "699 that the 700 training points"),
    "top sets": ("deletions.top_k", [700], [699], "699 that the 700 training points"),
    "refitted": ("refit.removals", [10, 601], [10, 600], "600 training points of digits_half"),
    "half the points": ("refit.removals", [351], [350], None),
    "sizes of fits": ("label_noise.fits.n_train", [1438], [1437], "1,437 training images of dig"),
    "no wrong label": (PAIR, 0.0007, 0.0008, "0.0007 of the 700 training labels of digits_half"),
    "only wrong labels": (PAIR, 0.9995, 0.9992, "rounds to all of them"),
    "all removed": ("removal.shares", [0.9982], [0.997], "leaves 1; 2 or more are needed"),
    "neighbours": ("removal.neighbours", 700, 699, "699 that the 700 training points"),
    "none looked at": ("removal.looked_at", 0.0007, 0.0008, "rounds to none"),
    "a range without": ("frontier.share_range", [0.7, 0.9], [0.6, 0.9], "certified share, 0.687"),
    "attributed": ("retraining.n_test", 361, 360, "360 test images of digits"),
    "networks of nothing": ("retraining.removal.shares", [0.9997], [0.9996], "leaves none"),
    "empty subsets": ("retraining.subsets.share", 0.0003, 0.0004, "rounds to none"),
    "orders": ("wrif.orders.n_train", 423, 422, "442 examples of diabetes"),
    "coverage": ("wrif.coverage.n_train", [441], [440, 9999], "442 examples of diabetes"),
    "support": ("wrif.support.n_train", 441, 440, "442 examples of diabetes"),
    "solved": ("wrif.support.n_points", 51, 50, "more than n_train, 50"),
    "attacks": ("wrif.attacks.n_train", 441, 440, "442 examples of diabetes"),
    "attacked": ("wrif.attacks.n_points", 51, 50, "more than n_train, 50"),
    "a gap": ("robustness_gap.n_train", 570, 569, "569 examples of breast_cancer"),
    "left out": ("robustness_gap.share", 0.99, 0.98, "fewer than 2 examples"),
    "model of numbers": ("wrif.tasks.diabetes.model", "logistic", "ridge", "ridge does"),
    "model of two": (
        "wrif.tasks.mine.model",
        "logistic",
        "ridge",
        "wine; multinomial or ridge does",
    ),
    "foreign names": ("ood.datasets", ["mnist", "noise"], ["mnist"], "the name of another set"),
    "format": ("datasets.digits.source", "cifar10n", "digits", "in the format cifar10n"),
    "labels": ("human_labels.source", "mnist", "cifar10n", "human labels have cifar10n"),
    "people": (
        "human_labels.dataset",
        "mnist",
        "cifar10",
        "60,000 training images, but there are labels",
    ),
}
TASK = {"data": "digits", "classes": [3, 8], "pool": 2, "model": "logistic", "penalty": 0.1}
WINE = {"data": "wine", "model": "ridge", "penalty": 0.1}
OTHERS = {
    "model of two": {"wrif.tasks.mine": WINE, "wrif.run": ["mine"]},
    "noise": {"datasets.noise": CONFIG["datasets"]["digits"]},
    "half the points": {"refit.n_points": 5000},
}


@pytest.mark.parametrize("case", LIMITS)
def test_number_that_is_too_large_is_named_and_the_largest_is_not(case):
    """A job would end in it, hours later; or a run be refused that works."""
    key, wrong, right, words = LIMITS[case]
    also = OTHERS["noise"] if case == "foreign names" else OTHERS.get(case, {})
    found = problems(also | {key: wrong})
    assert found and all(line.startswith(f"{key}: ") for line in found), found
    assert words is None or words in found[0], found
    assert problems(also | {key: right}) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"classes": [3, 10]}, "classes: 10 is no class of digits, which has 0 to 9"),
        ({"pool": 3}, "pool: 3 does not divide images of 8×8 pixels"),
    ],
)
def test_task_on_images(change, words):
    """The same in a task that the user adds."""
    run = {"wrif.run": ["mine"], "wrif.tasks.mine": TASK}
    assert problems(run) == []
    (line,) = problems({"wrif.run": ["mine"], "wrif.tasks.mine": TASK | change})
    assert line.startswith(f"wrif.tasks.mine.{words}")


def test_examples_of_a_task_are_those_of_its_two_classes():
    """All images of the dataset would be counted."""
    run = {"wrif.run": ["mine"], "wrif.tasks.mine": TASK}
    count = 183 + 174
    assert problems(run | {"wrif.orders.n_train": count - 20}) == []
    (line,) = problems(run | {"wrif.orders.n_train": count - 19})
    assert "wrif.orders.n_train: 358 with the test points is more than the 357 examples" in line


def test_folds_leave_two_examples():
    """A head would be fitted to one example."""
    small = {"experiments.digits_half.n_train": 3, "label_noise.folds": 2, "suspects.folds": 2}
    lines = problems(small)
    for section in ("label_noise", "suspects"):
        words = f"{section}.folds: 2 folds leave 1 of the 3 training examples of digits_half"
        assert any(line.startswith(words) for line in lines), lines
    lines = problems(small | {"label_noise.folds": 3, "suspects.folds": 3})
    assert not any("folds" in line for line in lines)


def test_human_labels_for_all_experiments_must_be_of_their_images():
    """Labels of CIFAR-10 would be taken for those of digits, row by row, without a word."""
    key = "label_noise.settings.human_aggre.experiments"
    found = problems({key: "all"})
    assert [line.split(": ")[0] for line in found] == [key, key]
    assert "human labels are for cifar10, but 'digits' is on digits" in found[0]
    fits = {"label_noise.fits.setting": "human_worse"}
    assert "label_noise.settings.human_worse.experiments" in problems(fits)[0]


FOLDER = {"kind": "image_folder", "path": "/f", "test_path": "/g", "side": 32}
TRAIN = [ImageFile(f"{name}/{k}.png") for name in ("cat", "dog") for k in range(700)]
TRAIN += [ImageFile("cat/.git", "hidden"), ImageFile("notes.txt", "not in a class's sub-folder")]
TEST = [ImageFile(f"cat/deep/{k}.png") for k in range(400)]
FILES = {"path": (["cat", "dog"], TRAIN), "test_path": (["cat"], TEST)}


def test_files_of_a_folder_are_an_upper_limit():
    """A folder with too few images would be read, and the backbone run over it, first."""
    assert folder_counts(FILES) == {"train": {"cat": 700, "dog": 700}, "test": {"cat": 400}}
    assert folder_counts({"path": FILES["path"]})["test"] == {}
    used = {"datasets.mine": FOLDER, "experiments.digits.dataset": "mine"}
    used |= {"label_noise.fits.n_train": [700], "experiments.digits.n_train": 1400}
    assert problems(used, folder=FILES) == []
    assert problems(used | {"experiments.digits.n_test_scored": 400}, folder=FILES) == []
    (line,) = problems(used | {"experiments.digits.n_train": 1401}, folder=FILES)
    assert "experiments.digits.n_train: 1,401 is more than the 1,400 training files of mine" in line
    (line,) = problems(used | {"experiments.digits.n_test_scored": 401}, folder=FILES)
    assert "more than the 400 test files of mine" in line
    # Fewer may turn out to be images, so that this rate need not be that of all labels.
    rate = {"label_noise.settings.uniform_10.rate": 0.9999, "experiments.digits.n_train": "all"}
    rate |= {"run.experiments": ["digits"], "label_noise.fits.experiment": "cifar10"}
    assert problems(used | rate, folder=FILES) == []


@pytest.mark.parametrize(
    ("classes", "files", "words"),
    [
        (["cat"], ["cat/1", "cat/2"], "has only the class cat"),
        (["cat", "dog"], ["cat/1", "cat/2"], "the sub-folder dog holds no image"),
        (["cat", "dog"], ["cat/1", "cat/2", "dog/1"], "dog has 1 image; two classes with 2"),
        (["train", "val"], ["train/1", "train/2", "val/1", "val/2"], "as in /f/train, or rename"),
    ],
)
def test_folder_in_which_the_reading_would_end(classes, files, words):
    """All images would be read first, and the backbone run over them."""
    found = {"path": (classes, [ImageFile(name) for name in files])}
    used = {"datasets.mine": {"kind": "image_folder", "path": "/f", "side": 32}}
    used |= {"experiments.digits.dataset": "mine"}
    (line,) = problems(used, folder=found)
    assert line.startswith("/f") and words in line


# --- what is known of the data is so ---


def test_sizes_are_those_that_decoders_accept():
    """A right configuration would be refused, or a wrong one accepted."""
    assert set(FORMATS) == set(datasets.DECODERS)
    for name, images in FORMATS.items():
        decode = datasets.DECODERS[name]
        if name.startswith("sklearn"):
            (train, _), (test, _) = decode(None)
            found = Images(len(train), len(test), images.classes, *train.shape[1:3])
            assert images == found
    rows = datasets._CIFAR10_ROWS
    for name in ("cifar10-binary", "cifar10-png-sheets"):
        assert (FORMATS[name].train, FORMATS[name].test) == (5 * rows, rows)
    assert (FORMATS["mnist-idx"].train, FORMATS["mnist-idx"].test) == tuple(
        datasets._MNIST_ROWS.values()
    )


def test_classes_are_counted_for_every_dataset_of_the_configuration():
    """A task would be refused for numbers that there are."""
    hashes = {block["content_sha256"][:16]: name for name, block in CONFIG["datasets"].items()}
    assert set(hashes) == set(IN_CLASSES)
    for content, counts in IN_CLASSES.items():
        source = CONFIG["datasets"][hashes[content]]["source"]
        name = CONFIG["data"]["sources"][source][0]["format"]
        assert sum(counts) == FORMATS[name].train + FORMATS[name].test
        if name.startswith("sklearn"):
            (_, train), (_, test) = datasets.DECODERS[name](None)
            assert counts == np.bincount(np.concatenate([train, test])).tolist()


def test_other_tables_are_the_library_s():
    """A task on a table would be refused, or foreign inputs overwritten."""
    assert set(TABLES) == set(CONVEX_TABLES)
    assert {name: count for name, (count, _) in TABLES.items()} == {
        name: len(table(name)[0]) for name in CONVEX_TABLES
    }
    assert set(FOREIGN) == {"test", *SYNTHETIC}
    assert len(CIFAR10N) == 6


# --- the rest that is known before ---


@pytest.mark.parametrize(
    ("device", "cards", "wrong"),
    [
        ("cuda", 0, True),
        ("cuda", 1, False),
        ("cuda:1", 1, True),
        ("cuda:1", 2, False),
        ("auto", 0, False),
        ("cpu", 0, False),
        # Where torch is in an environment of the jobs alone.
        ("cuda", None, False),
    ],
)
def test_card_that_is_not_there(device, cards, wrong):
    """The first job that needs a card would end the run, hours later; or a right run be refused."""
    assert (missing_card(device, cards) is not None) == wrong


@pytest.mark.slow
def test_run_without_its_card_ends_before_the_first_job(tmp_path):
    """Datasets would be downloaded first; or a dry run for another machine be refused."""
    (tmp_path / "cuda.yaml").write_text("compute: {device: 'cuda:99'}", encoding="utf-8")
    call = ("results/experiments/digits/head.json", *QUICK, "--directory", str(tmp_path / "run"))
    call += ("--configfile", str(tmp_path / "cuda.yaml"))
    done = snakemake(REPOSITORY, *call, check=False)
    assert done.returncode == 1
    assert "compute.device: 'cuda:99', but torch finds" in done.stdout
    assert "Traceback" not in done.stdout
    assert not (tmp_path / "run" / "results").exists()
    # It is not locked, and jobs of others than this machine, or that need no card, are not refused.
    snakemake(REPOSITORY, *call, "--dry-run")
    snakemake(REPOSITORY, "results/datasets/digits.json", *call[1:])


def test_cluster_s_jobs_are_not_refused_for_the_cards_of_this_machine():
    """A login node has none. The condition is read here, as no cluster is."""
    text = (REPOSITORY / "workflow" / "rules" / "checks.smk").read_text("utf-8")
    assert "workflow.local_exec" in text and "workflow.is_main_process" in text


PATTERNS = [
    "results/head/{experiment,a|b{2}}/{noise}.json",
    "results/{dataset}/{size,\\d{1,3}}.csv",
    "results/{experiment}/{experiment}.txt",
    "results/all.csv",
]
ALLOWED = {
    "experiment": ("one|two", "known are one, two"),
    "noise": ("half", "known are half"),
    "dataset": ("digits", "known are digits"),
}


@pytest.mark.parametrize(
    ("target", "wrong"),
    [
        ("results/head/one/half.json", []),
        ("results/head/three/half.json", ["experiment 'three'"]),
        ("results/head/three/third.json", ["experiment 'three'", "noise 'third'"]),
        ("results/digits/12.csv", []),
        ("results/mnist/12.csv", ["dataset 'mnist'"]),
        ("results/one/one.txt", []),
        ("results/three/three.txt", ["experiment 'three'"]),
        ("results/one/two.txt", []),
        ("results/all.csv", []),
        ("figures", []),
        ("--cores", []),
    ],
)
def test_name_in_a_target_that_is_not_known(target, wrong):
    """It would be a KeyError of some lookup."""
    found = unknown_names([target], PATTERNS, ALLOWED)
    assert [line.split("there is no ")[1].split(";")[0] for line in found] == wrong
    assert all(line.startswith(f"{target}: ") and "known are" in line for line in found)


UNKNOWN = {
    "results/experiments/nosuch/head.json": ("experiment", "digits, digits_half"),
    "results/experiments/digits__nosuch/head.json": ("experiment", "margin"),
    "results/experiments/digits__nosuch_50/head.json": ("experiment", "__lbfgs_5000"),
    "results/label_noise/digits/nosuch/heads.safetensors": ("noise", "uniform_10"),
    "results/label_noise/nosuch/uniform_10/heads.safetensors": ("experiment", "digits_half"),
    "results/datasets/nosuch.json": ("dataset", "cifar10, digits, measurements, mnist"),
    "results/backbones/nosuch.json": ("backbone", "resnet18, untrained"),
    "results/activations/nosuch/untrained/32.safetensors": ("dataset", "measurements"),
    "results/figures/gallery_nosuch.svg": ("experiment", "digits_half"),
    "results/retraining/scores/7.safetensors": ("network", "0, 1"),
}


def test_target_with_an_unknown_name_ends_in_what_is_known(tmp_path):
    """A typo would end in a KeyError of a lookup."""
    done = snakemake(REPOSITORY, "-n", *UNKNOWN, *QUICK, "--directory", str(tmp_path), check=False)
    assert done.returncode == 1
    assert "KeyError" not in done.stdout and "Traceback" not in done.stdout
    for target, (kind, known) in UNKNOWN.items():
        (line,) = re.findall(rf"^{re.escape(target)}: (.*)$", done.stdout, flags=re.M)
        assert line.startswith(f"there is no {kind} '") and known in line, line


def test_target_with_a_variation_is_made(tmp_path):
    """What is no experiment of the configuration, and is one of it varied, would be refused."""
    targets = [f"results/experiments/digits__{name}/head.json" for name in ("adam", "sgd_500")]
    done = snakemake(REPOSITORY, "-n", *targets, *QUICK, "--directory", str(tmp_path))
    assert re.search(r"^head +2$", done.stdout, flags=re.M)


def test_sizes_are_checked_before_anything_runs(tmp_path):
    """The check would be there and not be called."""
    changes = {"experiments": {"digits": {"n_train": 2000, "n_test_scored": 400}}}
    (tmp_path / "extra.yaml").write_text(json.dumps(changes), encoding="utf-8")
    extra = ("--configfile", str(tmp_path / "extra.yaml"), "--directory", str(tmp_path / "run"))
    done = snakemake(REPOSITORY, *QUICK, *extra, check=False)
    assert done.returncode == 1 and "Traceback" not in done.stdout
    line = "  experiments.digits.n_train: 2,000 is more than the 1,437 training images of digits"
    assert line in done.stdout
    assert not (tmp_path / "run" / "results").exists()
