"""Every family of networks: the last layer is found, and activations are what it is given."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import torchvision
from torch import nn
from torchvision.models.feature_extraction import create_feature_extractor, get_graph_node_names

from wtrak.errors import WtrakError
from wtrak.geometry.backbone import (
    backbone_state,
    build_backbone,
    forward_activations,
)
from wtrak.geometry.catalogue import ARCHITECTURES, Preprocessing
from wtrak.geometry.networks import (
    check_side,
    default_preprocessing,
    fuse_batch_norm,
    last_linear,
    network,
    replace_module,
    weights_bytes,
)
from wtrak.geometry.preprocessing import preprocess

pytestmark = pytest.mark.usefixtures("one_thread")

CPU = torch.device("cpu")
# One small network of each family, its last layer and its width. Test images have 32 px.
SIDE = 32
FAMILIES = {
    "resnet18": ("fc", 512),
    "convnext_tiny": ("classifier.2", 768),
    "efficientnet_b0": ("classifier.1", 1280),
    "mobilenet_v3_small": ("classifier.3", 1024),
    "vit_b_16": ("heads.head", 768),
    "swin_t": ("head", 768),
    "densenet121": ("classifier", 1024),
    "mnasnet0_5": ("classifier.1", 1280),
    "regnet_y_400mf": ("fc", 440),
    "shufflenet_v2_x0_5": ("fc", 1024),
}
by_family = pytest.mark.parametrize("architecture", FAMILIES)


def images_of(side, count=2):
    return np.random.default_rng(0).integers(0, 256, (count, side, side, 3), dtype=np.uint8)


def calibrated(model, side):
    """The state of a network whose BatchNorm has random factors and the statistics of some images.

    With statistics that fit no image, deep networks would give every image the same activations.
    """
    generator = torch.Generator().manual_seed(1)
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.momentum = None  # the mean over all batches, of which there is one
            module.weight.data.uniform_(0.5, 1.5, generator=generator)
            module.bias.data.normal_(0, 0.1, generator=generator)
    if any(isinstance(module, nn.BatchNorm2d) for module in model.modules()):
        inputs = preprocess(torch.from_numpy(images_of(side, 32)), Preprocessing(None, side))
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(2)
            model.train()(inputs)
    model.eval()
    return model.state_dict()


def relative_error(found, wanted):
    return np.linalg.norm(found - wanted) / np.linalg.norm(wanted)


def before_last_layer(model, inputs):
    """What torchvision's own feature extractor finds before the last operation of a model."""
    *_, node, last = get_graph_node_names(model)[1]
    assert last == last_linear("", model)
    with torch.no_grad():
        return create_feature_extractor(model, [node])(inputs)[node].numpy()


@by_family
def test_activations_are_those_of_torchvisions_feature_extractor(architecture):
    """If it failed, features would be of another layer, or BatchNorm be folded where it may not."""
    last, width = FAMILIES[architecture]
    reference = network(architecture, SIDE)
    assert last_linear(architecture, reference) == last
    state = calibrated(reference, SIDE)
    images, preprocessing = images_of(SIDE), Preprocessing(None, SIDE)
    inputs = preprocess(torch.from_numpy(images), preprocessing)
    wanted = before_last_layer(reference, inputs)
    model = build_backbone(architecture, backbone_state(architecture, state), CPU)
    found = forward_activations(model, images, preprocessing, batch_size=2)
    assert found.shape == (2, width)
    # Of different images; a network without training tells them apart by little.
    assert relative_error(found[0], found[1]) > 0.01
    assert relative_error(found, wanted) < 1e-3


# Networks of which all BatchNorm follows convolutions, and one of which half does not.
@pytest.mark.parametrize(
    ("architecture", "before", "after"),
    [
        ("resnet18", 20, 0),
        ("efficientnet_b0", 49, 0),
        ("mobilenet_v3_small", 34, 0),
        ("densenet121", 121, 62),
    ],
)
def test_batch_norm_is_folded_into_the_convolution_before_it(architecture, before, after):
    """If it failed, passes would be slower, or be those of another function."""
    model = network(architecture)
    calibrated(model, SIDE)
    # In double precision, so that rounding hides no difference.
    model, inputs = model.double(), torch.randn(1, 3, SIDE, SIDE, dtype=torch.float64)
    outputs = []
    for count in (before, after):
        assert sum(isinstance(module, nn.BatchNorm2d) for module in model.modules()) == count
        with torch.no_grad():
            outputs.append(model(inputs).numpy())
        fuse_batch_norm(model)
    assert 0 < relative_error(*outputs) < 1e-9


