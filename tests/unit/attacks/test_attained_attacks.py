"""What attacks claim, by hand: costs, gaps and candidates of pairs in which all is known."""

import numpy as np
import pytest

from wtrak.attacks.perturbations import (
    Pair,
    coordinates,
    deletion_attack,
    move_attack,
    moved_gap,
    path_cost,
    promising,
    steepest_axis,
    steepest_targets,
)


def pair(angle=75.0, sign=1.0, n=40, spread=0.5, seed=0):
    """a and c of lengths 1.3 and 0.7 at an angle, and n points in a ball of radius 1."""
    rng = np.random.default_rng(seed)
    c = 0.7 * sign * np.array([np.cos(np.radians(angle)), np.sin(np.radians(angle)), 0.0])
    points = rng.standard_normal((n, 3))
    points *= spread * rng.random((n, 1)) ** (1 / 3) / np.linalg.norm(points, axis=1, keepdims=True)
    points[:, 2] = np.abs(points[:, 2])
    return Pair(np.array([1.3, 0.0, 0.0]), c, points)


def test_coordinates_by_hand():
    """A point would have other inner products with a and c, or another length."""
    a, c = np.array([2.0, 0.0, 0.0]), np.array([3.0, 4.0, 0.0])
    points = np.array([[1.0, 2.0, 2.0], [-1.0, 0.5, 0.0]])
    found = coordinates(points @ a, points @ c, (points**2).sum(axis=1), 2.0, 5.0, 6.0)
    np.testing.assert_allclose(found.a, a)
    np.testing.assert_allclose(found.c, c)
    np.testing.assert_allclose(found.points, points, atol=1e-12)
    # Parallel a and c leave no second direction.
    c = np.array([1.5, 0.0, 0.0])
    found = coordinates(points @ a, points @ c, (points**2).sum(axis=1), 2.0, 1.5, 3.0)
    np.testing.assert_allclose(found.c, c)
    np.testing.assert_allclose(found.points, [[1, 0, np.sqrt(8)], [-1, 0, 0.5]], atol=1e-12)
    # A point of the plane, longer than its own norm by rounding.
    found = coordinates(np.array([2.0]), np.array([1.5]), np.array([1 - 1e-15]), 2.0, 1.5, 3.0)
    assert found.points[0, 2] == 0
    # ‖c‖ below |a·c|/‖a‖ by rounding.
    found = coordinates(points @ a, points @ c, (points**2).sum(axis=1), 2.0, 1.5 - 1e-12, 3.0)
    assert np.isfinite(found.points).all() and found.c[1] == 0


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("count", [8, 14])
def test_promising_points_are_the_best_for_a_long_and_for_a_short_move(sign, count):
    """An attack that knows one kind of move alone misses pairs that the other turns."""
    p = pair(sign=sign)
    rows, radius, s = np.arange(3, 40), 1.7, np.sign(p.gap)
    axis = p.a / np.linalg.norm(p.a) + s * p.c / np.linalg.norm(p.c)
    end = radius * axis / np.linalg.norm(axis)
    far, near = [], []
    for k in rows:
        t = p.points[k]
        rise = s * ((end @ p.a) * (end @ p.c) - (t @ p.a) * (t @ p.c))
        far.append(rise / min(np.linalg.norm(t - end), np.linalg.norm(t + end)))
        near.append(np.linalg.norm((t @ p.c) * p.a + (t @ p.a) * p.c))
    best = {*rows[np.argsort(far)[-count // 2 :]], *rows[np.argsort(near)[-count // 2 :]]}
    assert len(best) > count // 2
    assert set(promising(p, rows, radius, count)) == best
    # More than there are: all of them.
    assert set(promising(p, rows, radius, 200)) == set(rows)
    assert len(promising(p, rows[:1], radius, 1)) == 1


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_axis_is_where_added_mass_narrows_the_gap_most(sign):
    """An attack would start where mass helps the pair."""
    p = pair(sign=sign)
    axis = steepest_axis(p)
    assert np.linalg.norm(axis) == pytest.approx(1, rel=1e-12)
    narrowed = np.sign(p.gap) * (axis @ p.a) * (axis @ p.c)
    assert narrowed == pytest.approx((1.3 * 0.7 + abs(p.gap)) / 2, rel=1e-12)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_steepest_target_is_found_where_it_is_known(sign):
    """An attack that climbs badly would leave certificates untested.

    From the origin, S(t)/‖t‖ is largest at the end of the axis: R(‖a‖‖c‖ + |a·c|)/2. From the edge
    of the ball at the other axis, moving inwards gains R(‖a‖‖c‖ − |a·c|) per distance.
    """
    p, radius = pair(sign=sign), 1.7
    p.points[0] = 0.0
    other = p.a / np.linalg.norm(p.a) - np.sign(p.gap) * p.c / np.linalg.norm(p.c)
    p.points[1] = radius * other / np.linalg.norm(other)
    p.points[2] = 0.999 * radius * steepest_axis(p)
    targets, slopes = steepest_targets(p, np.array([0, 1, 2]), radius)
    product = 1.3 * 0.7
    assert slopes[0] == pytest.approx(radius * (product + abs(p.gap)) / 2, rel=1e-9)
    assert slopes[1] >= 0.99 * radius * (product - abs(p.gap))
    assert slopes[2] == pytest.approx(0.9995 * radius * (product + abs(p.gap)), rel=1e-3)
    assert np.linalg.norm(targets, axis=1).max() <= radius * (1 + 1e-12)
    for t, slope, origin in zip(targets, slopes, p.points[:3], strict=True):
        rise = (t @ p.a) * (t @ p.c) - (origin @ p.a) * (origin @ p.c)
        assert slope == pytest.approx(np.sign(p.gap) * rise / np.linalg.norm(t - origin), rel=1e-9)


def test_moved_gap_by_hand():
    """aᵀ(I + w·uuᵀ)⁻¹c = a·c − w(a·u)(c·u)/(1 + w‖u‖²)."""
    found = moved_gap(5.0, np.array([2.0]), np.array([3.0]), np.array([[4.0]]), np.array([0.5]))
    assert found == pytest.approx(5 - 0.5 * 6 / 3, rel=1e-12)


def turning(points, targets, a, c, mass, lengths):
    """Cost at which the pair first turns on the path, by small steps with explicit inverses."""
    sign, spent, moment = np.sign(a @ c), 0.0, np.eye(len(a))
    for source, target, length in zip(points, targets, lengths, strict=True):
        step = np.outer(target, target) - np.outer(source, source)
        for share in np.linspace(0, 1, 2001):
            if sign * (a @ np.linalg.solve(moment + share * mass * step, c)) <= 0:
                return spent + share * mass * length
        spent += mass * length
        moment = moment + mass * step
    return np.inf


@pytest.mark.parametrize("scale", [0.9, 0.6, 0.45, 0.3, 0.2])
def test_cost_of_a_path_is_where_it_first_turns(scale):
    """A move too many or too few would be paid for, or a turn be claimed where there is none."""
    a, c = np.array([1.0, 0.0]), np.array([0.3, 1.0])
    points = 0.1 * np.array([[1.0, -1], [0.5, 1], [-1, 0.2], [0.3, -0.4], [0.2, 0.9], [0.7, 0.1]])
    targets = 2 * scale * np.array([[1.0, 1], [1, 0.8], [0.9, 1], [1.1, 1], [1, 1.2], [0.8, 0.8]])
    lengths = np.linalg.norm(targets - points, axis=1)
    vectors = np.concatenate([targets, points])
    found = path_cost(a @ c, vectors @ a, vectors @ c, vectors @ vectors.T, lengths, 0.25)
    expected = turning(points, targets, a, c, 0.25, lengths)
    assert (np.isinf(found) and np.isinf(expected)) or found == pytest.approx(expected, rel=2e-3)


def test_a_path_that_ends_in_a_tie_turns_the_pair():
    """1 − 1·2·1/(1 + 1) = 0: no order is left."""
    x, y, gram = np.array([2.0, 0.0]), np.array([1.0, 0.0]), np.diag([1.0, 0.0])
    assert path_cost(1.0, x, y, gram, np.array([3.0]), 1.0) == pytest.approx(3, rel=1e-5)
    assert path_cost(1.001, x, y, gram, np.array([3.0]), 1.0) == np.inf


def test_move_attack_costs_what_its_move_costs():
    """The mass, or the distance, of the move would not be paid for in full."""
    a, c, radius = np.array([1.0, 0.0, 0.0]), np.array([0.05, 1.0, 0.0]), 2.0
    # One point at the origin, so that the best target is the end of the axis.
    p = Pair(a, c, np.zeros((1, 3)))
    t = radius * steepest_axis(p)
    mass = p.gap / ((t @ a) * (t @ c) - p.gap * (t @ t))
    assert move_attack(p, radius) == pytest.approx(mass * radius, rel=1e-5)


def test_deletion_attack_by_hand():
    """A tie would not count as turned, or the distance be that of another deletion."""
    x, y, si = np.array([1.0, -2.0, 3.0]), np.array([-4.0, 2.0, 1.0]), np.array([2.0, 2.0, 0.0])
    distances = np.array([0.5, 0.3, 0.7])
    assert deletion_attack(1.0, 1.0, x, y, si, 6, distances) == 0.3  # −1 and −1: ties both
    assert deletion_attack(1.0, 1.01, x, y, si, 6, distances) == np.inf
    assert deletion_attack(-1.0, -0.5, x, y, si, 6, distances) == 0.7
