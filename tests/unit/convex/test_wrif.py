"""Kernels are derivatives where they claim to be, constants bound slopes, radii bound distances."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

from problems import convex_problem
from wtrak.convex import wrif
from wtrak.convex.models import MODELS, fit, gradients
from wtrak.convex.searches import steepest_slope
from wtrak.convex.wrif import (
    KERNELS,
    LEAVE_ONE_OUT,
    algorithm_1,
    deletion_radii,
    diameter,
    enclosing_ball,
    evaluate,
    example_distances,
    influence_at,
    influences,
    label_cost,
    leave_one_out,
    lipschitz_over_domain,
    lipschitz_over_pairs,
    refit,
    sensitivity,
    total_loss,
)
from wtrak.errors import WtrakError

PENALTY = 0.02
TEST = np.array([0.3, -1.2, 0.5, 1.0])


def fitted(kind):
    x, y = convex_problem(kind)
    return fit(kind, PENALTY, x, y)


def under(model, weights, i, y_test):
    moved = refit(model, weights)
    return influence_at(moved, model.x[i], model.y[i], TEST[None], np.array([y_test]))[0]


def towards(model, z, step):
    weights = (1 - step) * model.weights
    weights[z] += step
    return weights


@pytest.mark.parametrize("kind", MODELS)
def test_corrected_kernel_is_the_derivative(kind):
    """The interval would be around the wrong rate of change."""
    model = fitted(kind)
    s = evaluate(model, sensitivity(model, TEST, 1.0), model.x, model.y)
    for i, z in itertools.product((0, 7, 30), (3, 7, 50)):
        both = [under(model, towards(model, z, step), i, 1.0) for step in (1e-5, -1e-5)]
        derivative = (both[0] - both[1]) / 2e-5
        assert s[i, z] == pytest.approx(derivative, rel=1e-5, abs=1e-8)


@pytest.mark.parametrize("kind", MODELS)
def test_kernels_are_those_of_explicit_formulas(kind):
    """The paper's kernel would be judged by something that it is not."""
    model = fitted(kind)
    theta, shape = model.theta, model.theta.shape

    def full(x):
        from wtrak.convex.models import curvatures

        a = curvatures(kind, (x @ theta.T)[None])[0]
        return np.kron(a, np.outer(x, x)) + PENALTY * np.eye(theta.size)

    h = np.mean([full(x) for x in model.x], axis=0)
    g = gradients(kind, PENALTY, theta, model.x, model.y).reshape(60, -1)
    g_test = gradients(kind, PENALTY, theta, TEST[None], np.array([1.0])).ravel()
    inverse = np.linalg.inv(h)
    u, v, w = inverse @ g_test, g @ inverse, g @ inverse
    nominal = influences(model, TEST[None], np.array([1.0]))[0]
    np.testing.assert_allclose(nominal, -g @ inverse @ g_test, rtol=1e-8)
    prior = evaluate(model, sensitivity(model, TEST, 1.0, "hessian_only"), model.x, model.y)
    paper = evaluate(model, sensitivity(model, TEST, 1.0, "paper"), model.x, model.y)
    for i, z in itertools.product((0, 7, 30), (3, 7, 50)):
        s_h = u @ (full(model.x[z]) - h) @ v[i]
        s_g = w[z] @ full(TEST) @ v[i] + u @ full(model.x[i]) @ w[z]
        assert prior[i, z] == pytest.approx(s_h, rel=1e-7, abs=1e-10)
        assert paper[i, z] == pytest.approx(s_h + s_g, rel=1e-7, abs=1e-10)
    assert shape[0] == (3 if kind == "multinomial" else 1)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("name", KERNELS)
def test_kernels_have_mean_zero_over_the_training_points(kind, name):
    """∫S d(Q − P) would hold a constant that is no change of the distribution."""
    model = fitted(kind)
    s = evaluate(model, sensitivity(model, TEST, 0.0, name), model.x, model.y)
    assert np.abs(s.mean(axis=1)).max() < 1e-10 * np.abs(s).max()


def test_papers_kernel_is_exact_for_ridge_regression_alone():
    """Where the claim O(ε²) holds, and where it does not, would be mixed up."""
    for kind in MODELS:
        model = fitted(kind)
        paper, corrected = (
            evaluate(model, sensitivity(model, TEST, 1.0, name), model.x, model.y)
            for name in ("paper", "corrected")
        )
        apart = np.abs(paper - corrected).max() / np.abs(corrected).max()
        assert apart < 1e-12 if kind == "ridge" else apart > 0.05


def test_unknown_kernel_is_refused():
    """A misspelt kernel would be taken for the corrected one."""
    with pytest.raises(WtrakError, match="expected one of hessian_only, paper, corrected"):
        sensitivity(fitted("ridge"), TEST, 1.0, "complete")


