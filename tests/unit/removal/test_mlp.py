"""Networks trained side by side are those trained one by one, and those of torch."""

import numpy as np
import pytest
import torch

from wtrak.errors import WtrakError
from wtrak.removal.mlp import initial, judge, outputs, train

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
