"""Convex models are at the optimum of the objective that the paper writes down, or say why not."""

import numpy as np
import pytest
import torch
from scipy.special import expit
from sklearn.linear_model import LogisticRegression, Ridge

from problems import convex_problem
from wtrak.convex import models as convex
from wtrak.convex.models import (
    MODELS,
    curvatures,
    data_loss,
    fit,
    gradients,
    hessian,
    outputs_of,
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


def test_unknown_model_is_refused():
    """A misspelt model would be taken for one of a single output."""
    with pytest.raises(WtrakError, match="expected one of ridge, logistic, multinomial"):
        outputs_of("lasso", np.zeros(3))
    assert [outputs_of(kind, np.array([0.0, 3, 1])) for kind in MODELS] == [1, 1, 4]


@pytest.mark.parametrize("shift", [0.0, 900.0, -900.0])
def test_far_outputs_of_all_classes_are_no_overflow(shift):
    """A model that is sure would have NaN for its loss."""
    eta = np.array([[0.0, 1.0, 2.0], [0.0, 800.0, 1.0]]) + shift
    p = convex.probabilities("multinomial", eta)
    np.testing.assert_allclose(p, [np.exp([0, 1, 2]) / np.exp([0, 1, 2]).sum(), [0, 1, 0]])
    y = np.array([1.0, 0.0])
    np.testing.assert_allclose(slopes("multinomial", eta, y)[1], [-1, 1, 0])
    loss = data_loss("multinomial", eta, y)
    np.testing.assert_allclose(loss, [np.log(np.exp([0, 1, 2]).sum()) - 1, 800])
    assert np.abs(curvatures("multinomial", eta)[1]).max() < 1e-300


def test_far_outputs_of_one_class_are_no_overflow():
    """The same for two classes."""
    eta = np.array([[900.0], [-900.0], [0.5]])
    p = convex.probabilities("logistic", eta)
    np.testing.assert_allclose(p[:, 0], [1, 0, expit(0.5)])
    np.testing.assert_allclose(data_loss("logistic", eta, np.zeros(3))[:2], [900, 0])


@pytest.mark.parametrize("kind", MODELS)
def test_weights_of_another_sum_have_the_same_optimum(kind):
    """The penalty is a part of every example's loss: it grows with the weights."""
    x, y = convex_problem(kind)
    weights = np.random.default_rng(1).random(60)
    one = fit(kind, 0.05, x, y, weights=weights / weights.sum())
    other = fit(kind, 0.05, x, y, weights=weights, tolerance=1e-10)
    np.testing.assert_allclose(other.theta, one.theta, atol=1e-9)
    scaled = weights.sum() * hessian(kind, 0.05, one.theta, x, one.weights)
    np.testing.assert_allclose(hessian(kind, 0.05, one.theta, x, weights), scaled, rtol=1e-10)


@pytest.mark.parametrize("kind", ["logistic", "multinomial"])
@pytest.mark.parametrize("reach", [30.0, -30.0, 300.0])
def test_a_start_far_away_leads_to_the_optimum(kind, reach):
    """A whole Newton step from where the loss is flat goes ever farther away."""
    x, y = convex_problem(kind)
    near = fit(kind, 1e-3, x, y)
    start = reach * np.random.default_rng(2).standard_normal(near.theta.shape)
    given = start.copy()
    far = fit(kind, 1e-3, x, y, initial=start)
    np.testing.assert_allclose(far.theta, near.theta, atol=1e-8)
    np.testing.assert_array_equal(start, given)


@pytest.mark.parametrize("kind", ["logistic", "multinomial"])
@pytest.mark.parametrize("total", [0.2, 1.0, 5.0])
@pytest.mark.parametrize("reach", [1.3, 3.0, 100.0])
def test_a_start_beyond_the_optimum_leads_back_to_it(kind, total, reach):
    """The loss of separable data falls all the way out: the penalty alone leads back."""
    x, y = convex_problem(kind)
    y = x[:, :3].argmax(axis=1).astype(float) if kind == "multinomial" else 1.0 * (x[:, 0] > 0)
    near = fit(kind, 0.1, x, y)
    weights = np.full(60, total / 60)
    far = fit(kind, 0.1, x, y, weights=weights, initial=reach * near.theta, max_steps=12)
    np.testing.assert_allclose(far.theta, near.theta, atol=1e-8)


def test_where_the_loss_rounds_a_whole_step_is_made():
    """A fit of large labels would stop short of its optimum, or take many steps to it."""
    x, y = convex_problem("ridge")
    near = fit("ridge", 0.1, x, 1e3 * y)
    for seed in range(12):
        off = np.random.default_rng(seed).standard_normal(near.theta.shape)
        found = fit("ridge", 0.1, x, 1e3 * y, initial=near.theta + 1e-7 * off, max_steps=1)
        np.testing.assert_allclose(found.theta, near.theta, atol=1e-10)


def test_labels_that_are_not_finite_are_refused():
    """NaN would spread to every interval."""
    for of_inputs in (False, True):
        x, y = convex_problem("ridge")
        (x[:, 0] if of_inputs else y)[5] = np.inf
        with pytest.raises(WtrakError, match="not finite"):
            fit("ridge", 0.1, x, y)


def test_a_quadratic_loss_takes_one_step():
    """Steps would be shorter than Newton's, or more be made than allowed."""
    x, y = convex_problem("ridge")
    expected = np.linalg.solve(x.T @ x / 60 + 0.1 * np.eye(4), x.T @ y / 60)
    found = fit("ridge", 0.1, x, y, max_steps=1)
    np.testing.assert_allclose(found.weights, np.full(60, 1 / 60))
    np.testing.assert_allclose(found.theta[0], expected, rtol=1e-12)
    with pytest.raises(WtrakError, match="no optimum within 0 Newton steps"):
        fit("ridge", 0.1, x, y, max_steps=0)
    # At the optimum none is left to make.
    again = fit("ridge", 0.1, x, y, max_steps=0, initial=found.theta, tolerance=1e-9)
    np.testing.assert_array_equal(again.theta, found.theta)


@pytest.mark.parametrize("kind", ["logistic", "multinomial"])
def test_steps_end_at_the_tolerance(kind):
    """A looser fit would cost what a tight one does, or be looser than asked."""
    x, y = convex_problem(kind)
    loose = fit(kind, 0.01, x, y, tolerance=1e-2)
    assert 1e-9 < loose.gradient_norm <= 1e-2
    with pytest.raises(WtrakError, match="within 2 Newton steps"):
        fit(kind, 0.01, x, y, max_steps=2)


def test_separable_classes_have_an_optimum_with_a_penalty_alone():
    """Models of another kind, or data that a plane does not separate, would be refused."""
    x, y = convex_problem("ridge")
    assert np.isfinite(fit("ridge", 0.0, x, y).theta).all()
    x, y = convex_problem("logistic")
    assert np.isfinite(fit("logistic", 0.0, x, y).theta).all()