def test_order_of_the_training_points_is_no_part_of_the_result():
    """Another sorting of the data would give other intervals."""
    x, y = convex_problem("logistic")
    order = np.random.default_rng(1).permutation(60)
    out = []
    for rows in (np.arange(60), order):
        model = fit("logistic", PENALTY, x[rows], y[rows])
        distances = example_distances(model.x, model.y, label_cost(model.x), "logistic")
        s = evaluate(model, sensitivity(model, TEST, 1.0), model.x, model.y)
        out.append(lipschitz_over_pairs(s, distances))
    np.testing.assert_allclose(out[0][order], out[1], rtol=1e-6)


# --- the metric ---


@pytest.mark.parametrize("kind", MODELS)
def test_distances_are_those_of_the_definition(kind):
    """Every constant and radius is in units of this metric."""
    x, y = convex_problem(kind, n=12)
    cost = label_cost(x)
    found = example_distances(x, y, cost, kind)
    for i, j in itertools.product(range(12), repeat=2):
        label = abs(y[i] - y[j]) if kind == "ridge" else float(y[i] != y[j])
        expected = np.linalg.norm(x[i] - x[j]) + cost * label
        assert found[i, j] == pytest.approx(expected, abs=1e-7)
    apart = [np.linalg.norm(x[i] - x[j]) for i, j in itertools.combinations(range(12), 2)]
    assert cost == pytest.approx(2 * np.median(apart))
    assert diameter(found) == found.max()


def test_duplicates_with_opposite_labels_are_apart_by_the_label():
    """A division by zero would make every constant infinite, or be skipped."""
    x, y = convex_problem("logistic")
    x[1], y[0], y[1] = x[0], 0.0, 1.0
    x[3], y[3] = x[2], y[2]
    model = fit("logistic", PENALTY, x, y)
    cost = label_cost(x)
    distances = example_distances(x, y, cost, "logistic")
    assert distances[0, 1] == pytest.approx(cost) and distances[2, 3] == 0
    s = evaluate(model, sensitivity(model, TEST, 1.0), x, y)
    found = lipschitz_over_pairs(s, distances)
    assert np.isfinite(found).all()
    slopes = [
        np.abs(s[:, j] - s[:, k]) / distances[j, k]
        for j, k in itertools.combinations(range(60), 2)
        if distances[j, k] > 0
    ]
    np.testing.assert_allclose(found, np.max(slopes, axis=0), rtol=1e-12)


def test_deletion_radius_is_the_distance_to_the_sample_without_the_point():
    """The sharper radius would be no radius, or not the sharpest."""
    x, y = convex_problem("logistic", n=7)
    distances = example_distances(x, y, label_cost(x), "logistic")
    n = 7
    for i in (0, 4):
        # Optimal transport from P to P without i, as a linear programme.
        start = np.full(n, 1 / n)
        end = np.full(n, 1 / (n - 1))
        end[i] = 0
        rows = np.kron(np.eye(n), np.ones(n))
        columns = np.kron(np.ones(n), np.eye(n))
        solved = linprog(
            distances.ravel(),
            A_eq=np.vstack([rows, columns]),
            b_eq=np.concatenate([start, end]),
        )
        assert deletion_radii(distances)[i] == pytest.approx(solved.fun, rel=1e-7)
    assert (deletion_radii(distances) <= diameter(distances) / n).all()


# --- constants ---


