"""Networks of the catalogue end in the linear layer that it names."""

import pytest
import torch
import torchvision

from wtrak.geometry.catalogue import ARCHITECTURES


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_the_last_layer_is_linear_and_is_all_that_follows_the_activations(name):
    """Something else would be cut off, or activations of an earlier layer be taken."""
    with torch.device("meta"):
        model = torchvision.models.get_model(name, weights=None)
    layers = [layer for _, layer in model.named_modules() if not list(layer.children())]
    assert getattr(model, ARCHITECTURES[name]) is layers[-1]
    assert isinstance(layers[-1], torch.nn.Linear)
