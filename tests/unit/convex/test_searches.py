"""Searches for what moves an influence the most, against fine grids and a linear programme."""

import numpy as np
import pytest
from scipy.optimize import linprog

from problems import convex_problem
from wtrak.convex import searches
from wtrak.convex.models import MODELS, fit
from wtrak.convex.searches import steepest_point, steepest_slope, worst_on_support
from wtrak.convex.wrif import (
    Kernel,
    enclosing_ball,
    evaluate,
    example_distances,
    label_cost,
    sensitivity,
)

TEST = np.array([0.9, -1.2, 1.0])
CENTRE, RADIUS, COST = np.array([0.4, -0.7, 1.0]), 2.5, 0.8


def fitted(kind):
    """40 points in a ball whose centre is none of theirs, and their kernels."""
    x, y = convex_problem(kind, n=40, p=3)
    offsets = x - [*CENTRE[:2], 0]
    beyond = np.linalg.norm(offsets[:, :2], axis=1) / (0.99 * RADIUS)
    x[:, :2] = CENTRE[:2] + offsets[:, :2] / np.maximum(beyond, 1)[:, None]
    model = fit(kind, 0.1, x, y)
    return model, sensitivity(model, TEST, 1.0)


def grid():
    angles = np.linspace(0, 2 * np.pi, 90, endpoint=False)
    circle = np.stack([np.cos(angles), np.sin(angles), np.zeros(90)], axis=1)
    return CENTRE + (RADIUS * np.linspace(0, 1, 50)[:, None, None] * circle).reshape(-1, 3)


def scaled(kernel, i, factor):
    return Kernel(kernel.u, *(factor * part[[i]] for part in (kernel.v, kernel.b)), np.ones(1))


def extreme(model):
    return [model.y.min(), model.y.max()] if model.kind == "ridge" else np.unique(model.y)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize(("i", "factor"), [(3, 1.0), (11, -0.01)])
def test_steepest_slope_is_the_largest_of_the_ball(kind, i, factor):
    """A bound would look tighter, or looser, than it is."""
    model, kernel = fitted(kind)
    kernel.v[:], kernel.b[:] = factor * kernel.v, factor * kernel.b
    x, step = grid(), 1e-5
    one, largest = scaled(kernel, i, 1.0), 0.0
    # A search each, of 8.
    for y in np.unique(model.y)[:8]:
        sides = [
            evaluate(model, one, x + sign * step * np.eye(3)[k], np.full(len(x), y))[0]
            for k in range(2)
            for sign in (1, -1)
        ]
        slope = np.hypot(sides[0] - sides[1], sides[2] - sides[3]) / (2 * step)
        largest = max(largest, slope.max())
    found = steepest_slope(model, kernel, i, CENTRE, RADIUS, np.random.default_rng(0))
    assert found == pytest.approx(largest, rel=2e-3)
    assert found > largest * (1 - 1e-5)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize(
    ("i", "j", "factor"), [(3, 8, 1.0), (11, 20, -1.0), (5, 31, 0.05), (34, 31, 1.0)]
)
def test_steepest_point_is_the_steepest_of_the_ball(kind, i, j, factor):
    """An attack would be weaker than the cheapest, or cost more than it says."""
    model, kernel = fitted(kind)
    one = scaled(kernel, i, factor)
    kernel.v[:], kernel.b[:] = factor * kernel.v, factor * kernel.b
    here, y_here = model.x[[j]], model.y[[j]]
    value = evaluate(model, one, here, y_here)

    def ratios(x, y):
        moved = np.abs(evaluate(model, one, x, y) - value)[0]
        return moved / example_distances(x, y, COST, kind, (here, y_here))[:, 0]

    largest = max(ratios(grid(), np.full(50 * 90, y)).max() for y in extreme(model))
    rng = np.random.default_rng(0)
    x, y, ratio = steepest_point(model, kernel, i, j, CENTRE, RADIUS, COST, rng)
    assert y in extreme(model) and np.linalg.norm(x - CENTRE) <= RADIUS * (1 + 1e-12)
    assert ratio == pytest.approx(ratios(x[None], np.array([y]))[0], rel=1e-4)
    assert largest * (1 - 1e-5) < ratio < largest * 1.1


def test_where_no_place_differs_a_point_stays():
    """Mass would move, and cost, for nothing."""
    model, kernel = fitted("logistic")
    model.y[7] = 1.0
    none = Kernel(kernel.u, 0 * kernel.v, 0 * kernel.b, kernel.constants)
    found = steepest_point(model, none, 3, 7, CENTRE, RADIUS, COST, np.random.default_rng(0))
    np.testing.assert_array_equal(found[0], model.x[7])
    assert found[1:] == (1.0, 0.0)


