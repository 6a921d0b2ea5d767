"""Attributions of a perceptron's test points, against explicit gradients and inverses."""

import numpy as np
import pytest
import torch

from wtrak.removal.attribution import dot_products, geometric, last_layer_influence
from wtrak.removal.mlp import train
from wtrak.removal.mlp_gradients import draw_projection, features, layer_factors

CPU = torch.device("cpu")
N, M, CLASSES, WIDTH = 90, 30, 3, 6
RECIPE = {"width": WIDTH, "epochs": 8, "batch_size": 16, "learning_rate": 0.02}
# Of the last layer, with its intercepts.
LAST = CLASSES * (WIDTH + 1)


@pytest.fixture(scope="module")
def trained():
    """A network, its training examples and those that it is tested on."""
    rng = np.random.default_rng(0)
    labels = rng.integers(CLASSES, size=N + M)
    inputs = 0.3 * rng.standard_normal((N + M, 9)) + 0.4 * np.eye(CLASSES, 9)[labels]
    x, y = torch.from_numpy(inputs).float(), torch.from_numpy(labels)
    network = train(x, y, torch.arange(N)[None], [1], RECIPE, CLASSES, CPU)
    return network, (x[:N], y[:N]), (x[N:], y[N:])


@pytest.mark.parametrize("kind", ["loss", "margin"])
def test_scores_and_self_influence_are_those_of_their_formula(trained, kind):
    """Rankings and datamodels would be of other scores, of either part of the network."""
    network, (x, y), (x_test, y_test) = trained
    projection = draw_projection(WIDTH, x.shape[1], (4, 5), 7, CPU)
    found = geometric(network, (x, y), (x_test, y_test), kind, projection, 1e-3, 32)
    phi, queries = (
        features(network, *pair, kind, projection).double().numpy()
        for pair in ((x, y), (x_test, y_test))
    )
    for columns, scores in ((slice(None), found.whole), (slice(-LAST, None), found.last)):
        own, asked = phi[:, columns], queries[:, columns]
        inverse = np.linalg.inv(own.T @ own / N + 1e-3 * np.eye(own.shape[1]))
        expected = asked @ inverse @ own.T
        np.testing.assert_allclose(scores, expected, atol=1e-4 * np.abs(expected).max())
    inverse = np.linalg.inv(phi.T @ phi / N + 1e-3 * np.eye(phi.shape[1]))
    np.testing.assert_allclose(found.of_train, ((phi @ inverse) * phi).sum(axis=1), rtol=1e-3)
    np.testing.assert_allclose(found.of_test, ((queries @ inverse) * queries).sum(1), rtol=1e-5)


def whole_gradients(network, x, y):
    factors = layer_factors(network, x, y, "loss")
    return torch.cat([(a[:, :, None] * b[:, None, :]).flatten(1) for a, b in factors], dim=1)


def test_dot_products_are_of_whole_gradients(trained):
    """TracIn would leave out a layer, or multiply the wrong factors."""
    network, train_set, test_set = trained
    found = dot_products(network, train_set, test_set, 32)
    exact = whole_gradients(network, *test_set) @ whole_gradients(network, *train_set).T
    np.testing.assert_allclose(found, exact.numpy(), atol=1e-5 * float(exact.abs().max()))


def test_influence_of_the_last_layer_has_its_hessian(trained):
    """Influence functions would be TRAK by another name, with Q for H."""
    network, (x, y), (x_test, y_test) = trained
    found = last_layer_influence(network, (x, y), (x_test, y_test), 1e-2, 32)
    h = torch.relu(x @ network.w1[0] + network.b1[0])
    h = torch.cat([h, torch.ones(N, 1)], dim=1).double()
    weight = torch.cat([network.w2[0], network.b2[0]]).T.double().contiguous()

    def loss(flat):
        return torch.nn.functional.cross_entropy(h @ flat.view(CLASSES, -1).T, y)

    curvature = torch.autograd.functional.hessian(loss, weight.flatten())
    inverse = torch.linalg.inv(curvature + 1e-2 * torch.eye(len(curvature)).double())
    train_grad, test_grad = (
        whole_gradients(network, *pair)[:, -LAST:].double() for pair in ((x, y), (x_test, y_test))
    )
    exact = (test_grad @ inverse @ train_grad.T).numpy()
    np.testing.assert_allclose(found, exact, atol=1e-4 * np.abs(exact).max())
