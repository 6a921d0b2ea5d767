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


def test_copies_are_left_out_together():
    """A copy that stays would tell the head the wrong label, and its loss be low."""
    rng = np.random.default_rng(1)
    y = rng.integers(3, size=60)
    h = rng.standard_normal((60, 6)).astype(np.float32)
    h[:, :3] += np.eye(3)[y]
    h[:, -1] = 1.0
    # Three copies with a wrong label, two with the right one; the rest alone.
    rows = np.concatenate([np.arange(60), [4, 4, 9]])
    h, y = h[rows], y[rows]
    y[[4, 60, 61]] = (y[4] + 1) % 3
    groups = np.unique(rows, return_inverse=True)[1]
    n = len(y)
    weight, _, _ = train_head(h, y, 3, RECIPE | {"weight_decay": DECAY}, CPU)
    z = logits(weight, h)
    found = leave_one_out(z, h, y, DECAY, block_size=50, device=CPU, groups=groups)
    alone = leave_one_out(z, h, y, DECAY, block_size=50, device=CPU)
    single = np.bincount(groups)[groups] == 1
    np.testing.assert_array_equal(found.logits[single], alone.logits[single])
    np.testing.assert_array_equal(found.influence, alone.influence)
    for group in ([4, 60, 61], [9, 62]):
        keep = ~np.isin(np.arange(n), group)
        recipe = RECIPE | {"weight_decay": DECAY * n / keep.sum()}
        without, _, _ = train_head(h[keep], y[keep], 3, recipe, CPU, initial=weight)
        exact = logits(without, h[group])
        exact -= exact.mean(axis=1, keepdims=True)
        moved = exact - (z[group] - z[group].mean(axis=1, keepdims=True))
        np.testing.assert_allclose(found.logits[group], exact, atol=0.2 * np.abs(moved).max())
        # Leaving one of them out moves far less.
        assert np.abs(alone.logits[group] - exact).max() > 0.3 * np.abs(moved).max()


def test_a_group_moves_as_one_newton_step_without_it(fitted):
    """A block of the leverage or the curvature would be another pair's, or be left out."""
    h, y, weight = fitted
    z, n, basis = logits(weight, h), len(h), helmert(4)
    groups = np.arange(n)
    groups[[7, 30, 31]], groups[[50, 90]] = 7, 50
    found = leave_one_out(z, h, y, DECAY, block_size=50, device=CPU, groups=groups)
    inverse = np.linalg.inv(hessian(z, h, DECAY, block_size=50, device=CPU).numpy())
    p = np.exp(z - np.logaddexp.reduce(z, axis=1, keepdims=True))
    for group in ([7, 30, 31], [50, 90]):
        design = np.concatenate([np.kron(np.eye(3), h[i]) for i in group])
        curvature = np.zeros((3 * len(group),) * 2)
        for place, i in enumerate(group):
            rows = slice(3 * place, 3 * place + 3)
            curvature[rows, rows] = basis @ (np.diag(p[i]) - np.outer(p[i], p[i])) @ basis.T
        e = np.concatenate([basis @ (p[i] - np.eye(4)[y[i]]) for i in group])
        # The Hessian without the group, times n, and the sum of its gradients.
        without = np.linalg.inv(n * np.linalg.inv(inverse) - design.T @ curvature @ design)
        moved = (design @ without @ design.T @ e).reshape(len(group), 3) @ basis
        centred = z[group] - z[group].mean(axis=1, keepdims=True)
        np.testing.assert_allclose(found.logits[group], centred + moved, rtol=1e-8)


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


def test_influence_is_that_of_the_explicit_hessian(fitted):
    """n examples would be weighed as one, or a product of vectors be something else."""
    h, y, weight = fitted
    z = logits(weight, h)
    p = np.exp(z - z.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    phi = ((p - np.eye(4)[y])[:, :, None] * h[:, None, :].astype(float)).reshape(120, -1)
    expected = np.einsum("nd,de,ne->n", phi, np.linalg.pinv(curvature(p, h, DECAY)), phi)
    found = leave_one_out(z, h, y, DECAY, block_size=50, device=CPU).influence
    np.testing.assert_allclose(found, expected, rtol=1e-8)


def curvature(p, h, penalty, weights=None):
    """Hessian of the objective at probabilities (n, C), on all C·p weights."""
    n, classes = p.shape
    weights = np.full(n, 1 / n) if weights is None else weights
    s = np.einsum("nc,cd->ncd", p, np.eye(classes)) - p[:, :, None] * p[:, None, :]
    full = np.einsum("n,ncd,np,nq->cpdq", weights, s, h.astype(float), h.astype(float))
    shrink = np.tile(np.append(np.full(h.shape[1] - 1, penalty), 0.0), classes)
    return full.reshape(len(shrink), -1) + np.diag(shrink)


def optimum(h, y, penalty, weights, classes=3):
    """Weights and probabilities at the optimum of weighted examples, by Newton's method."""
    shrink = np.append(np.full(h.shape[1] - 1, penalty), 0.0)

    def at(w):
        z = h @ w.T
        p = np.exp(z - z.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        loss = np.logaddexp.reduce(z, axis=1) - z[np.arange(len(y)), y]
        return weights @ loss + 0.5 * (shrink * w * w).sum(), p

    w = np.zeros((classes, h.shape[1]))
    for _ in range(50):
        value, p = at(w)
        slope = (weights[:, None] * (p - np.eye(classes)[y])).T @ h + shrink * w
        if np.linalg.norm(slope) < 1e-10:
            return w, p
        step = np.linalg.lstsq(curvature(p, h, penalty, weights), slope.ravel(), rcond=1e-14)[0]
        scale = 1.0
        while at(w - scale * step.reshape(w.shape))[0] > value and scale > 1e-6:
            scale /= 2
        w = w - scale * step.reshape(w.shape)
    raise AssertionError("no optimum")


@pytest.mark.parametrize(("outward", "leverage"), [(20, 0.97), (40, 0.985)])
def test_a_point_that_holds_the_head_up_alone_is_seen_from_outside(outward, leverage):
    """The step would be bounded, or lost in 1 − 0.97: these points are the wrong labels.

    A point of class 0, by far, that is labelled 1 and has a feature that no other has. The head
    without it is nearly quadratic where the point moves it, so that one step is the refit.
    """
    rng, n, penalty = np.random.default_rng(0), 60, 1e-2
    y = np.arange(n) % 3
    h = np.column_stack([4 * np.eye(3)[y] + 0.7 * rng.standard_normal((n, 3)), np.zeros(n)])
    h[0], y[0] = [outward, 0, 0, 300], 1
    h = np.column_stack([h, np.ones(n)]).astype(np.float32)
    weights = np.full(n, 1 / n)
    w, p = optimum(h.astype(float), y, penalty, weights)
    reach = np.kron(np.eye(3), h[0].astype(float))
    inverse = np.linalg.pinv(curvature(p, h, penalty), rcond=1e-12)
    own = np.diag(p[0]) - np.outer(p[0], p[0])
    assert np.linalg.eigvals(own @ reach @ inverse @ reach.T / n).real.max() > leverage

    weights[0] = 0.0
    exact = optimum(h.astype(float), y, penalty, weights)[0] @ h[0].astype(float)
    z = logits(w, h)
    found = leave_one_out(z, h, y, penalty, block_size=7, device=CPU).logits[0]
    assert z[0].argmax() == 1 and exact.argmax() == 0
    np.testing.assert_allclose(found, exact - exact.mean(), atol=1e-3)
