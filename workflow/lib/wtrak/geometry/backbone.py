"""The frozen network: its weights, its preprocessing, and its penultimate activations."""

import contextlib

import numpy as np
import torch
import torchvision
from torch.nn.functional import interpolate
from torch.nn.utils.fusion import fuse_conv_bn_eval

from wtrak.errors import WtrakError
from wtrak.geometry.catalogue import ARCHITECTURES

# The channel statistics that torchvision's ImageNet weights were trained with.
IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)

PRECISIONS = ("float32", "bfloat16")


def untrained_state(architecture, seed):
    """State dict of a seeded, randomly initialised torchvision model."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return torchvision.models.get_model(architecture, weights=None).state_dict()


def backbone_state(architecture, state):
    """Check a state dict against `architecture` and drop the last layer from it.

    Returns
    -------
    dict of str to torch.Tensor
        Every key of the torchvision model but those of its last layer, floats in float32.

    Raises
    ------
    WtrakError
        If keys are missing or unknown, shapes differ, or a value is not finite. The message names
        the first of these.
    """
    model = torchvision.models.get_model(architecture, weights=None)
    last = f"{ARCHITECTURES[architecture]}."
    wanted = {key: value for key, value in model.state_dict().items() if not key.startswith(last)}
    given = {key: value for key, value in state.items() if not key.startswith(last)}
    # Old checkpoints lack the batch counters, which evaluation mode does not use.
    counters = {key for key in wanted if key.endswith("num_batches_tracked")}
    missing = sorted(wanted.keys() - given.keys() - counters)
    extra = sorted(given.keys() - wanted.keys())
    if missing or extra:
        raise WtrakError(
            f"the weights do not fit {architecture}: "
            f"{len(missing)} keys missing {missing[:3]}, {len(extra)} unknown {extra[:3]}"
        )
    out = {}
    for key, reference in wanted.items():
        value = given.get(key, reference)
        if value.shape != reference.shape:
            raise WtrakError(
                f"the weights do not fit {architecture}: {key} is {tuple(value.shape)}, "
                f"expected {tuple(reference.shape)}"
            )
        value = value.detach().to(reference.dtype).contiguous()
        if not torch.isfinite(value).all():
            raise WtrakError(f"the weights hold a value that is not finite, in {key}")
        out[key] = value
    return out


def build_backbone(architecture, state, device, *, fuse=True):
    """The model up to its penultimate layer: evaluation mode, no gradients, channels_last.

    Parameters
    ----------
    architecture : str
        One of `catalogue.ARCHITECTURES`.
    state : dict
        Output of `backbone_state`.
    fuse : bool
        Fold every BatchNorm into the convolution before it. The function is the same up to
        rounding, and about an eighth faster.
    """
    model = torchvision.models.get_model(architecture, weights=None)
    setattr(model, ARCHITECTURES[architecture], torch.nn.Identity())
    model.load_state_dict(state, strict=True)
    model.eval()  # fusing uses the statistics of evaluation mode
    if fuse:
        _fuse_batch_norm(model)
    model.eval().requires_grad_(False)
    return model.to(device, memory_format=torch.channels_last)


def _fuse_batch_norm(model):
    """Fold each BatchNorm of a ResNet into the convolution before it, by torchvision's names."""
    for module in list(model.modules()):
        children = dict(module.named_children())
        pairs = [(f"conv{k}", f"bn{k}") for k in (1, 2, 3)] + [("0", "1")]
        for conv, norm in pairs:
            if isinstance(children.get(conv), torch.nn.Conv2d) and isinstance(
                children.get(norm), torch.nn.BatchNorm2d
            ):
                setattr(module, conv, fuse_conv_bn_eval(children[conv], children[norm]))
                setattr(module, norm, torch.nn.Identity())


def preprocess(images, image_size):
    """Resize and normalise a batch as ImageNet evaluation does.

    Parameters
    ----------
    images : torch.Tensor, shape (B, H, W, 1 or 3), uint8
    image_size : int
        Side of the output in pixels; bilinear with antialiasing.

    Returns
    -------
    torch.Tensor, shape (B, 3, image_size, image_size), float32, channels_last
    """
    # Resizing planes is twice as fast as resizing interleaved channels.
    planes = images.permute(0, 3, 1, 2).contiguous().to(torch.float32).div_(255)
    if planes.shape[-2:] != (image_size, image_size):
        planes = interpolate(planes, size=(image_size, image_size), mode="bilinear", antialias=True)
    planes = planes.expand(-1, 3, -1, -1)
    mean = torch.tensor(IMAGENET_MEAN, device=planes.device).view(1, 3, 1, 1)
    std = torch.tensor(IMAGENET_STD, device=planes.device).view(1, 3, 1, 1)
    normalised = (planes - mean) / std
    return normalised.contiguous(memory_format=torch.channels_last)


@torch.inference_mode()
def forward_activations(model, images, image_size, *, batch_size, precision="float32", first_row=0):
    """Penultimate activations of uint8 images.

    Parameters
    ----------
    model : torch.nn.Module
        Output of `build_backbone`.
    images : numpy.ndarray, shape (N, H, W, 1 or 3), uint8
    image_size, batch_size : int
    precision : {"float32", "bfloat16"}
        ``bfloat16`` runs the convolutions under autocast. The result is always float32.
    first_row : int
        Row of the first image in its dataset, for error messages.

    Returns
    -------
    numpy.ndarray, shape (N, p - 1), float32

    Raises
    ------
    WtrakError
        If an activation is not finite. The message names the first such image.
    """
    if model.training:
        raise ValueError("the backbone must be in evaluation mode")
    device = next(model.parameters()).device
    out = []
    for start in range(0, len(images), batch_size):
        batch = torch.from_numpy(images[start : start + batch_size]).to(device)
        context = (
            torch.autocast(device.type, dtype=torch.bfloat16)
            if precision == "bfloat16"
            else contextlib.nullcontext()
        )
        inputs = preprocess(batch, image_size)
        with context:
            activations = model(inputs)
        out.append(activations.float().cpu().numpy())
    out = np.concatenate(out)
    bad = np.flatnonzero(~np.isfinite(out).all(axis=1))
    if bad.size:
        raise WtrakError(
            f"the activations of {bad.size} images are not finite; the first is image "
            f"{first_row + bad[0]} of its dataset, so the weights or that image are at fault"
        )
    return out
