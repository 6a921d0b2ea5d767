"""Networks of torchvision and timm: their construction and their last linear layer."""

import copy
import difflib
import math

import torch
import torchvision
from torch import nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from wtrak.errors import WtrakError
from wtrak.geometry.catalogue import (
    TIMM,
    Preprocessing,
    architecture_problem,
    published_preprocessing,
)

# Auxiliary heads serve training alone. The default initialisation takes half a minute.
_WITHOUT_AUXILIARY = {"aux_logits": False, "init_weights": False}
_OPTIONS = {"googlenet": _WITHOUT_AUXILIARY, "inception_v3": _WITHOUT_AUXILIARY}


def network(architecture, side=None):
    """A network with random weights, in evaluation mode.

    Parameters
    ----------
    architecture : str
        A classifier of torchvision, or ``timm:NAME``.
    side : int, optional
        Side of its images in pixels, for vision transformers of torchvision, whose weights depend
        on it. Others ignore it.

    Raises
    ------
    WtrakError
        If there is no such network.
    """
    problem = architecture_problem(architecture)
    if problem:
        raise WtrakError(problem)
    if architecture.startswith(TIMM):
        return _timm_network(architecture.removeprefix(TIMM)).eval()
    options = _OPTIONS.get(architecture, {})
    if architecture.startswith("vit_") and side:
        options = {"image_size": side}
    try:
        return torchvision.models.get_model(architecture, weights=None, **options).eval()
    except AssertionError as error:  # of a vision transformer, whose patches do not fill the image
        raise WtrakError(f"{architecture} cannot take images of {side} px: {error}") from error


def weights_bytes(architecture):
    """Memory in bytes of all weights of a network."""
    return sum(tensor.nbytes for tensor in network(architecture).state_dict().values())


def _timm():
    try:
        import timm
    except ImportError as error:
        raise WtrakError(
            f"an architecture begins with {TIMM}, but the package timm is not installed; install "
            "it, or choose a network of torchvision"
        ) from error
    return timm


def _timm_network(name):
    timm = _timm()
    if not timm.is_model(name):
        close = difflib.get_close_matches(name, timm.list_models(), 4)
        near = f"; close are {', '.join(close)}" if close else ""
        raise WtrakError(f"timm {timm.__version__} has no network {name!r}{near}")
    # The last layer is dropped, whatever its classes are. Networks that have none get one.
    return timm.create_model(name, pretrained=False, num_classes=1)


def default_preprocessing(architecture, weights):
    """The `Preprocessing` that is published for weights of torchvision, or for a network of timm.

    Raises
    ------
    WtrakError
        If there is no such network, or it wants images prepared in a way that is not offered.
    """
    if not architecture.startswith(TIMM):
        return published_preprocessing(architecture, weights)
    timm = _timm()
    data = timm.data.resolve_model_data_config(network(architecture))
    channels, height, width = data["input_size"]
    mode = data.get("crop_mode", "center")
    if channels != 3 or height != width or mode not in ("center", "squash"):
        raise WtrakError(
            f"{architecture} wants images of {channels} channels and {height}×{width} px in the "
            f"mode {mode}; offered are square images of 3 channels in the modes center and squash"
        )
    resize = None if mode == "squash" else math.floor(height / data["crop_pct"])
    return Preprocessing(
        resize, height, data["interpolation"], tuple(data["mean"]), tuple(data["std"])
    )


def _without_weights(model):
    """A copy of a model on torch's meta device, where passes yield shapes and take no time."""
    copies = {}
    for tensor in (*model.parameters(), *model.buffers()):
        empty = tensor.detach().to("meta")
        if isinstance(tensor, nn.Parameter):
            empty = nn.Parameter(empty, requires_grad=False)
        copies[id(tensor)] = empty
    return copy.deepcopy(model, copies)


def _native_side(model):
    """A side in pixels that the model takes."""
    if hasattr(model, "image_size"):  # a vision transformer of torchvision
        return model.image_size
    # Networks of timm say what they were made for. All others of torchvision take 224 px.
    return getattr(model, "pretrained_cfg", {}).get("input_size", (3, 224, 224))[-1]


def check_side(architecture, model, side):
    """Raise a `WtrakError` if the network cannot take images of `side` × `side` px."""
    try:
        with torch.no_grad():
            _without_weights(model)(torch.empty(1, 3, side, side, device="meta"))
    except (RuntimeError, AssertionError, ValueError) as error:
        native = _native_side(model)
        hint = f"; it takes those of {native} px" if native != side else ""
        first_line = str(error).strip().split("\n")[0][:200]
        raise WtrakError(
            f"{architecture} cannot take images of {side} px{hint} ({first_line})"
        ) from error


def last_linear(architecture, model):
    """Name of the linear layer whose output is the model's.

    Parameters
    ----------
    architecture : str
        For the message of the error.
    model : torch.nn.Module
        In evaluation mode, so that neither dropout nor auxiliary heads act.

    Raises
    ------
    WtrakError
        If another operation follows the last linear layer, or there is none.
    """
    model, outputs = _without_weights(model), {}
    for name, module in model.named_modules():
        if isinstance(module, nn.Linear):
            module.register_forward_hook(
                lambda _module, _inputs, output, name=name: outputs.update({name: output})
            )
    side = _native_side(model)
    with torch.no_grad():
        logits = model(torch.empty(1, 3, side, side, device="meta"))
    for name, output in outputs.items():
        if output is logits:
            return name
    raise WtrakError(f"{architecture} does not end with a linear layer, which is needed")


def replace_module(model, name, module):
    """Put another module in the place of the one called `name`."""
    parent, _, child = name.rpartition(".")
    setattr(model.get_submodule(parent), child, module)


def fuse_batch_norm(model):
    """Fold BatchNorm into the convolution before it, wherever nothing else reads its output.

    The function of the model is the same up to rounding. A model whose graph cannot be traced stays
    as it is.

    Parameters
    ----------
    model : torch.nn.Module
        In evaluation mode; changed in place.
    """
    modules = dict(model.named_modules())
    if not any(isinstance(module, nn.BatchNorm2d) for module in modules.values()):
        return
    try:
        nodes = torch.fx.symbolic_trace(model).graph.nodes
    except Exception:  # Tracing runs the model's own code, which may raise anything.
        return
    calls = [node for node in nodes if node.op == "call_module"]
    targets = [node.target for node in calls]
    for node in calls:
        before = node.args[0] if node.args else None
        if before not in calls or len(before.users) > 1:
            continue
        pair = before.target, node.target
        conv, norm = (modules[name] for name in pair)
        once = all(targets.count(name) == 1 for name in pair)
        fits = type(conv) is nn.Conv2d and type(norm) is nn.BatchNorm2d and norm.track_running_stats
        if once and fits:
            replace_module(model, before.target, fuse_conv_bn_eval(conv, norm))
            replace_module(model, node.target, nn.Identity())
