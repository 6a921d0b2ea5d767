"""Residuals and the factored gradients φ = e ⊗ h."""

import numpy as np
import pytest
import torch
import torchvision
from scipy.special import logsumexp

from problems import gradients
from reference import explicit
from wtrak.errors import WtrakError
from wtrak.geometry.gradients import (
    Gradients,
    append_constant,
    assemble,
    reduce_to_sum_zero,
    residuals,
    sums_to_zero,
)


def output(z, y, gradient):
    """The scalar that φ differentiates, in torch."""
    if gradient == "loss":
        return torch.logsumexp(z, 0) - z[y]
    if gradient == "logit":
        return z[y]
    others = torch.ones_like(z, dtype=torch.bool)
    others[y] = False
    return z[y] - torch.logsumexp(z[others], 0)


@pytest.mark.parametrize("gradient", ["loss", "margin", "logit"])
def test_residuals_are_derivatives_of_the_output(gradient):
    """φ would not be the gradient that its name says."""
    _, z, y = gradients(n=20)
    expected = [
        torch.func.grad(lambda z, y=int(label): output(z, y, gradient))(torch.from_numpy(row))
        for row, label in zip(z, y, strict=True)
    ]
    np.testing.assert_allclose(residuals(z, y, gradient), np.stack(expected), atol=1e-12)


@pytest.mark.parametrize("gradient", ["loss", "margin"])
def test_phi_is_the_per_example_gradient_of_torchvisions_last_layer(gradient):
    """The factors would not be those of the real model's fc layer, or in another order."""
    torch.manual_seed(0)
    model = torchvision.models.resnet18(weights=None, num_classes=10).eval()
    images = torch.randn(3, 3, 64, 64)
    labels = [3, 0, 9]
    names = ("fc.weight", "fc.bias")
    parameters = {k: v.detach() for k, v in model.named_parameters()}
    fc = {k: parameters[k] for k in names}

    def loss(fc, image, y):
        z = torch.func.functional_call(model, parameters | fc, (image[None],))[0]
        return output(z, y, gradient)

    features = {}
    model.fc.register_forward_hook(lambda m, inputs, z: features.update(h=inputs[0], z=z))
    with torch.no_grad():
        model(images)
    e = residuals(features["z"].double().numpy(), np.array(labels), gradient)
    phi = explicit(assemble(features["h"].numpy(), e, np.arange(3))).reshape(3, 10, 513)
    for k, y in enumerate(labels):
        grads = torch.func.grad(loss)(fc, images[k], y)
        scale = float(grads["fc.weight"].abs().max())
        np.testing.assert_allclose(phi[k, :, :512], grads["fc.weight"], atol=1e-5 * scale)
        np.testing.assert_allclose(phi[k, :, 512], grads["fc.bias"], atol=1e-5)


def test_margin_is_finite_at_confident_examples():
    """log p/(1−p) computed from p would give NaN where p rounds to 1."""
    z = np.array([[800.0, 0.0, -800.0], [0.0, 0.0, 2000.0]])
    e = residuals(z, np.array([0, 0]), "margin")
    np.testing.assert_allclose(e, [[1, -1, 0], [1, 0, -1]], atol=1e-12)


@pytest.mark.parametrize(("gradient", "expected"), [("loss", 1), ("margin", 1), ("logit", 0)])
def test_which_residuals_sum_to_zero(gradient, expected):
    """The reduced basis would be used where it loses part of φ."""
    g, _, _ = gradients(gradient=gradient)
    sums = np.abs(g.residuals.sum(axis=1)).max()
    assert sums_to_zero(gradient) == bool(expected)
    assert (sums < 1e-12) == bool(expected)


def test_sum_zero_basis_keeps_inner_products():
    """τ and SI would change with the basis."""
    g, _, _ = gradients()
    reduced = reduce_to_sum_zero(g)
    assert reduced.dimension == g.dimension * 3 // 4
    full, small = explicit(g), explicit(reduced)
    np.testing.assert_allclose(small @ small.T, full @ full.T, atol=1e-12)


def test_reducing_logit_gradients_is_refused():
    """Part of φ would be dropped without a word."""
    g, _, _ = gradients(gradient="logit")
    with pytest.raises(WtrakError, match="do not sum to zero"):
        reduce_to_sum_zero(g)


def test_squared_norms():
    """Euclidean constants would be off."""
    g, _, _ = gradients()
    np.testing.assert_allclose(g.squared_norms(), (explicit(g) ** 2).sum(axis=1), rtol=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("factor", ["residuals", "activations"])
def test_not_finite_is_refused_by_name(bad, factor):
    """A NaN would spread through Q to every score, and nobody would know from where."""
    g, _, _ = gradients()
    arrays = {"residuals": g.residuals.copy(), "activations": g.activations.copy()}
    arrays[factor][5, 2] = bad
    with pytest.raises(WtrakError, match=f"{factor}.*example {g.index[5]} of its dataset"):
        Gradients(**arrays, index=g.index)


def test_rows_stay_aligned_with_their_dataset_index():
    """Scores would belong to other examples than their index says."""
    rng = np.random.default_rng(1)
    features = rng.standard_normal((50, 6)).astype(np.float32)
    index = np.array([40, 3, 17])
    e = rng.standard_normal((3, 4))
    g = assemble(features, e, index)
    np.testing.assert_array_equal(g.activations[:, :-1], features[index])
    part = g.take([2, 0])
    np.testing.assert_array_equal(part.index, [17, 40])
    np.testing.assert_array_equal(part.residuals, e[[2, 0]])
    np.testing.assert_array_equal(part.activations[:, :-1], features[[17, 40]])


def test_factors_out_of_step_are_refused():
    """Residuals of one subset would be paired with activations of another."""
    with pytest.raises(WtrakError, match="differ in number"):
        Gradients(np.zeros((3, 2)), np.zeros((4, 2), np.float32), np.arange(3))


def test_constant_is_appended_last():
    """The bias column would be mistaken for a feature."""
    h = append_constant(np.zeros((3, 5)))
    assert h.shape == (3, 6) and h.dtype == np.float32
    np.testing.assert_array_equal(h[:, -1], 1)


def test_log_sum_exp_oracle_of_the_margin():
    """The margin's value, of which e is the derivative, is log p/(1 − p)."""
    z = np.array([0.3, -1.2, 2.0])
    p = np.exp(z - logsumexp(z))
    value = float(output(torch.from_numpy(z), 1, "margin"))
    assert value == pytest.approx(np.log(p[1] / (1 - p[1])))
