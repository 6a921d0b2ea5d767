"""TracIn, epoch by epoch, against gradients that are written out."""

import numpy as np
import torch

from problems import gradients
from reference import explicit
from wtrak.geometry.gradients import Gradients, residuals
from wtrak.geometry.head import train_head
from wtrak.labels.tracin import epoch_influence, tracin

CPU = torch.device("cpu")


def test_an_epoch_adds_the_squared_norm_of_its_gradient():
    """TracIn would weigh epochs or examples by something else."""
    g, z, y = gradients(n=30)
    expected = 0.1 * (explicit(g) ** 2).sum(axis=1)
    np.testing.assert_allclose(epoch_influence(z, y, g.activations, 0.1), expected, rtol=1e-12)


def test_influence_is_summed_over_the_heads_that_each_epoch_ends_with():
    """The start would count, an epoch be left out, or the last head stand for all."""
    g, _, y = gradients(n=24, n_classes=3, p=5)
    h = g.activations
    recipe = {"optimizer": "sgd", "learning_rate": 0.2, "epochs": 3, "batch_size": 8}
    recipe |= {"weight_decay": 0.01, "momentum": 0.9, "seed": 0}
    expected = np.zeros(24)
    for epochs in (1, 2, 3):
        weight, _, _ = train_head(h, y, 3, recipe | {"epochs": epochs}, CPU)
        z = h.astype(float) @ weight.T
        phi = explicit(Gradients(residuals(z, y, "loss"), h, np.arange(24)))
        expected += 0.2 * (phi**2).sum(axis=1)
    np.testing.assert_allclose(tracin(h, y, 3, recipe, CPU), expected, rtol=1e-6)
