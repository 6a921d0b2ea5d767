"""Networks trained side by side are those trained one by one, and their gradients are gradients."""

import numpy as np
import pytest
import torch
from torch.func import grad, vmap

from wtrak.errors import WtrakError
from wtrak.removal.mlp import initial, judge, outputs, train
from wtrak.removal.mlp_gradients import (
    GRADIENTS,
    draw_projection,
    features,
    inner_product_error,
    last_layer_size,
    layer_factors,
)

CPU = torch.device("cpu")
RECIPE = {"width": 7, "epochs": 4, "batch_size": 8, "learning_rate": 0.01}


@pytest.fixture(scope="module")
def examples():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=50)
    x = rng.standard_normal((50, 6)) + np.eye(3, 6)[y]
    return torch.from_numpy(x).float(), torch.from_numpy(y)


def members(count, size=30):
    return torch.stack(
        [
            torch.randperm(50, generator=torch.Generator().manual_seed(k))[:size]
            for k in range(count)
        ]
    )


def test_side_by_side_is_one_by_one(examples):
    """Removal curves would depend on which networks share a stack."""
    x, y = examples
    seeds, rows = [3, 5, 5, 9], members(4)
    together = train(x, y, rows, seeds, RECIPE, 3, CPU)
    for k, seed in enumerate(seeds):
        alone = train(x, y, rows[k : k + 1], [seed], RECIPE, 3, CPU)
        for one, many in zip(alone.parameters, together.parameters, strict=True):
            torch.testing.assert_close(one[0], many[k], atol=1e-5, rtol=1e-5)
    # The same seed on other examples is another network.
    assert (together.w1[1] - together.w1[2]).abs().max() > 1e-3


def test_training_is_that_of_torchs_own_network(examples):
    """The loss, the optimiser or the layers would be others than those that are named."""
    x, y = examples
    rows = members(1)
    start = initial([3], 6, 7, 3, CPU)
    model = torch.nn.Sequential(torch.nn.Linear(6, 7), torch.nn.ReLU(), torch.nn.Linear(7, 3))
    with torch.no_grad():
        for layer, w, b in ((model[0], start.w1, start.b1), (model[2], start.w2, start.b2)):
            layer.weight.copy_(w[0].T)
            layer.bias.copy_(b[0, 0])
    optimizer = torch.optim.Adam(model.parameters(), lr=RECIPE["learning_rate"])
    generator = torch.Generator().manual_seed(3 + 2**31)
    for _ in range(RECIPE["epochs"]):
        order = rows[0][torch.randperm(30, generator=generator)]
        for batch in order.split(RECIPE["batch_size"]):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x[batch]), y[batch]).backward()
            optimizer.step()
    found = train(x, y, rows, [3], RECIPE, 3, CPU)
    torch.testing.assert_close(outputs(found, x)[0], model(x), atol=1e-4, rtol=1e-4)
    assert found.w1.shape == start.w1.shape


def test_epochs_can_be_visited(examples):
    """TracIn would add up the last epoch again and again."""
    x, y = examples
    seen = []
    done = train(x, y, members(2), [0, 1], RECIPE, 3, CPU, visit=lambda *both: seen.append(both))
    assert [epoch for epoch, _ in seen] == [1, 2, 3, 4]
    torch.testing.assert_close(seen[-1][1].w1, done.w1)
    assert (seen[0][1].w1 - done.w1).abs().max() > 1e-3
    first = train(x, y, members(2), [0, 1], RECIPE | {"epochs": 1}, 3, CPU)
    torch.testing.assert_close(seen[0][1].w1, first.w1)


def test_judgement_is_loss_and_margin(examples):
    """Linear datamodeling scores would be of another output."""
    x, y = examples
    networks = initial([0, 1], 6, 7, 3, CPU)
    losses, margins = judge(networks, x, y, block_size=16)
    for k in range(2):
        log_p = torch.log_softmax(outputs(networks, x)[k].double(), dim=1)[range(50), y]
        np.testing.assert_allclose(losses[k], -log_p.numpy(), rtol=1e-4)
        expected = log_p - torch.log1p(-log_p.exp())
        np.testing.assert_allclose(margins[k], expected.numpy(), rtol=1e-3, atol=1e-5)


def test_divergence_is_an_error(examples):
    x, y = examples
    with pytest.raises(WtrakError, match="diverged"):
        train(x, y, members(1), [0], RECIPE | {"learning_rate": 1e30}, 3, CPU)


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
