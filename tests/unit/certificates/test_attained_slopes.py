"""Kernels of convex models whose slope reaches the bound over the domain, one term at a time."""

import numpy as np
import pytest

from wtrak.convex.models import Fit
from wtrak.convex.searches import steepest_slope
from wtrak.convex.wrif import (
    Kernel,
    enclosing_ball,
    evaluate,
    example_distances,
    lipschitz_over_domain,
    lipschitz_over_pairs,
)

ORIGIN = np.array([0.0, 0.0, 1.0])
# p(1 − p)(1 − 2p) is largest where p = ½(1 − 1/√3).
STEEPEST = np.log((1 - 1 / np.sqrt(3)) / (1 + 1 / np.sqrt(3)))
APART = np.array([1.0, -1.0]) / np.sqrt(2)


def model(kind, theta):
    """A fit at θ of two inputs and a constant; what it was fitted to plays no part."""
    labels = np.array([-2.0, 1.0]) if kind == "ridge" else np.array([0.0, 1.0])
    theta = np.array(theta, dtype=float)
    return Fit(kind, 0.0, np.stack([ORIGIN, ORIGIN]), labels, np.full(2, 0.5), theta, (), 0.0)


def kernel(u, v, b):
    u, v, b = (np.array(x, dtype=float) for x in (u, v, b))
    return Kernel(u, v[None], b[None], np.zeros(1))


def first(scale=1.0):
    """The first input, for one output."""
    return [[scale, 0.0, 0.0]]


def always(scale=1.0):
    """The constant input, for one output."""
    return [[0.0, 0.0, scale]]


NONE = [[0.0, 0.0, 0.0]]


def outputs(row):
    """The same for two outputs, along the direction that their difference depends on."""
    return np.outer(APART, row[0])


# What dominates the bound: θ, u, v and b, and the label and centre at which the slope is reached.
LOGISTIC = {
    "third derivative": ([[2.0, 0, STEEPEST]], always(3), always(2), NONE, 0.0),
    "curvature, u": ([[0.0, 0, 0]], first(3), always(2), NONE, 0.0),
    "curvature, v": ([[0.0, 0, 0]], always(3), first(2), NONE, 0.0),
    "curvature, b": ([[2.0, 0, 0]], NONE, NONE, always(3), 0.0),
    "slope": ([[0.0, 0, -40.0]], NONE, NONE, first(3), 1.0),
}
EXPECTED = {
    "third derivative": 2 * 6 / (6 * np.sqrt(3)),
    "curvature, u": 6 / 4,
    "curvature, v": 6 / 4,
    "curvature, b": 6 / 4,
    "slope": 3.0,
}


@pytest.mark.parametrize("term", LOGISTIC)
def test_each_term_of_the_logistic_bound_is_attained(term):
    """A term that is dropped, or a smaller constant, would lie below this slope."""
    theta, u, v, b, y = LOGISTIC[term]
    fit, one = model("logistic", theta), kernel(u, v, b)
    slope = rise(fit, one, ORIGIN, y)
    assert slope == pytest.approx(EXPECTED[term], rel=1e-5)
    bound = lipschitz_over_domain(fit, one, ORIGIN, 1e-9, 1e9)
    assert bound.shape == (1,)
    assert bound[0] == pytest.approx(EXPECTED[term], rel=1e-6)
    searched = steepest_slope(fit, one, 0, ORIGIN, 1e-9, np.random.default_rng(0), restarts=2)
    assert searched == pytest.approx(bound[0], rel=1e-6)


MULTINOMIAL = {
    "third derivative": (np.sqrt(2) / (3 * np.sqrt(3)) * 12, STEEPEST / np.sqrt(2)),
    "curvature, u": (3.0, 0.0),
    "curvature, v": (3.0, 0.0),
    "curvature, b": (3.0, 0.0),
    "slope": (3 * np.sqrt(2), -40.0),
}