class Shared(nn.Module):
    """A convolution that is used twice, another whose output is used twice, and BatchNorm alone."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = (nn.Conv2d(3, 3, 1) for _ in range(3))
        self.norms = nn.ModuleList(nn.BatchNorm2d(3) for _ in range(4))
        self.untracked = nn.BatchNorm2d(3, track_running_stats=False)
        self.head = nn.Linear(3, 2)

    def forward(self, x):
        x = self.norms[0](self.first(x)) + self.norms[1](self.first(x))
        y = self.second(x)
        x = self.norms[2](y) + y + self.norms[3](x)
        return self.head(self.untracked(self.third(x)).mean((2, 3)))


def test_batch_norm_is_left_where_folding_would_change_the_function():
    """If it failed, a network with an unusual graph would silently compute something else."""
    torch.manual_seed(0)
    model = Shared().eval()
    calibrated(model, 4)
    inputs = torch.randn(2, 3, 4, 4)
    with torch.no_grad():
        wanted = model(inputs)
        fuse_batch_norm(model)
        assert sum(isinstance(module, nn.BatchNorm2d) for module in model.modules()) == 5
        assert torch.equal(model(inputs), wanted)


class Untraceable(nn.Module):
    """Its graph depends on its input."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.head = nn.Conv2d(3, 3, 1), nn.BatchNorm2d(3), nn.Linear(3, 2)

    def forward(self, x):
        x = self.norm(self.conv(x)).mean((2, 3))
        return self.head(x if x.sum() > 0 else -x)


def test_network_without_a_graph_stays_as_it_is():
    """If it failed, such a network could not be used at all."""
    model = Untraceable().eval()
    fuse_batch_norm(model)
    assert isinstance(model.norm, nn.BatchNorm2d)


# --- the last layer ---


@pytest.mark.slow
# The other RegNets compute their widths with torch when they are built, and so cannot be built
# without weights; this one is the smallest.
@pytest.mark.parametrize(
    "architecture",
    [name for name in ARCHITECTURES if "regnet" not in name] + ["regnet_x_400mf"],
)
def test_every_classifier_of_torchvision_ends_with_a_linear_layer(architecture):
    """If it failed, a name of the catalogue could not be used as a backbone."""
    with torch.device("cpu" if "regnet" in architecture else "meta"):
        model = network(architecture)
    layers = [name for name, layer in model.named_modules() if not list(layer.children())]
    last = last_linear(architecture, model)
    assert last == layers[-1] and model.get_submodule(last).out_features == 1000
    preprocessing = default_preprocessing(architecture, "untrained")
    check_side(architecture, model, preprocessing.crop)


