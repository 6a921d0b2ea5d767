"""Convex models are at the optimum of the objective that the paper writes down, or say why not."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression, Ridge

from problems import convex_problem
from wtrak.convex.models import (
    MODELS,
    curvatures,
    data_loss,
    fit,
    gradients,
    hessian,
    slopes,
    third_times,
)
from wtrak.errors import WtrakError


@pytest.mark.parametrize("kind", MODELS)
def test_derivatives_in_the_outputs_are_those_of_the_loss(kind):
    """Every kernel is made of these three."""
    _, y = convex_problem(kind)
    rng = np.random.default_rng(1)
    k = 3 if kind == "multinomial" else 1
    eta = torch.from_numpy(rng.standard_normal((60, k))).requires_grad_()
    first, second = (torch.from_numpy(rng.standard_normal((60, k))) for _ in range(2))
    if kind == "ridge":
        loss = 0.5 * (eta[:, 0] - torch.from_numpy(y)) ** 2
    elif kind == "logistic":
        loss = torch.nn.functional.binary_cross_entropy_with_logits(
            eta[:, 0], torch.from_numpy(y), reduction="none"
        )
    else:
        loss = torch.nn.functional.cross_entropy(eta, torch.from_numpy(y).long(), reduction="none")
    values = eta.detach().numpy()
    np.testing.assert_allclose(data_loss(kind, values, y), loss.detach().numpy(), rtol=1e-12)
    (slope,) = torch.autograd.grad(loss.sum(), eta, create_graph=True)
    np.testing.assert_allclose(slopes(kind, values, y), slope.detach().numpy(), atol=1e-12)
    (along,) = torch.autograd.grad((slope * first).sum(), eta, create_graph=True)
    found = np.einsum("nkl,nl->nk", curvatures(kind, values), first.numpy())
    np.testing.assert_allclose(found, along.detach().numpy(), atol=1e-12)
    third = third_times(kind, values, first.numpy(), second.numpy())
    if kind == "ridge":
        assert (third == 0).all()
    else:
        (twice,) = torch.autograd.grad((along * second).sum(), eta)
        np.testing.assert_allclose(third, twice.numpy(), atol=1e-12)


@pytest.mark.parametrize("kind", MODELS)
def test_optimum_is_certified_by_its_gradient(kind):
    """Leave-one-out differences are as small as what an unfinished fit leaves."""
    x, y = convex_problem(kind)
    weights = np.random.default_rng(2).dirichlet(np.ones(60))
    found = fit(kind, 0.05, x, y, weights=weights)
    gradient = np.einsum("n,nkp->kp", weights, gradients(kind, 0.05, found.theta, x, y))
    assert np.linalg.norm(gradient) < 1e-12
    assert found.gradient_norm == pytest.approx(np.linalg.norm(gradient), abs=1e-14)
    h = hessian(kind, 0.05, found.theta, x, weights)
    vector = np.random.default_rng(3).standard_normal(found.theta.shape)
    np.testing.assert_allclose(h @ found.solve(vector).ravel(), vector.ravel(), rtol=1e-9)


def test_optima_are_those_of_scikit_learn():
    """The penalty, the intercept or the mean would be others than the paper's."""
    x, y = convex_problem("ridge")
    other = Ridge(alpha=60 * 0.05, fit_intercept=False, tol=1e-12).fit(x, y)
    np.testing.assert_allclose(fit("ridge", 0.05, x, y).theta[0], other.coef_, rtol=1e-8)
    x, y = convex_problem("logistic")
    other = LogisticRegression(C=1 / (60 * 0.05), fit_intercept=False, tol=1e-12, max_iter=10_000)
    other.fit(x, y)
    np.testing.assert_allclose(fit("logistic", 0.05, x, y).theta, other.coef_, atol=1e-6)
    x, y = convex_problem("multinomial")
    other = LogisticRegression(C=1 / (60 * 0.05), fit_intercept=False, tol=1e-12, max_iter=10_000)
    other.fit(x, y)
    np.testing.assert_allclose(fit("multinomial", 0.05, x, y).theta, other.coef_, atol=1e-6)


@pytest.mark.parametrize("kind", MODELS)
def test_order_of_the_examples_is_no_part_of_the_result(kind):
    """Results would depend on how a file is sorted."""
    x, y = convex_problem(kind)
    order = np.random.default_rng(4).permutation(60)
    one, other = fit(kind, 0.01, x, y), fit(kind, 0.01, x[order], y[order])
    np.testing.assert_allclose(one.theta, other.theta, atol=1e-9)


@pytest.mark.parametrize("gap", [0.5, 1e-3])
def test_separable_classes_without_a_penalty_are_refused(gap):
    """Newton's method would run off to infinity and stop somewhere."""
    x, _ = convex_problem("logistic")
    y = (x[:, 0] > 0).astype(float)
    x[:, 0] += np.where(y == 1, gap, -gap)
    with pytest.raises(WtrakError, match=r"penalty \(λ > 0\)"):
        fit("logistic", 0.0, x, y)
    assert np.isfinite(fit("logistic", 1e-6, x, y).theta).all()


def test_redundant_features_without_a_penalty_are_refused():
    """One of many optima would pass for the optimum."""
    x, y = convex_problem("ridge")
    x = np.column_stack([x[:, 0], x])
    with pytest.raises(WtrakError, match="not positive definite"):
        fit("ridge", 0.0, x, y)
    with pytest.raises(WtrakError, match="not positive definite"):
        fit("multinomial", 0.0, *convex_problem("multinomial"))


def test_data_that_are_not_finite_are_refused():
    """NaN would spread to every interval."""
    x, y = convex_problem("ridge")
    x[3, 1] = np.nan
    with pytest.raises(WtrakError, match="not finite"):
        fit("ridge", 0.1, x, y)


def test_a_class_that_is_absent_keeps_its_output():
    """A small sample without one of the classes would have another shape than the others."""
    x, y = convex_problem("multinomial")
    keep = y < 2
    found = fit("multinomial", 0.1, x[keep], y[keep], n_outputs=3)
    assert found.theta.shape == (3, 4) and np.isfinite(found.theta).all()
