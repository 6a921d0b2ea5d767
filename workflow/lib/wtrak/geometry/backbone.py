"""The frozen network: its weights and its penultimate activations."""

import contextlib
import math
import re

import numpy as np
import torch

from wtrak.errors import WtrakError
from wtrak.geometry.networks import (
    fuse_batch_norm,
    last_linear,
    network,
    replace_module,
)
from wtrak.geometry.preprocessing import preprocess

# Keys of older versions of torchvision, which files that it publishes still have, and today's.
_RENAMED = (
    (re.compile(r"(denselayer\d+\.(?:norm|conv))\.(\d\.)"), r"\1\2"),
    (re.compile(r"(encoder_layer_\d+\.mlp)\.linear_1\."), r"\1.0."),
    (re.compile(r"(encoder_layer_\d+\.mlp)\.linear_2\."), r"\1.3."),
)
# Auxiliary heads of GoogLeNet and Inception, which serve training alone.
_AUXILIARY = ("aux1.", "aux2.", "AuxLogits.")


def untrained_state(architecture, seed, side=None):
    """State dict of a seeded, randomly initialised network.

    The parameters `architecture` and `side` are those of `networks.network`.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return network(architecture, side).state_dict()


def backbone_state(architecture, state):
    """Check a state dict against `architecture` and drop the last layer from it.

    Keys may share a prefix, as in ``module.conv1.weight``, or be those of older versions of
    torchvision. The last layer may have any number of classes or be missing.

    Returns
    -------
    dict of str to torch.Tensor
        Every key of the network but those of its last layer, floats in float32.

    Raises
    ------
    WtrakError
        If keys are missing or unknown, shapes differ, or a value is not finite. The message names
        the first of these.
    """
    model = network(architecture, _side(architecture, state))
    head = f"{last_linear(architecture, model)}."
    wanted = {key: value for key, value in model.state_dict().items() if not key.startswith(head)}
    given = _without_head(_in_terms_of(wanted, state), wanted, head)
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


def _side(architecture, state):
    """Side in pixels of the images for which weights of a vision transformer were trained.

    None for other networks, and for weights that do not tell.
    """
    if not architecture.startswith("vit_"):
        return None
    last_of = {key.rpartition(".")[2]: value for key, value in state.items() if value.ndim == 3}
    patches = [value for key, value in state.items() if key.endswith("conv_proj.weight")]
    if "pos_embedding" not in last_of or not patches:
        return None
    # Beside the patches, one more token has a position.
    per_side = math.isqrt(max(last_of["pos_embedding"].shape[1] - 1, 0))
    return per_side * patches[0].shape[-1]


def _in_terms_of(wanted, state):
    """The state under today's keys: old ones renamed, and without a prefix that all share."""
    given = {}
    for key, value in state.items():
        for pattern, new in _RENAMED:
            key = pattern.sub(new, key)
        given[key] = value
    bare = given
    while bare and not bare.keys() & wanted.keys():
        first = {key.partition(".")[0] if "." in key else None for key in bare}
        if len(first) > 1 or None in first:
            return given
        bare = {key.partition(".")[2]: value for key, value in bare.items()}
    return bare


def _without_head(given, wanted, head):
    """The state without the last layer, auxiliary heads, and what only stands for the last layer.

    A sequence that has no other weights than the last layer's is a head, whatever was put there.
    """
    container = head
    while container and not any(key.startswith(container) for key in wanted):
        head, container = container, container[:-1].rpartition(".")[0]
        container += "." if container else ""
    return {key: value for key, value in given.items() if not key.startswith((head, *_AUXILIARY))}


def build_backbone(architecture, state, device, *, fuse=True):
    """The network up to its penultimate layer: evaluation mode, no gradients, channels_last.

    Parameters
    ----------
    architecture : str
        A classifier of torchvision, or ``timm:NAME``.
    state : dict
        Output of `backbone_state`.
    fuse : bool
        Fold BatchNorm into the convolution before it, where that is possible. The function is the
        same up to rounding, and about an eighth faster.
    """
    model = network(architecture, _side(architecture, state))
    replace_module(model, last_linear(architecture, model), torch.nn.Identity())
    # The model's own dict carries versions, without which an MNASNet refuses to load.
    versioned = model.state_dict()
    versioned.clear()
    versioned.update(state)
    model.load_state_dict(versioned, strict=True)
    if fuse:
        fuse_batch_norm(model)
    model.eval().requires_grad_(False)
    return model.to(device, memory_format=torch.channels_last)


@torch.inference_mode()
def forward_activations(
    model, images, preprocessing, *, batch_size, precision="float32", first_row=0
):
    """Penultimate activations of uint8 images.

    Parameters
    ----------
    model : torch.nn.Module
        Output of `build_backbone`.
    images : numpy.ndarray, shape (N, H, W, 1 or 3), uint8
    preprocessing : wtrak.geometry.catalogue.Preprocessing
    batch_size : int
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
        inputs = preprocess(batch, preprocessing)
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
