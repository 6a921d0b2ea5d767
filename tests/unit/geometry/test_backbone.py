"""The frozen network: its activations are a function of each image alone."""

import numpy as np
import pytest
import torch

from wtrak.errors import WtrakError
from wtrak.geometry.backbone import (
    backbone_state,
    build_backbone,
    forward_activations,
    untrained_state,
)
from wtrak.geometry.catalogue import Preprocessing
from wtrak.geometry.preprocessing import preprocess

pytestmark = pytest.mark.usefixtures("one_thread")

SIZE = Preprocessing(None, 32)
ROUNDING = {"rtol": 1e-4, "atol": 1e-5}


@pytest.fixture(scope="module")
def state():
    """Untrained ResNet-18 weights whose BatchNorm statistics are not the initial 0 and 1."""
    state = backbone_state("resnet18", untrained_state("resnet18", 0))
    generator = torch.Generator().manual_seed(1)
    for key, value in state.items():
        if key.endswith(("running_mean", "bn1.bias", "bn2.bias")):
            state[key] = 0.1 * torch.randn(value.shape, generator=generator)
        elif key.endswith("running_var"):
            state[key] = 0.5 + torch.rand(value.shape, generator=generator)
    return state


@pytest.fixture(scope="module")
def fused(state):
    return build_backbone("resnet18", state, torch.device("cpu"))


@pytest.fixture(scope="module")
def unfused(state):
    return build_backbone("resnet18", state, torch.device("cpu"), fuse=False)


@pytest.fixture(scope="module")
def images():
    """Nine RGB images of noise, so that no two rows of activations are alike."""
    return np.random.default_rng(0).integers(0, 256, (9, 32, 32, 3), dtype=np.uint8)


@pytest.fixture(scope="module")
def reference(unfused, images):
    """Activations, image by image."""
    rows = [forward_activations(unfused, images[[k]], SIZE, batch_size=1) for k in range(9)]
    return np.concatenate(rows)


def relative_error(found, wanted):
    return np.linalg.norm(found - wanted) / np.linalg.norm(wanted)


# --- activations ---


def test_reference_activations_tell_images_apart(reference):
    """If it failed, the comparisons below would compare constants and could not fail."""
    assert reference.shape == (9, 512)
    assert reference.dtype == np.float32
    distances = np.linalg.norm(reference[:, None] - reference[None], axis=2)
    assert distances[~np.eye(9, dtype=bool)].min() > 0.01 * np.linalg.norm(reference[0])


@pytest.mark.parametrize("batch_size", [1, 2, 4, 9, 64])
def test_activations_do_not_depend_on_the_batch_size(unfused, images, reference, batch_size):
    """If it failed, results would change with a setting of memory, or at a last batch of one."""
    found = forward_activations(unfused, images, SIZE, batch_size=batch_size)
    np.testing.assert_allclose(found, reference, **ROUNDING)


def test_activations_follow_their_images(unfused, images, reference):
    """If it failed, an image's activations would depend on its neighbours or be out of step."""
    order = np.random.default_rng(2).permutation(9)
    found = forward_activations(unfused, images[order], SIZE, batch_size=4)
    np.testing.assert_allclose(found, reference[order], **ROUNDING)


def test_activations_are_those_of_torchvisions_model_before_its_last_layer(
    state, images, reference
):
    """If it failed, the features would be of another layer, or the weights loaded wrongly."""
    import torchvision

    model = torchvision.models.resnet18(weights=None)
    model.load_state_dict(state, strict=False)
    seen = []
    model.fc.register_forward_hook(lambda _module, inputs, _output: seen.append(inputs[0]))
    with torch.no_grad():
        model.eval()(preprocess(torch.from_numpy(images), SIZE))
    np.testing.assert_allclose(reference, seen[0].numpy(), **ROUNDING)


def test_fused_and_unfused_models_agree(fused, images, reference):
    """If it failed, folding BatchNorm into the convolutions would change the function."""
    assert not any(isinstance(m, torch.nn.BatchNorm2d) for m in fused.modules())
    found = forward_activations(fused, images, SIZE, batch_size=4)
    np.testing.assert_allclose(found, reference, **ROUNDING)


def test_bottleneck_blocks_are_fused_too():
    """If it failed, a ResNet-50 would be fused in part, or wrongly."""
    state = backbone_state("resnet50", untrained_state("resnet50", 0))
    for key, value in state.items():
        if key.endswith("running_var"):
            state[key] = torch.linspace(0.5, 1.5, value.numel())
    image = np.random.default_rng(3).integers(0, 256, (1, 32, 32, 3), dtype=np.uint8)
    found = []
    for fuse in (True, False):
        model = build_backbone("resnet50", state, torch.device("cpu"), fuse=fuse)
        norms = sum(isinstance(m, torch.nn.BatchNorm2d) for m in model.modules())
        assert norms == (0 if fuse else 53)
        found.append(forward_activations(model, image, SIZE, batch_size=1))
    assert found[0].shape == (1, 2048)
    assert relative_error(found[0], found[1]) < 1e-4