@pytest.mark.parametrize(("kind", "labels"), [("ridge", 2), ("logistic", 2), ("multinomial", 3)])
def test_every_label_is_searched_as_often_as_asked(kind, labels, monkeypatch):
    """One label of many would be left out."""
    model, kernel = fitted(kind)
    starts = []

    def recorded(function, start, **options):
        starts.append(start)
        return found(function, start, **options | {"options": {"maxiter": 1}})

    found = searches.minimize
    monkeypatch.setattr(searches, "minimize", recorded)
    rng = np.random.default_rng(0)
    steepest_point(model, kernel, 3, 8, CENTRE, RADIUS, COST, rng, restarts=3)
    assert len(starts) == 3 * labels
    steepest_slope(model, kernel, 3, CENTRE, RADIUS, rng, restarts=5)
    assert len(starts) == 3 * labels + 5


def test_searches_start_anywhere_in_the_ball():
    """A search from the centre, or the edge, alone would miss what lies between."""
    rng, centre = np.random.default_rng(0), np.zeros(4)
    starts = np.array([searches._random_offset(centre, RADIUS, rng) for _ in range(2000)])
    lengths = np.linalg.norm(starts, axis=1)
    assert starts.shape == (2000, 3)
    # Lengths are uniform, and directions even: each octant has an eighth.
    assert np.abs(np.histogram(lengths, 10, (0, RADIUS))[0] - 200).max() < 6 * np.sqrt(200)
    octants = np.bincount((starts > 0) @ [1, 2, 4], minlength=8)
    assert np.abs(octants - 250).max() < 6 * np.sqrt(250)
    spread = (starts / lengths[:, None]).std(axis=0)
    np.testing.assert_allclose(spread, 3**-0.5, rtol=0.1)


def test_places_beyond_the_ball_are_put_on_its_edge():
    """An attack would leave the domain, or be kept from its edge."""
    centre, offset = np.array([1.0, 2, 3, 1]), np.array([0.0, 3, 4])
    np.testing.assert_allclose(searches._in_ball(centre, 6, offset), [1, 5, 7, 1])
    np.testing.assert_allclose(searches._in_ball(centre, 5, offset), [1, 5, 7, 1])
    np.testing.assert_allclose(searches._in_ball(centre, 2.5, offset), [1, 3.5, 5, 1])


def test_steepest_slope_is_that_of_finite_differences():
    """The search would climb another function."""
    for kind in MODELS:
        model, kernel = fitted(kind)
        one = Kernel(kernel.u, kernel.v[4:5], kernel.b[4:5], kernel.constants[4:5])
        x = np.array([0.2, -0.4])
        found = searches._gradient_in_x(model, one, x, 1.0)
        for k in range(2):
            step = np.zeros(2)
            step[k] = 1e-6
            values = evaluate(
                model,
                one,
                np.column_stack([np.stack([x + step, x - step]), np.ones(2)]),
                np.ones(2),
            )[0]
            difference = (values[0] - values[1]) / 2e-6
            assert found[k] == pytest.approx(difference, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("epsilon", [1e-3, 0.05, 0.5, 50.0])
def test_worst_distribution_solves_the_transport_problem(epsilon):
    """The attack would be weaker than the worst, or leave the ball."""
    rng = np.random.default_rng(6)
    n = 8
    points = rng.standard_normal((n, 2))
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    values, weights = rng.standard_normal(n), rng.dirichlet(np.ones(n))
    found = worst_on_support(values, distances, epsilon, weights)
    assert found.sum() == pytest.approx(1) and (found >= -1e-12).all()
    solved = linprog(
        -np.tile(values, n),
        A_eq=np.kron(np.eye(n), np.ones(n)),
        b_eq=weights,
        A_ub=distances.ravel()[None],
        b_ub=[epsilon],
    )
    assert found @ values == pytest.approx(-solved.fun, rel=1e-6)


def test_steepest_point_is_in_the_ball_and_as_steep_as_it_says():
    """An attack would stand outside the domain, or be cheaper than what it costs."""
    model, kernel = fitted("logistic")
    cost = label_cost(model.x)
    centre, radius = enclosing_ball(model.x)
    x, y, ratio = steepest_point(
        model, kernel, 3, 8, centre, radius, cost, np.random.default_rng(0)
    )
    assert np.linalg.norm((x - centre)[:-1]) <= radius * (1 + 1e-9) and x[-1] == 1
    s = evaluate(model, kernel, np.stack([x, model.x[8]]), np.array([y, model.y[8]]))[3]
    apart = example_distances(
        np.stack([x, model.x[8]]), np.array([y, model.y[8]]), cost, "logistic"
    )[0, 1]
    assert ratio == pytest.approx(abs(s[0] - s[1]) / apart, rel=1e-4)
