"""Gradients of perceptrons by their factors, and projections that keep inner products."""

import numpy as np
import pytest
import torch
from torch.func import grad, vmap

from wtrak.removal.mlp import initial
from wtrak.removal.mlp_gradients import (
    GRADIENTS,
    draw_projection,
    features,
    inner_product_error,
    last_layer_size,
    layer_factors,
)

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def examples():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=50)
    x = rng.standard_normal((50, 6)) + np.eye(3, 6)[y]
    return torch.from_numpy(x).float(), torch.from_numpy(y)


@pytest.mark.parametrize("kind", GRADIENTS)
def test_factors_are_those_of_per_example_gradients(examples, kind):
    """Scores of the whole network would be of something that is no gradient."""
    x, y = examples
    network = initial([4], 6, 7, 3, CPU)

    def value(parameters, one, onehot):
        h = torch.relu(one @ parameters["w1"] + parameters["b1"])
        z = h @ parameters["w2"] + parameters["b2"]
        if kind == "loss":
            return -(torch.log_softmax(z, dim=-1) * onehot).sum()
        others = torch.where(onehot > 0, -torch.inf, z)
        return (z * onehot).sum() - torch.logsumexp(others, dim=0)

    names = ("w1", "b1", "w2", "b2")
    parameters = {
        name: part[0].squeeze(0) for name, part in zip(names, network.parameters, strict=True)
    }
    onehot = torch.nn.functional.one_hot(y, 3).float()
    exact = vmap(grad(value), in_dims=(None, 0, 0))(parameters, x, onehot)
    first, last = (a[:, :, None] * b[:, None, :] for a, b in layer_factors(network, x, y, kind))
    torch.testing.assert_close(first[:, :, :-1], exact["w1"].transpose(1, 2), atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(first[:, :, -1], exact["b1"], atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(last[:, :, :-1], exact["w2"].transpose(1, 2), atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(last[:, :, -1], exact["b2"], atol=1e-5, rtol=1e-4)


def test_projection_keeps_inner_products_within_its_bound(examples):
    """Scores would be of noise."""
    x, y = examples
    network = initial([4], 6, 7, 3, CPU)
    small, large = (
        np.mean(
            [
                inner_product_error(network, x, y, "loss", draw_projection(7, 6, sizes, seed, CPU))
                for seed in range(20)
            ]
        )
        for sizes in ((8, 8), (32, 32))
    )
    # Each factor errs by about the root of 2/k; four times as many numbers halve that.
    assert large < 0.6 * small and large < 0.5


def test_features_end_with_those_of_the_last_layer(examples):
    """Scores of the last layer would be of a part of the first."""
    x, y = examples
    network = initial([4], 6, 7, 3, CPU)
    phi = features(network, x, y, "loss", draw_projection(7, 6, (5, 4), 0, CPU))
    size = last_layer_size(network)
    assert phi.shape == (50, 5 * 4 + size) and size == 3 * 8
    a, b = layer_factors(network, x, y, "loss")[1]
    torch.testing.assert_close(phi[:, -size:], (a[:, :, None] * b[:, None, :]).flatten(1))
