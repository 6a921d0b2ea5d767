"""The network of figure 1, against sums that are written out and differences."""

import numpy as np
import pytest
import torch

from wtrak.convex.parameter_change import Network, perturbed_weights, relative_error


def test_weights_are_equal_on_what_is_kept():
    """More or less would be left out, or the weights not be a distribution."""
    for share, left_out in ((0.7, 7), (0.3, 3), (0.26, 3), (0.01, 1), (0.0, 1)):
        kept, drawn = 10 - left_out, set()
        for seed in range(6):
            weights = perturbed_weights(10, share, np.random.default_rng(seed))
            assert sorted(weights) == pytest.approx([0] * left_out + [1 / kept] * kept)
            drawn.add(tuple(weights > 0))
        assert len(drawn) > 1


def test_relative_error_is_relative_to_what_is_so():
    """It would be relative to the prediction."""
    found = relative_error(np.array([4.0, 1.0]), np.array([1.0, 5.0]))
    assert found == pytest.approx(5 / np.sqrt(26), rel=1e-12)


@pytest.fixture(scope="module")
def network():
    """Two hidden layers, of 3 and 2 units, on 12 examples of 4 features."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((12, 4)), np.arange(12) % 2.0
    return Network(x, y, [3, 2], 0.3, seed=5), x, y, torch.from_numpy(rng.standard_normal(26))


def outputs(x, theta):
    """The same network by hand: weights and biases of 4-3-2-1 units."""
    w1, b1, w2, b2, w3, b3 = np.split(theta, np.cumsum([12, 3, 6, 2, 2]))
    first = np.tanh(x @ w1.reshape(3, 4).T + b1)
    return np.tanh(first @ w2.reshape(2, 3).T + b2) @ w3 + b3


def loss(x, y, theta, weights):
    z = outputs(x, theta)
    p = 1 / (1 + np.exp(-z))
    each = -y * np.log(p) - (1 - y) * np.log(1 - p)
    return weights @ each + 0.15 * (theta**2).sum()


def test_outputs_and_loss_are_those_of_the_network_by_hand(network):
    """Another network, label or penalty would be fitted than is written down."""
    model, x, y, theta = network
    np.testing.assert_allclose(model.outputs(theta), outputs(x, theta.numpy()), rtol=1e-10)
    weights = np.random.default_rng(1).random(12)
    found = float(model.loss(theta, torch.from_numpy(weights)))
    assert found == pytest.approx(loss(x, y, theta.numpy(), weights), rel=1e-10)


def test_networks_start_at_their_seed_and_leave_other_draws_alone(network):
    """Every network of a run would start at the same weights, or disturb what is drawn next."""
    model, x, y, _ = network
    assert model.initial.shape == (26,) and not model.initial.requires_grad
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    same, other = (Network(x, y, [3, 2], 0.3, seed=seed) for seed in (5, 6))
    np.testing.assert_array_equal(torch.rand(2), expected)
    np.testing.assert_array_equal(same.initial, model.initial)
    assert not np.array_equal(other.initial, model.initial)
    outputs_at = model.outputs(model.initial).detach()
    np.testing.assert_allclose(outputs_at, model.model(model.x)[:, 0].detach(), rtol=1e-12)


def test_curvature_and_predicted_change_by_differences(network):
    """The optimum would be moved by another Hessian or gradient, or the other way."""
    model, x, y, theta = network
    uniform, step = np.full(12, 1 / 12), 1e-5
    weights = perturbed_weights(12, 0.25, np.random.default_rng(2))
    basis = step * np.eye(26)

    def gradient(at, of):
        up, down = ([loss(x, y, at + sign * row, of) for row in basis] for sign in (1, -1))
        return (np.array(up) - down) / (2 * step)

    at = theta.numpy()
    rows = [gradient(at + 10 * row, uniform) - gradient(at - 10 * row, uniform) for row in basis]
    curvature = model.hessian_at(theta)
    np.testing.assert_allclose(curvature, np.array(rows) / (20 * step), atol=1e-5)
    found = model.predicted_change(theta, curvature, weights).numpy()
    np.testing.assert_allclose(curvature.numpy() @ found, -gradient(at, weights), atol=1e-8)


def test_training_ends_at_a_stationary_point_from_wherever_it_starts(network):
    """What is called an optimum would be where the steps ran out."""
    model, *_ = network
    weights = perturbed_weights(12, 0.25, np.random.default_rng(2))
    for start in (None, torch.zeros(26).double()):
        theta = model.train(weights, start).requires_grad_()
        (gradient,) = torch.autograd.grad(model.loss(theta, torch.from_numpy(weights)), theta)
        assert gradient.norm() <= 1e-7
    assert model.initial.grad is None


def test_network_is_at_a_stationary_point_and_its_prediction_is_of_first_order():
    """The prediction would be of another optimum, or another perturbation."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((40, 3))
    y = (x[:, 0] * x[:, 1] > 0).astype(float)
    network = Network(x, y, [4], 1e-2, seed=0)
    uniform = np.full(40, 1 / 40)
    theta = network.train(uniform)
    curvature = network.hessian_at(theta)
    errors = []
    target = perturbed_weights(40, 0.1, rng)
    for strength in (0.1, 0.01):
        weights = (1 - strength) * uniform + strength * target
        predicted = network.predicted_change(theta, curvature, weights).numpy()
        actual = (network.train(weights, start=theta) - theta).numpy()
        errors.append(relative_error(predicted, actual))
    # Of second order: a tenth of the change, a tenth of the relative error.
    assert errors[0] < 0.1 and errors[1] < 0.25 * errors[0]


def test_network_follows_its_seed():
    """Many networks would be one, or another in every run."""
    x, y = np.random.default_rng(0).standard_normal((20, 2)), np.arange(20) % 2.0
    first, again, other = (Network(x, y, [3], 0.1, seed).initial for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_perturbation_leaves_out_a_share():
    """Nothing would be perturbed at a small share."""
    weights = perturbed_weights(50, 0.1, np.random.default_rng(0))
    assert (weights == 0).sum() == 5 and weights.sum() == pytest.approx(1)
    assert (perturbed_weights(50, 1e-6, np.random.default_rng(0)) == 0).sum() == 1
