"""What the catalogue says of torchvision's networks is what torchvision says."""

import re

import pytest
import torchvision

from wtrak.errors import WtrakError
from wtrak.geometry.catalogue import (
    ARCHITECTURES,
    WITHOUT_LINEAR,
    Preprocessing,
    architecture_problem,
    megabytes_of,
    published_preprocessing,
    published_source,
    published_weights,
    size_problem,
)

# Their own first step turns ImageNet's statistics into these.
RESCALED = ("googlenet", "inception_v3")


def published():
    """Architecture and weights of every classifier of torchvision."""
    for architecture in torchvision.models.list_models(module=torchvision.models):
        for weights in torchvision.models.get_model_weights(architecture):
            # VGG-16 has weights without a usable classifier, and no classes.
            if weights.meta["categories"] is not None and architecture not in WITHOUT_LINEAR:
                yield architecture, weights


def test_every_classifier_of_torchvision_is_there():
    """If it failed, a network could not be chosen, or a name be offered that is none."""
    wanted = {(architecture, weights.name) for architecture, weights in published()}
    found = {(name, weights) for name, known in ARCHITECTURES.items() for weights in known}
    assert found == wanted
    every = set(torchvision.models.list_models(module=torchvision.models))
    assert every - set(ARCHITECTURES) == set(WITHOUT_LINEAR)


def test_weights_and_preprocessing_are_those_that_torchvision_publishes():
    """If it failed, other weights would be fetched, or images be prepared for others."""
    for architecture, weights in published():
        found, wanted = published_weights(architecture, weights.name), weights.transforms()
        source = published_source(architecture, weights.name)
        assert source["url"] == weights.url
        # torch.hub takes the digits from the name in the same way.
        assert source["sha256"] == re.search(r"-([a-f0-9]*)\.", weights.url).group(1)
        assert len(source["sha256"]) >= 8
        assert ("notice" in source) == ("license" in weights.meta)
        assert abs(found.megabytes - weights.meta["_file_size"]) <= 0.5
        preprocessing = found.preprocessing
        assert [preprocessing.resize] == wanted.resize_size
        assert [preprocessing.crop] == wanted.crop_size
        assert preprocessing.interpolation == wanted.interpolation.value
        if architecture in RESCALED:
            assert set(preprocessing.mean + preprocessing.std) == {0.5}
        else:
            assert list(preprocessing.mean) == wanted.mean
            assert list(preprocessing.std) == wanted.std


def test_first_weights_of_an_architecture_fit_the_size_that_it_is_built_for():
    """If it failed, untrained networks would be given images of another size than they take."""
    for architecture, known in ARCHITECTURES.items():
        first = next(iter(known))
        assert published_preprocessing(architecture, "mine") == known[first].preprocessing
        if architecture.startswith("vit_"):
            assert known[first].preprocessing.crop == 224


def test_smallest_sizes_are_torchvisions():
    """If it failed, a size would be refused that works, or accepted and fail in a job."""
    for architecture, weights in published():
        smallest = weights.meta["min_size"][0]
        # Swin pads its input; EfficientNet-V2 takes 32 px, and torchvision says 33.
        if smallest > 33 and not architecture.startswith(("swin_", "vit_", "maxvit_")):
            preprocessing = published_preprocessing(architecture, weights.name)
            assert "or more" in size_problem(architecture, preprocessing, smallest - 1)
            assert size_problem(architecture, preprocessing, smallest) is None


def test_networks_of_one_size_name_it():
    """If it failed, the activations would fail after the images were read."""
    large = published_preprocessing("vit_b_16", "IMAGENET1K_SWAG_E2E_V1")
    assert size_problem("vit_b_16", large, 384) is None
    assert size_problem("vit_b_16", large, "published") is None
    assert "images of 384 px alone" in size_problem("vit_b_16", large, 224)
    small = published_preprocessing("maxvit_t", "untrained")
    assert "224 px alone" in size_problem("maxvit_t", small, 256)
    assert size_problem("swin_t", small, 32) is None


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("vgg", ["'vgg'", "vgg11", "vgg13"]),
        ("resnet_18", ["resnet18"]),
        ("resnett50", ["resnet50"]),
        ("", ["timm:NAME"]),
        ("timm:", ["timm:NAME"]),
        ("squeezenet1_0", ["convolution"]),
        ("fcn_resnet50", ["no classifier"]),
    ],
)
def test_unknown_architectures_are_told_of_near_ones(name, words):
    """If it failed, a user would search torchvision's pages for a name."""
    problem = architecture_problem(name)
    assert all(word in problem for word in words), problem


@pytest.mark.parametrize("name", ["resnet18", "vit_h_14", "timm:vit_tiny_patch16_224"])
def test_known_architectures_pass(name):
    """If it failed, a network could not be chosen."""
    assert architecture_problem(name) is None


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"resize": 32, "crop": 33}, "crop is 33, more than resize, 32"),
        ({"resize": 32, "crop": 32, "interpolation": "lanczos"}, "bilinear or bicubic"),
        ({"resize": 32, "crop": 32, "std": (1, 1, 0)}, "those of std above 0"),
        ({"resize": 32, "crop": 32, "mean": (0, 0)}, "3 numbers each"),
    ],
)
def test_impossible_preprocessing_is_refused(values, words):
    """If it failed, images would be padded, or divided by zero, in a job."""
    with pytest.raises(WtrakError, match=words):
        Preprocessing(**values)


def test_an_experiment_scales_whole_images_or_takes_what_is_published():
    """If it failed, images of the paper's experiments would be cut."""
    published = Preprocessing(256, 224, "bicubic", (0.5,) * 3, (0.5,) * 3)
    assert published.at("published") is published
    for size in (96, "96"):  # of the configuration, and of a wildcard
        assert published.at(size) == Preprocessing(None, 96, "bicubic", (0.5,) * 3, (0.5,) * 3)


def test_sizes_of_weights_are_known():
    """If it failed, jobs with large networks would ask for too little memory."""
    assert megabytes_of("resnet18") == 45
    assert megabytes_of("wide_resnet50_2") == 263  # of two files, the larger
    assert megabytes_of("timm:resnet18") == 0
    assert published_weights("resnet18", "resnet18") is None