@pytest.mark.parametrize("fuse", [True, False])
def test_model_is_in_evaluation_mode_and_without_gradients(state, fuse):
    """If it failed, BatchNorm would use the batch's statistics, or memory would hold gradients."""
    model = build_backbone("resnet18", state, torch.device("cpu"), fuse=fuse)
    assert not any(module.training for module in model.modules())
    assert not any(parameter.requires_grad for parameter in model.parameters())


def test_model_in_training_mode_is_refused(state, images):
    """If it failed, a model left in training mode would give activations of its batch."""
    model = build_backbone("resnet18", state, torch.device("cpu"), fuse=False).train()
    with pytest.raises(ValueError, match="evaluation mode"):
        forward_activations(model, images, SIZE, batch_size=4)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_pass_leaves_weights_and_statistics_as_they_were(state, unfused, images, precision):
    """If it failed, a pass would change the backbone, and with it every later activation."""
    forward_activations(unfused, images, SIZE, batch_size=4, precision=precision)
    after = unfused.state_dict()
    assert set(after) == set(state)
    for key, value in state.items():
        assert torch.equal(after[key], value), key


def test_pass_leaves_the_images_as_they_were(unfused, images):
    """If it failed, a second pass over the same array would see other pixels."""
    before = images.copy()
    forward_activations(unfused, images, SIZE, batch_size=4)
    np.testing.assert_array_equal(images, before)


def test_grey_images_equal_their_rgb_copies(unfused):
    """If it failed, digits would not be seen as grey images are."""
    grey = np.random.default_rng(4).integers(0, 256, (3, 8, 8, 1), dtype=np.uint8)
    rgb = np.repeat(grey, 3, axis=3)
    found, wanted = (
        forward_activations(unfused, pixels, SIZE, batch_size=3) for pixels in (grey, rgb)
    )
    np.testing.assert_allclose(found, wanted, **ROUNDING)


def test_bfloat16_is_close_to_float32_and_returned_as_float32(fused, images, reference):
    """If it failed, bfloat16 would be another computation, or silently be float32."""
    found = forward_activations(fused, images, SIZE, batch_size=4, precision="bfloat16")
    assert found.dtype == np.float32
    # bfloat16 has 8 bits, a relative rounding of 2⁻⁹ = 0.2 %; some twenty layers add up to 5 %.
    assert 1e-4 < relative_error(found, reference) < 0.05


# --- what is refused ---


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_weights_that_are_not_finite_are_refused_by_name(value):
    """If it failed, one bad weight would spread to every activation unnamed."""
    state = untrained_state("resnet18", 0)
    state["layer4.1.conv2.weight"][3, 2, 1, 0] = value
    with pytest.raises(WtrakError, match=r"not finite, in layer4\.1\.conv2\.weight"):
        backbone_state("resnet18", state)


class DividesByBrightness(torch.nn.Module):
    """A model that is infinite for images that are black, and finite for all others."""

    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(1), requires_grad=False)

    def forward(self, inputs):
        darkest = preprocess(torch.zeros(1, 1, 1, 1, dtype=torch.uint8), Preprocessing(None, 1))
        return self.scale / (inputs - darkest).abs().mean(dim=(2, 3))


def test_images_whose_activations_are_not_finite_are_named_by_row(images):
    """If it failed, NaN would reach the covariance, and nobody would know from which image."""
    model = DividesByBrightness().eval()
    black = images.copy()
    assert forward_activations(model, black, SIZE, batch_size=2).shape == (9, 3)
    black[[5, 7]] = 0
    with pytest.raises(WtrakError, match=r"of 2 images are not finite; .* image 5 of"):
        forward_activations(model, black, SIZE, batch_size=2)
    with pytest.raises(WtrakError, match=r"of 2 images are not finite; .* image 105 of"):
        forward_activations(model, black, SIZE, batch_size=2, first_row=100)


# --- untrained weights ---


def test_untrained_weights_are_those_of_their_seed():
    """If it failed, the quick run would give other numbers every time, or ignore its seed."""
    first, same, other = (untrained_state("resnet18", seed) for seed in (0, 0, 1))
    for key, value in first.items():
        assert torch.equal(value, same[key]), key
    assert not torch.equal(first["conv1.weight"], other["conv1.weight"])


def test_untrained_weights_neither_use_nor_disturb_the_global_random_numbers():
    """If it failed, weights would depend on what ran before, or change what runs after."""
    torch.manual_seed(123)
    before = torch.get_rng_state()
    first = untrained_state("resnet18", 0)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(321)
    again = untrained_state("resnet18", 0)
    assert torch.equal(first["conv1.weight"], again["conv1.weight"])
