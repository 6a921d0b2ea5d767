"""Images reach a network as the publisher of its weights prepared them."""

import numpy as np
import PIL.Image
import pytest
import torch
import torchvision
from torchvision.transforms import v2

from wtrak.geometry.catalogue import (
    ARCHITECTURES,
    IMAGENET_MEAN,
    IMAGENET_STD,
    Preprocessing,
    published_preprocessing,
)
from wtrak.geometry.preprocessing import preprocess

SHAPES = [(32, 32, 3), (8, 8, 1), (64, 64, 3), (40, 50, 3), (48, 48, 3)]


def noise(*shape):
    return torch.from_numpy(np.random.default_rng(5).integers(0, 256, shape, dtype=np.uint8))


def planes_of(images):
    return images.permute(0, 3, 1, 2).expand(-1, 3, -1, -1)


@pytest.mark.parametrize("shape", [(32, 32, 3), (8, 8, 1), (64, 64, 3), (40, 50, 3), (48, 48, 3)])
def test_preprocessing_agrees_with_torchvision(shape):
    """If it failed, ImageNet's weights would see images unlike those they were trained on."""
    images = np.random.default_rng(5).integers(0, 256, (2, *shape), dtype=np.uint8)
    found = preprocess(torch.from_numpy(images), Preprocessing(None, 48))
    planes = torch.from_numpy(images).permute(0, 3, 1, 2).expand(-1, 3, -1, -1)
    transform = v2.Compose(
        [
            v2.ToDtype(torch.float32, scale=True),
            v2.Resize((48, 48), interpolation=v2.InterpolationMode.BILINEAR, antialias=True),
            v2.Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225]),
        ]
    )
    assert found.shape == (2, 3, 48, 48)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, transform(planes), rtol=0, atol=1e-5, check_stride=False)


@pytest.mark.parametrize("side", [16, 80])
def test_resizing_agrees_with_pillow(side):
    """If it failed, shrinking would alias or images would shift, in a way torchvision shares."""
    image = np.random.default_rng(6).integers(0, 256, (32, 32, 3), dtype=np.uint8)
    found = (
        preprocess(torch.from_numpy(image[None]), Preprocessing(None, side))[0]
        .permute(1, 2, 0)
        .numpy()
    )
    pixels = (found * IMAGENET_STD + IMAGENET_MEAN) * 255
    wanted = PIL.Image.fromarray(image).resize((side, side), PIL.Image.Resampling.BILINEAR)
    # Pillow rounds to whole grey levels after each of its two passes.
    assert np.abs(pixels - np.asarray(wanted, dtype=float)).max() < 1.01


@pytest.mark.parametrize("side", [16, 48])
def test_cubic_interpolation_of_whole_images_is_near_pillows_and_in_range(side):
    """If it failed, edges would be brighter than white, which no weights have seen."""
    image = noise(1, 32, 32, 3)
    image[:, :16], image[:, 16:] = 255, 0
    found = preprocess(image, Preprocessing(None, side, "bicubic", (0, 0, 0), (1, 1, 1)))[0]
    assert found.min() == 0 and found.max() == 1
    pillow = PIL.Image.fromarray(image[0].numpy())
    wanted = np.asarray(pillow.resize((side, side), PIL.Image.Resampling.BICUBIC), dtype=float)
    assert np.abs(found.permute(1, 2, 0).numpy() * 255 - wanted).max() < 1.01


# Shapes: square, wide and tall, of the size of the crop, and with a longer side that is cut.
@pytest.mark.parametrize("shape", [(32, 32, 3), (300, 260, 3), (8, 11, 1), (224, 224, 3)])
@pytest.mark.parametrize(
    ("architecture", "weights"),
    [
        ("resnet18", "IMAGENET1K_V1"),
        ("swin_t", "IMAGENET1K_V1"),
        ("efficientnet_v2_s", "IMAGENET1K_V1"),
    ],
)
def test_published_preprocessing_is_torchvisions_own(architecture, weights, shape):
    """If it failed, activations would be those of images that the publisher never meant."""
    images = noise(2, *shape)
    found = preprocess(images, published_preprocessing(architecture, weights))
    transform = torchvision.models.get_model_weights(architecture)[weights].transforms()
    wanted = transform(planes_of(images).contiguous())
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-6, check_stride=False)


def test_own_statistics_are_used():
    """If it failed, mean and std of the configuration would be read and ignored."""
    images = noise(2, 32, 32, 3)
    mean, std = (0.1, 0.2, 0.3), (0.4, 0.5, 0.6)
    found = preprocess(images, Preprocessing(None, 32, mean=mean, std=std))
    values = images.permute(0, 3, 1, 2) / 255
    wanted = (values - torch.tensor(mean).view(3, 1, 1)) / torch.tensor(std).view(3, 1, 1)
    torch.testing.assert_close(found, wanted, check_stride=False)


def test_every_published_size_is_used():
    """If it failed, an architecture of the catalogue could not be given its images."""
    crops = {known.preprocessing for names in ARCHITECTURES.values() for known in names.values()}
    images = noise(1, 16, 20, 3)
    for preprocessing in crops:
        side = preprocessing.crop
        assert preprocess(images, preprocessing).shape == (1, 3, side, side)