@pytest.mark.parametrize("kind", MODELS)
def test_constant_of_the_domain_bounds_every_slope_in_it(kind):
    """A certificate over the domain would be none."""
    model = fitted(kind)
    rng = np.random.default_rng(5)
    cost = label_cost(model.x)
    centre, radius = enclosing_ball(model.x)
    kernel = sensitivity(model, TEST, 1.0)
    labels = (model.y.min(), model.y.max())
    bound = lipschitz_over_domain(model, kernel, centre, radius, cost, labels)
    directions = rng.standard_normal((300, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    x = centre + np.column_stack([radius * rng.random((300, 1)) * directions, np.zeros(300)])
    y = rng.uniform(*labels, size=300) if kind == "ridge" else rng.choice(model.y, size=300)
    x[150:], y[150:] = x[:150] + 1e-3 * (centre - x[:150]), y[:150]
    s = evaluate(model, kernel, x, y)
    sampled = lipschitz_over_pairs(s, example_distances(x, y, cost, kind))
    assert (sampled <= bound * (1 + 1e-9)).all()
    for i in (0, 9):
        searched = steepest_slope(model, kernel, i, centre, radius, rng)
        assert searched <= bound[i] * (1 + 1e-9)
        # A search that climbed nothing would be below what a few hundred random points show.
        assert searched > sampled[i] * 0.5


def test_algorithm_1_as_printed_is_the_vectorised_form():
    """What is timed, and what is shown, would be two things."""
    model = fitted("logistic")
    distances = example_distances(model.x, model.y, label_cost(model.x), "logistic")
    printed = list(algorithm_1(model, TEST, 1.0, distances, 0.3))
    s = evaluate(model, sensitivity(model, TEST, 1.0, "paper"), model.x, model.y)
    nominal = influences(model, TEST[None], np.array([1.0]))[0]
    half = 0.3 * lipschitz_over_pairs(s, distances)
    np.testing.assert_allclose(
        printed, np.column_stack([nominal - half, nominal + half]), rtol=1e-8
    )


def test_largest_slope_is_that_over_all_pairs():
    """Pairs between blocks of rows, or slopes below 1, would be lost."""
    rng = np.random.default_rng(0)
    points = rng.standard_normal((40, 2))
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    values = np.zeros(40)
    for j, k in ((0, 1), (0, 39), (15, 16), (17, 38), (38, 39)):
        # Alone of all points, the two have values.
        values[:] = 0
        values[j], values[k] = 1e-3, -1e-3
        pairs = itertools.combinations(range(40), 2)
        slopes = [abs(values[a] - values[b]) / distances[a, b] for a, b in pairs]
        found = wrif._largest_slope(values, wrif._inverse(distances))
        assert found == pytest.approx(max(slopes), rel=1e-12)
        assert found == wrif._largest_slope(-values, wrif._inverse(distances))


# --- leave-one-out ---


@pytest.mark.parametrize("kind", MODELS)
def test_leave_one_out_is_that_of_fits_without_the_point(kind):
    """Coverage would be of something else than leaving one out."""
    model = fitted(kind)
    found = leave_one_out(model, TEST[None], np.array([1.0]))
    assert set(found) == set(LEAVE_ONE_OUT)
    before = total_loss(model, TEST[None], np.array([1.0]))[0]
    k = len(model.theta)
    for i in (0, 31):
        keep = np.arange(60) != i
        without = fit(kind, PENALTY, model.x[keep], model.y[keep], n_outputs=k)
        change = total_loss(without, TEST[None], np.array([1.0]))[0] - before
        there = influence_at(without, model.x[i], model.y[i], TEST[None], np.array([1.0]))[0]
        expected = {
            "influence": there,
            "raw": change,
            "sign": 60 * change,
            "scaled": -60 * change,
            "log_scaled": -change / np.log(60 / 59),
        }
        for name, value in expected.items():
            assert found[name][0, i] == pytest.approx(value, rel=1e-7, abs=1e-11)


@pytest.mark.parametrize("kind", MODELS)
def test_change_of_the_loss_is_the_integral_of_the_influence(kind):
    """−Δℓ/ln(n/(n−1)) would be no average of influences in the ball, and not be covered by them."""
    model = fitted(kind)
    n, i = 60, 12
    end = -1 / (n - 1)
    nodes, weights = np.polynomial.legendre.leggauss(8)
    steps = end * (nodes + 1) / 2
    values = [under(model, towards(model, i, t), i, 1.0) / (1 - t) for t in steps]
    integral = end / 2 * weights @ values
    change = leave_one_out(model, TEST[None], np.array([1.0]))["raw"][0, i]
    assert change == pytest.approx(integral, rel=1e-9)


@pytest.mark.parametrize("duplicate", [False, True])
def test_algorithm_1_on_three_points(duplicate):
    """Neighbouring rows would be no pair, or duplicates make every interval NaN."""
    x, y = convex_problem("logistic", n=3, p=3, seed=2)
    y[:] = [0, 1, 0]
    if duplicate:
        x[2], y[2] = x[0], y[0]
    test = np.array([0.9, -1.2, 1.0])
    model = fit("logistic", 0.1, x, y)
    distances = example_distances(x, y, 0.8, "logistic")
    s = evaluate(model, sensitivity(model, test, 1.0, "paper"), x, y)
    nominal = influences(model, test[None], np.ones(1))[0]
    for pair in itertools.combinations(range(3), 2):
        if distances[pair] == 0:
            continue
        # One pair is close, so that it is the steepest of all.
        close = distances.copy()
        close[pair] = close[pair[::-1]] = 1e-3
        slope = np.abs(s[:, pair[0]] - s[:, pair[1]]) / 1e-3
        expected = np.stack([nominal - 0.2 * slope, nominal + 0.2 * slope], axis=1)
        found = list(algorithm_1(model, test, 1.0, close, 0.2))
        np.testing.assert_allclose(found, expected, rtol=1e-7)