class Scaled(nn.Module):
    """A linear layer that something follows."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(3, 2)

    def forward(self, x):
        return 2 * self.head(x.mean((2, 3)))


def test_network_that_does_not_end_with_a_linear_layer_is_refused():
    """If it failed, gradients would be taken in a layer that does not give the logits."""
    with pytest.raises(WtrakError, match="mine does not end with a linear layer"):
        last_linear("mine", Scaled().eval())
    with pytest.raises(WtrakError, match="squeezenet1_1 is a convolution"):
        network("squeezenet1_1")


def test_any_submodule_can_be_replaced():
    """If it failed, a last layer inside a sequence would stay."""
    model = nn.Sequential(nn.Sequential(nn.ReLU(), nn.Linear(2, 3)), nn.Linear(3, 1))
    replace_module(model, "0.1", nn.Identity())
    replace_module(model, "1", nn.Identity())
    assert [type(model[0][1]), type(model[1])] == [nn.Identity, nn.Identity]


def test_looking_for_the_last_layer_leaves_the_network_as_it_was():
    """If it failed, weights would be lost, or hooks slow every pass."""
    model = network("resnet18")
    before = {key: value.clone() for key, value in model.state_dict().items()}
    last_linear("resnet18", model)
    check_side("resnet18", model, 64)
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())
    assert not any(module._forward_hooks for module in model.modules())


# --- sizes ---


@pytest.mark.parametrize(
    ("architecture", "side", "words"),
    [
        ("alexnet", 32, "alexnet cannot take images of 32 px"),
        ("inception_v3", 64, "inception_v3 cannot take images of 64 px"),
    ],
)
def test_size_that_a_network_does_not_take_is_refused_before_any_image(architecture, side, words):
    """If it failed, the job would end with an error of torch, after other work."""
    with pytest.raises(WtrakError, match=words):
        check_side(architecture, network(architecture), side)


def test_transformer_is_built_for_its_size():
    """If it failed, weights for 64 px would be refused, or used at other positions."""
    state = network("vit_b_32", 64).state_dict()
    assert state["encoder.pos_embedding"].shape == (1, 1 + 2 * 2, 768)
    bare = {key: value for key, value in state.items() if not key.startswith("heads.")}
    model = build_backbone("vit_b_32", bare, CPU)
    check_side("vit_b_32", model, 64)
    with pytest.raises(WtrakError, match="cannot take images of 224 px; it takes those of 64 px"):
        check_side("vit_b_32", model, 224)
    with pytest.raises(WtrakError, match="vit_b_32 cannot take images of 80 px"):
        network("vit_b_32", 80)


def test_weights_have_their_size_in_bytes():
    """If it failed, files of large networks would be refused, or of small ones take the memory."""
    assert weights_bytes("resnet18") == sum(
        tensor.nbytes for tensor in torchvision.models.resnet18().state_dict().values()
    )


# --- GoogLeNet and Inception ---


@pytest.mark.parametrize(("architecture", "side"), [("googlenet", 32), ("inception_v3", 75)])
def test_activations_are_those_of_networks_with_auxiliary_heads_and_rescaled_input(
    architecture, side
):
    """If it failed, the published weights would see images of another scale."""
    options = {"aux_logits": True, "transform_input": True, "init_weights": False}
    torch.manual_seed(0)
    reference = torchvision.models.get_model(architecture, **options).eval()
    images, whole = images_of(side), Preprocessing(None, side)
    inputs = preprocess(torch.from_numpy(images), whole)
    state = backbone_state(architecture, reference.state_dict())
    model = build_backbone(architecture, state, CPU)
    rescaled = default_preprocessing(architecture, "IMAGENET1K_V1").at(side)
    found, other = (
        forward_activations(model, images, preprocessing, batch_size=2)
        for preprocessing in (rescaled, whole)
    )
    wanted = before_last_layer(reference, inputs)
    assert relative_error(found, wanted) < 1e-5
    assert relative_error(other, wanted) > 1e-4


# --- timm ---


class Tiny(nn.Module):
    """A network of the kind that timm has."""

    def __init__(self, num_classes=5):
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6)
        self.head = nn.Sequential(nn.Dropout(0.5), nn.Linear(6, num_classes))
        self.pretrained_cfg = {"input_size": (3, 20, 20)}

    def forward(self, x):
        return self.head(self.norm(self.stem(x)).relu().mean((2, 3)))


@pytest.fixture
def timm(monkeypatch):
    """A stand-in for timm with one network, since timm is no dependency."""
    data = {"input_size": (3, 20, 20), "crop_pct": 0.875, "interpolation": "bicubic"}
    data |= {"mean": (0.5, 0.4, 0.3), "std": (0.2, 0.3, 0.4), "crop_mode": "center"}
    module = SimpleNamespace(
        __version__="1.0",
        is_model=lambda name: name == "tiny",
        list_models=lambda: ["tiny"],
        create_model=lambda name, pretrained, num_classes: Tiny(num_classes),
        data=SimpleNamespace(resolve_model_data_config=lambda model: data),
        found=data,
    )
    monkeypatch.setitem(sys.modules, "timm", module)
    return module


def test_network_of_timm_is_used_as_one_of_torchvision(timm):
    """If it failed, the last layer, size or statistics of timm's networks would be others."""
    preprocessing = default_preprocessing("timm:tiny", "mine")
    assert preprocessing == Preprocessing(22, 20, "bicubic", (0.5, 0.4, 0.3), (0.2, 0.3, 0.4))
    state = calibrated(Tiny(), 20)
    model = build_backbone("timm:tiny", backbone_state("timm:tiny", state), CPU)
    check_side("timm:tiny", model, 20)
    images = images_of(24)
    found = forward_activations(model, images, preprocessing, batch_size=2)
    reference = Tiny().eval()
    reference.load_state_dict(state)
    reference.head = nn.Identity()
    with torch.no_grad():
        wanted = reference(preprocess(torch.from_numpy(images), preprocessing))
    np.testing.assert_allclose(found, wanted.numpy(), rtol=1e-4, atol=1e-6)


def test_other_preprocessing_of_timm_is_taken_or_refused(timm):
    """If it failed, images would be cut where timm scales or pads them."""
    timm.found["crop_mode"] = "squash"
    assert default_preprocessing("timm:tiny", "mine").resize is None
    for key, value in {"crop_mode": "border", "input_size": (1, 20, 20)}.items():
        changed = dict(timm.found)
        timm.found[key] = value
        with pytest.raises(WtrakError, match="timm:tiny wants images of"):
            default_preprocessing("timm:tiny", "mine")
        timm.found.update(changed)


def test_names_that_timm_does_not_have_are_told_of_near_ones(timm):
    """If it failed, a misspelt name would end with an error of timm."""
    with pytest.raises(WtrakError, match=r"timm 1\.0 has no network 'tinny'; close are tiny"):
        network("timm:tinny")


def test_missing_timm_is_named(monkeypatch):
    """If it failed, a user without timm would see an import error."""
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(WtrakError, match="the package timm is not installed"):
        network("timm:resnet18")