@pytest.mark.parametrize("term", MULTINOMIAL)
def test_each_term_of_the_multinomial_bound_is_attained(term):
    """As for the logistic model, with the constants of two outputs that may differ by √2."""
    theta, u, v, b, y = LOGISTIC[term]
    expected, bias = MULTINOMIAL[term]
    fit = model("multinomial", outputs([[theta[0][0], 0, -bias]]))
    one = kernel(*(outputs(part) for part in (u, v, b)))
    assert rise(fit, one, ORIGIN, y) == pytest.approx(expected, rel=1e-5)
    bound = lipschitz_over_domain(fit, one, ORIGIN, 1e-9, 1e9)
    assert bound[0] == pytest.approx(expected, rel=1e-6)


def rise(fit, one, x, y, step=1e-5):
    """|∂S/∂x| along the first input, by a central difference."""
    move = np.array([step, 0.0, 0.0])
    ends = np.stack([x + move, x - move])
    up, down = evaluate(fit, one, ends, np.full(2, y))[0]
    return abs(up - down) / (2 * step)


@pytest.mark.parametrize(
    ("kind", "label"), [("logistic", 1.0), ("multinomial", np.sqrt(2)), ("ridge", 1.0)]
)
def test_a_change_of_the_label_reaches_the_bound(kind, label):
    """‖b‖ would be taken at the centre, or on another ball; or c would not divide."""
    centre, radius, cost = np.array([2.0, 0.0, 1.0]), 0.5, 0.25
    widen = outputs if kind == "multinomial" else np.array
    fit, one = model(kind, widen(NONE)), kernel(widen(NONE), widen(NONE), widen([[3.0, 0, 1.0]]))
    edge = centre + np.array([radius, 0, 0])
    values = evaluate(fit, one, np.stack([edge, edge]), np.array([0.0, 1.0]))[0]
    # The label of ridge regression moves by 1 here, and costs c for it.
    expected = abs(values[1] - values[0]) / cost
    assert expected == pytest.approx(label * (3 * 2.5 + 1) / cost)
    bound = lipschitz_over_domain(fit, one, centre, radius, cost, (0.0, 1.0))
    assert bound[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("part", range(5))
def test_ridge_bound_is_attained_at_the_edge_of_the_ball(part):
    """Every term of the gradient is aligned there, alone and together."""
    centre, radius, labels = np.array([2.0, 0.0, 1.0]), 0.5, (-3.0, 1.0)
    parts = {
        0: ([[1.5, 0, 0.5]], [[2.0, 0, 1.0]], [[0.7, 0, 0.3]], [[0.9, 0, 0.4]]),
        1: (NONE, first(2), always(3), NONE),
        2: (NONE, always(2), first(3), NONE),
        3: (first(2), NONE, NONE, always(3)),
        4: (always(2), NONE, NONE, first(3)),
    }
    theta, u, v, b = parts[part]
    fit, one = model("ridge", theta), kernel(u, v, b)
    edge = centre + np.array([radius, 0, 0])
    found = lipschitz_over_domain(fit, one, centre, radius, 1e9, labels)[0]
    assert found == pytest.approx(rise(fit, one, edge, -3.0), rel=1e-7)


@pytest.mark.parametrize("kind", ["ridge", "logistic"])
def test_the_steeper_of_input_and_label_decides(kind):
    """A certificate for moves of inputs alone would be broken by a label that changes."""
    fit = model(kind, NONE)
    one = kernel(NONE, NONE, [[3.0, 0, 1.0]])
    cheap, dear = (
        lipschitz_over_domain(fit, one, ORIGIN, 1.0, cost, (-2.0, 1.0))[0] for cost in (0.1, 1e9)
    )
    assert cheap == pytest.approx((3 + 1) / 0.1)
    assert dear == pytest.approx(3 * (2.0 if kind == "ridge" else 1.0))


def test_constants_over_pairs_are_the_steepest_of_any_pair():
    """The first, the last or an adjacent pair would be passed over."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((7, 2))
    y = np.array([0, 1, 0, 1, 0, 1, 0.0])
    distances = example_distances(x, y, 0.8, "logistic")
    # One kernel for every pair, which it alone makes steep.
    pairs = [(j, k) for j in range(7) for k in range(j)]
    values = np.array([np.where(np.arange(7) == j, 1.0, 0.0) for j, _ in pairs])
    found = lipschitz_over_pairs(values, distances)
    apart = distances + np.diag(np.full(7, np.inf))
    np.testing.assert_allclose(found, [1 / apart[j].min() for j, _ in pairs], rtol=1e-12)


def test_ball_holds_its_farthest_input_and_no_more():
    """Inputs on its edge would lie outside of the domain of the certificate."""
    x = np.column_stack([[0.0, 4.0, 2.0], [0.0, 0.0, 3.0], np.ones(3)])
    centre, radius = enclosing_ball(x)
    np.testing.assert_allclose(centre, [2, 1, 1])
    assert radius == pytest.approx(np.sqrt(5), rel=1e-15)


def test_distances_to_other_examples():
    """Rows and columns would change places, or the examples be compared with themselves."""
    x, y = np.array([[0.0, 0], [3, 4]]), np.array([0.0, 1])
    others = np.array([[0.0, 0], [6, 8], [3, 0]]), np.array([1.0, 1, 3])
    found = example_distances(x, y, 2.0, "logistic", others)
    np.testing.assert_allclose(found, [[2, 10 + 2, 3 + 2], [5, 5, 4 + 2]], atol=1e-12)
    found = example_distances(x, y, 2.0, "ridge", others)
    np.testing.assert_allclose(found, [[2, 10 + 2, 3 + 6], [5, 5, 4 + 4]], atol=1e-12)


def test_distances_of_duplicates_are_no_roots_of_negative_numbers():
    """Rounding would make them NaN, and every constant over pairs with them."""
    x = np.repeat(1e3 * np.random.default_rng(0).standard_normal((30, 5)), 2, axis=0)
    found = example_distances(x, np.zeros(60), 1.0, "logistic")
    expected = np.linalg.norm(x[:, None] - x, axis=2)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-3)
    assert (np.diag(found) == 0).all()


def test_every_pair_of_points_may_be_the_steepest():
    """The last pair would be passed over; and points at distance 0 are one, and no slope."""
    apart = 2.0 * (1 - np.eye(5))
    pairs = [(j, k) for j in range(5) for k in range(j)]
    values = np.array([np.eye(5)[j] - np.eye(5)[k] for j, k in pairs])
    np.testing.assert_allclose(lipschitz_over_pairs(values, apart), 1.0, rtol=1e-15)
    np.testing.assert_allclose(lipschitz_over_pairs(values[:1], np.zeros((5, 5))), 0.0)


@pytest.mark.parametrize("kind", ["ridge", "multinomial"])
def test_bound_of_several_kernels_is_that_of_its_formula(kind):
    """Operator norms, not Frobenius'; each kernel its own; the constant input not in the ball."""
    rng = np.random.default_rng(0)
    k, n = (1 if kind == "ridge" else 3), 4
    u, theta = rng.standard_normal((2, k, 5))
    v, b = rng.standard_normal((2, n, k, 5))
    fit, centre, radius, cost = model(kind, theta), np.append(rng.standard_normal(4), 1.0), 0.7, 0.3

    def largest(m):
        return np.linalg.norm(m @ centre) + radius * steepness(m)

    def steepness(m):
        return np.sqrt(np.linalg.eigvalsh(m[:, :-1] @ m[:, :-1].T)[-1])

    expected = []
    for own_v, own_b in zip(v, b, strict=True):
        bent = steepness(u) * largest(own_v) + steepness(own_v) * largest(u)
        gamma, tilt = largest(own_b), steepness(theta)
        if kind == "ridge":
            slope = largest(theta) + 3.0
            in_x = bent + gamma * tilt + slope * steepness(own_b)
            expected.append(max(in_x, gamma / cost))
        else:
            in_x = np.sqrt(2) / (3 * np.sqrt(3)) * tilt * largest(u) * largest(own_v)
            in_x += (bent + tilt * gamma) / 2 + np.sqrt(2) * steepness(own_b)
            expected.append(max(in_x, np.sqrt(2) * gamma / cost))
    found = lipschitz_over_domain(fit, Kernel(u, v, b, np.zeros(n)), centre, radius, cost, (-3, 1))
    np.testing.assert_allclose(found, expected, rtol=1e-9)
