"""Images of whole numbers become the input of a network."""

import torch
from torch.nn.functional import interpolate
from torchvision.transforms import InterpolationMode, functional


def preprocess(images, preprocessing):
    """Resize, crop and normalise a batch.

    Parameters
    ----------
    images : torch.Tensor, shape (B, H, W, 1 or 3), uint8
    preprocessing : wtrak.geometry.catalogue.Preprocessing

    Returns
    -------
    torch.Tensor, shape (B, 3, crop, crop), float32, channels_last
        Grey images give three equal channels before they are normalised.
    """
    # Resizing planes is twice as fast as resizing interleaved channels.
    planes = images.permute(0, 3, 1, 2).contiguous()
    resized = _resized_whole if preprocessing.resize is None else _resized_and_cropped
    planes = resized(planes, preprocessing).expand(-1, 3, -1, -1)
    mean, std = (
        torch.tensor(channel, device=planes.device).view(1, 3, 1, 1)
        for channel in (preprocessing.mean, preprocessing.std)
    )
    normalised = (planes - mean) / std
    return normalised.contiguous(memory_format=torch.channels_last)


def _resized_whole(planes, preprocessing):
    """Scale each side to the input's. Values stay exact, because no grey level is rounded."""
    planes, size = planes.to(torch.float32).div_(255), (preprocessing.crop, preprocessing.crop)
    if planes.shape[-2:] == size:
        return planes
    planes = interpolate(planes, size=size, mode=preprocessing.interpolation, antialias=True)
    # Cubic splines overshoot at edges.
    return planes.clamp_(0, 1) if preprocessing.interpolation == "bicubic" else planes


def _resized_and_cropped(planes, preprocessing):
    """As torchvision's published transforms, which round to grey levels after resizing."""
    mode = InterpolationMode(preprocessing.interpolation)
    planes = functional.resize(planes, [preprocessing.resize], mode, antialias=True)
    planes = functional.center_crop(planes, [preprocessing.crop, preprocessing.crop])
    return planes.to(torch.float32).div_(255)
