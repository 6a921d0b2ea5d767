"""Searches over a ball of inputs, against every place of a fine grid and every label."""

import itertools

import numpy as np
import pytest

from problems import convex_problem as problem
from wtrak.convex import wrif
from wtrak.convex.models import MODELS, fit
from wtrak.convex.wrif import (
    Kernel,
    algorithm_1,
    evaluate,
    example_distances,
    influences,
    sensitivity,
    steepest_point,
    steepest_slope,
)

TEST = np.array([0.9, -1.2, 1.0])
CENTRE, RADIUS, COST = np.array([0.4, -0.7, 1.0]), 2.5, 0.8


def fitted(kind):
    """40 points in a ball whose centre is none of theirs, and their kernels."""
    x, y = problem(kind, n=40, p=3)
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

    found = wrif.minimize
    monkeypatch.setattr(wrif, "minimize", recorded)
    rng = np.random.default_rng(0)
    steepest_point(model, kernel, 3, 8, CENTRE, RADIUS, COST, rng, restarts=3)
    assert len(starts) == 3 * labels
    steepest_slope(model, kernel, 3, CENTRE, RADIUS, rng, restarts=5)
    assert len(starts) == 3 * labels + 5


def test_searches_start_anywhere_in_the_ball():
    """A search from the centre, or the edge, alone would miss what lies between."""
    rng, centre = np.random.default_rng(0), np.zeros(4)
    starts = np.array([wrif._random_offset(centre, RADIUS, rng) for _ in range(2000)])
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
    np.testing.assert_allclose(wrif._in_ball(centre, 6, offset), [1, 5, 7, 1])
    np.testing.assert_allclose(wrif._in_ball(centre, 5, offset), [1, 5, 7, 1])
    np.testing.assert_allclose(wrif._in_ball(centre, 2.5, offset), [1, 3.5, 5, 1])


@pytest.mark.parametrize("duplicate", [False, True])
def test_algorithm_1_on_three_points(duplicate):
    """Neighbouring rows would be no pair, or duplicates make every interval NaN."""
    x, y = problem("logistic", n=3, p=3, seed=2)
    y[:] = [0, 1, 0]
    if duplicate:
        x[2], y[2] = x[0], y[0]
    model = fit("logistic", 0.1, x, y)
    distances = example_distances(x, y, COST, "logistic")
    s = evaluate(model, sensitivity(model, TEST, 1.0, "paper"), x, y)
    nominal = influences(model, TEST[None], np.ones(1))[0]
    for pair in itertools.combinations(range(3), 2):
        if distances[pair] == 0:
            continue
        # One pair is close, so that it is the steepest of all.
        close = distances.copy()
        close[pair] = close[pair[::-1]] = 1e-3
        slope = np.abs(s[:, pair[0]] - s[:, pair[1]]) / 1e-3
        expected = np.stack([nominal - 0.2 * slope, nominal + 0.2 * slope], axis=1)
        np.testing.assert_allclose(algorithm_1(model, TEST, 1.0, close, 0.2), expected, rtol=1e-7)
