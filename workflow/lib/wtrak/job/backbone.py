"""The network of a backbone, from the file that the rule backbone wrote."""

import torch

from wtrak.geometry.backbone import build_backbone
from wtrak.geometry.catalogue import Preprocessing
from wtrak.geometry.networks import check_side
from wtrak.job.io import load_arrays, load_metadata


def load_backbone(path, image_size, device):
    """The network up to its penultimate layer, and how it wants images.

    Parameters
    ----------
    path : path
        Output of the rule backbone.
    image_size : str or int
        Side of the input in pixels, or ``published``.
    device : torch.device

    Returns
    -------
    model : torch.nn.Module
    preprocessing : Preprocessing

    Raises
    ------
    WtrakError
        If the network cannot take images of this size.
    """
    record = load_metadata(path)
    architecture = record["architecture"]
    preprocessing = Preprocessing(**record["preprocessing"]).at(image_size)
    state = {name: torch.from_numpy(array) for name, array in load_arrays(path).items()}
    model = build_backbone(architecture, state, device)
    check_side(architecture, model, preprocessing.crop)
    return model, preprocessing
