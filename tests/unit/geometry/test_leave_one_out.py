"""One Newton step says what a head without an example says, as fits without it show."""

import numpy as np
import pytest
import torch
from scipy.linalg import helmert

from wtrak.geometry.head import logits, train_head
from wtrak.geometry.leave_one_out import hessian, leave_one_out

CPU = torch.device("cpu")
DECAY = 1e-2
RECIPE = {"optimizer": "lbfgs", "gradient_norm": 1e-9, "max_iterations": 1000}


@pytest.fixture(scope="module")
def fitted():
    """A head at its optimum on 120 noisy points of 4 classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=120)
    h = rng.standard_normal((120, 8)).astype(np.float32)
    h[:, :4] += np.eye(4)[y]
    h[:, -1] = 1.0
    weight, _, _ = train_head(h, y, 4, RECIPE | {"weight_decay": DECAY}, CPU)
    return h, y, weight


def test_logits_are_those_of_a_fit_without_the_example(fitted):
    """The loss "without the example" would be that of another head."""
    h, y, weight = fitted
    z = logits(weight, h)
    found = leave_one_out(z, h, y, DECAY, block_size=50, device=CPU)
    centred = z - z.mean(axis=1, keepdims=True)
    errors = []
    for i in range(0, 120, 5):
        keep = np.arange(120) != i
        # The same objective with one term less: its mean is over 119.
        recipe = RECIPE | {"weight_decay": DECAY * 120 / 119}
        without, _, _ = train_head(h[keep], y[keep], 4, recipe, CPU, initial=weight)
        exact = logits(without, h[i : i + 1])[0]
        exact -= exact.mean()
        moved = np.abs(exact - centred[i]).max()
        assert moved > 1e-3
        errors.append(np.abs(found.logits[i] - exact).max() / moved)
    # What is left is of second order in the move, and largest where that is large.
    assert np.median(errors) < 0.03
    assert max(errors) < 0.2


def test_hessian_is_the_second_derivative_of_the_objective(fitted):
    """Curvature of another loss, or with the bias penalised, would give another step."""
    h, y, weight = fitted
    targets, features = torch.from_numpy(y), torch.from_numpy(h).double()

    def objective(flat):
        w = flat.view(4, 8)
        loss = torch.nn.functional.cross_entropy(features @ w.T, targets)
        return loss + 0.5 * DECAY * (w[:, :-1] ** 2).sum()

    flat = torch.from_numpy(weight).flatten()
    full = torch.autograd.functional.hessian(objective, flat).numpy()
    basis = np.kron(helmert(4), np.eye(8))
    found = hessian(logits(weight, h), h, DECAY, block_size=50, device=CPU).numpy()
    np.testing.assert_allclose(found, basis @ full @ basis.T, atol=1e-10)


def test_block_size_is_no_part_of_the_result(fitted):
    """Memory would decide what is suspicious."""
    h, y, weight = fitted
    z = logits(weight, h)
    one = leave_one_out(z, h, y, DECAY, block_size=7, device=CPU)
    other = leave_one_out(z, h, y, DECAY, block_size=1000, device=CPU)
    np.testing.assert_allclose(one.logits, other.logits, rtol=1e-9)
    np.testing.assert_allclose(one.influence, other.influence, rtol=1e-9)
