"""Backbones of the configuration: what is wrong with one is said before the first job."""

import copy
from importlib.util import find_spec

import pytest
import yaml

import settings
from conftest import QUICK, REPOSITORY, snakemake
from wtrak_plan.configuration import problems_of
from wtrak_plan.experiments import Plan
from wtrak_plan.references import missing_timm


def with_backbone(image_size=224, chosen=("mine",), **block):
    """The quick configuration, in which one experiment uses another backbone."""
    config = copy.deepcopy(settings.CONFIG)
    config["backbones"]["mine"] = {"weights": "untrained", "seed": 0} | block
    mine = {"backbone": "mine", "image_size": image_size, "label": "mine"}
    config["experiments"]["mine"] = config["experiments"]["digits"] | mine
    config["run"]["experiments"] = list(chosen)
    return config


ACCEPTED = {
    "untrained": {"architecture": "convnext_tiny", "image_size": 32},
    "published weights": {"architecture": "resnet50", "weights": "IMAGENET1K_V2"},
    "published preprocessing": {"architecture": "swin_t", "image_size": "published"},
    "weights from a file": {"architecture": "resnet18", "weights": "resnet18"},
    "a transformer at its size": {"architecture": "vit_b_16", "image_size": 224},
    "a larger transformer": {
        "architecture": "vit_b_16",
        "weights": "IMAGENET1K_SWAG_E2E_V1",
        "image_size": 384,
    },
    "a transformer of one's own": {
        "architecture": "vit_b_16",
        "preprocessing": {"resize": 96, "crop": 96},
        "image_size": 96,
    },
    "own statistics": {
        "architecture": "mobilenet_v3_small",
        "preprocessing": {"mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5]},
    },
}


@pytest.mark.parametrize("case", ACCEPTED)
def test_backbone_is_accepted(case):
    """If it failed, a network could not be used as the pages say."""
    assert problems_of(with_backbone(**ACCEPTED[case])) == []


# The key that is wrong, words of the message, and the settings.
REFUSED = {
    "a misspelt name": ("backbones.mine.architecture", "vgg11", {"architecture": "vgg"}),
    "no linear layer": (
        "backbones.mine.architecture",
        "is a convolution; a linear one is needed",
        {"architecture": "squeezenet1_1"},
    ),
    "weights of another network": (
        "backbones.mine.weights",
        "known are IMAGENET1K_V1, cifar10",
        {"architecture": "resnet18", "weights": "IMAGENET1K_V2"},
    ),
    "a crop that is larger than the image": (
        "backbones.mine.preprocessing",
        "crop is 300, more than resize, 256",
        {"architecture": "resnet18", "preprocessing": {"crop": 300}},
    ),
    "a transformer at another size": (
        "experiments.mine.image_size",
        "224 px alone, the crop of its preprocessing, not 32; write 224 or published",
        {"architecture": "vit_b_16", "image_size": 32},
    ),
    "images that are too small": (
        "experiments.mine.image_size",
        "inception_v3 takes images of 75 px or more, not 32",
        {"architecture": "inception_v3", "image_size": 32},
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_backbone_is_refused(case):
    """If it failed, a run would end in a job, after others had computed for long."""
    key, words, block = REFUSED[case]
    (line,) = problems_of(with_backbone(**block))
    assert line.startswith(f"{key}: ") and words in line


def test_variation_at_a_size_that_a_backbone_does_not_take_is_refused():
    """If it failed, a run would end in a job of the sweep over assumptions."""
    config = with_backbone(architecture="vit_b_16")
    config["assumptions"]["run"] = ["size_32"]
    (line,) = problems_of(config)
    assert line.startswith("assumptions.variations.size_32.image_size: vit_b_16 takes images of")
    assert line.endswith("or leave it out of assumptions.run")
    # A folder without test images has no variations.
    folder = {"kind": "image_folder", "path": ".", "side": 224}
    config["experiments"]["mine"] |= {"dataset": folder}
    assert problems_of(config) == []


def test_experiments_that_do_not_run_are_not_checked():
    """If it failed, one could not keep an experiment in the file and run another."""
    assert problems_of(with_backbone(32, ["digits"], architecture="vit_b_16")) == []


def test_timm_is_asked_for_where_torch_is(monkeypatch):
    """If it failed, a run without timm would end in a job, or one with timm not start."""
    known = {"torch"}
    monkeypatch.setattr("wtrak_plan.references.find_spec", lambda name: name in known or None)
    assert "the package timm, which is not installed" in missing_timm("timm:resnet18")
    assert missing_timm("resnet18") is None
    known.add("timm")
    assert missing_timm("timm:resnet18") is None
    # Jobs run in another environment.
    known.clear()
    assert missing_timm("timm:resnet18") is None


def test_absent_packages_are_found_absent():
    """If it failed, the test before this one would not tell how find_spec answers."""
    assert find_spec("torch") and find_spec("a_package_of_no_name") is None


def test_weights_come_from_where_the_configuration_says():
    """If it failed, a backbone would get weights of another origin."""
    block = {"architecture": "vit_b_16", "weights": "IMAGENET1K_SWAG_LINEAR_V1"}
    (source,) = Plan(with_backbone(**block)).weights_sources("mine")
    assert source["url"] == "https://download.pytorch.org/models/vit_b_16_lc_swag-4e70ced5.pth"
    assert source["sha256"] == "4e70ced5" and "not for commercial use" in source["notice"]
    config = with_backbone(architecture="resnet18", weights="resnet18")
    assert Plan(config).weights_sources("mine") == config["data"]["sources"]["resnet18"]
    assert Plan(config).weights_sources("untrained") == []


@pytest.mark.slow
def test_published_weights_and_preprocessing_are_planned(tmp_path):
    """If it failed, the rules would not know the size, or the address of the weights."""
    file = tmp_path / "mine.yaml"
    block = {"architecture": "efficientnet_b0", "weights": "IMAGENET1K_V1"}
    file.write_text(yaml.safe_dump(with_backbone("published", **block)), "utf-8")
    target = "results/activations/digits/mine/published.safetensors"
    files = ("--configfile", str(file), "--directory", str(tmp_path))
    done = snakemake(REPOSITORY, "--dry-run", "--printshellcmds", *QUICK, *files, target)
    assert "by mine, image size published" in done.stdout
    assert "Fetch and check the backbone mine" in done.stdout
