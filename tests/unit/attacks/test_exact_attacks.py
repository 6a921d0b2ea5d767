"""Attacks on certificates, against the best moves found by trying many and gaps built anew."""

from types import SimpleNamespace

import numpy as np
import pytest

from wtrak.attacks import perturbations as audit
from wtrak.attacks.perturbations import (
    Pair,
    coordinates,
    move_attack,
    promising,
    reweighting_attack,
    spread_attack,
    steepest_targets,
)

RADIUS = 1.7


def made_up(angle, sign, seed, n=24, d=5):
    """Training points in a ball of real vectors, a pair's a and c, and its `Pair`."""
    rng = np.random.default_rng(seed)
    psi = rng.standard_normal((n, d))
    psi *= RADIUS * rng.random((n, 1)) ** (1 / 2) / np.linalg.norm(psi, axis=1, keepdims=True)
    basis = np.linalg.qr(rng.standard_normal((d, d)))[0]
    turn = np.radians(angle)
    a = 1.3 * basis[0]
    c = 0.7 * sign * (np.cos(turn) * basis[0] + np.sin(turn) * basis[1])
    pair = coordinates(psi @ a, psi @ c, (psi**2).sum(axis=1), 1.3, 0.7, a @ c)
    return SimpleNamespace(psi=psi, a=a, c=c, pair=pair, n=n)


def ratios(pair, t):
    """Of every point, the narrowing per distance of moves to places (n, q, 3)."""
    s, origin = np.sign(pair.gap), pair.points[:, None]
    rise = s * ((t @ pair.a) * (t @ pair.c) - (origin @ pair.a) * (origin @ pair.c))
    apart = np.linalg.norm(t - origin, axis=2)
    return np.where(apart > 1e-9, rise / np.maximum(apart, 1e-9), -np.inf)


def steepest_by_trial(pair, rng, kept=6):
    """Largest ratio of every point and where: many places, and ever closer ones to the best."""
    n = len(pair.points)

    def ball(t):
        return t * np.minimum(1, RADIUS / np.linalg.norm(t, axis=-1, keepdims=True))

    t = rng.standard_normal((n, 1000, 3))
    t *= 1.1 * RADIUS * rng.random((n, 1000, 1)) ** (1 / 3)
    t = ball(t / np.linalg.norm(t / RADIUS, axis=2, keepdims=True).clip(1))
    near = pair.points[:, None] + 1e-3 * rng.standard_normal((n, 200, 3))
    t = np.concatenate([t, ball(near)], axis=1)
    best = np.take_along_axis(t, np.argsort(-ratios(pair, t), axis=1)[:, :kept, None], axis=1)
    for scale in np.geomspace(0.3, 1e-5, 24):
        t = best[:, :, None] + scale * RADIUS * rng.standard_normal((n, kept, 40, 3))
        t = np.concatenate([best[:, :, None], ball(t)], axis=2)
        value = ratios(pair, t.reshape(n, -1, 3)).reshape(t.shape[:3])
        best = np.take_along_axis(t, value.argmax(axis=2)[:, :, None, None], axis=2)[:, :, 0]
    value = ratios(pair, best)
    return value.max(axis=1), best[np.arange(n), value.argmax(axis=1)]


# Tried once, and not by every test.
CASES = [made_up(*given) for given in ((88, 1, 0), (88, -1, 1), (60, 1, 2), (89, -1, 3))]
for case in CASES:
    case.slopes, case.targets = steepest_by_trial(case.pair, np.random.default_rng(0))


def turning_cost(p, sources, targets, mass):
    """What moves one after the other cost when the gap, with Q built anew, has turned."""
    moment, spent, sign = np.eye(p.psi.shape[1]), 0.0, np.sign(p.a @ p.c)
    for source, target in zip(sources, targets, strict=True):
        step = mass * (np.outer(target, target) - np.outer(source, source))
        length = np.linalg.norm(target - source)

        def turned(share, moment=moment, step=step):
            return sign * (p.a @ np.linalg.solve(moment + share * step, p.c)) <= 0

        if turned(1.0):
            low, high = 0.0, 1.0
            for _ in range(40):
                middle = (low + high) / 2
                low, high = (low, middle) if turned(middle) else (middle, high)
            return spent + high * mass * length
        moment, spent = moment + step, spent + mass * length
    return np.inf


def real(p, rows, targets):
    """Places of a pair's coordinates as vectors: the third one along what a source has of it."""
    first = p.a / np.linalg.norm(p.a)
    second = p.c - (p.c @ first) * first
    second = second / np.linalg.norm(second)
    rest = (
        p.psi[rows] - p.psi[rows] @ np.outer(first, first) - p.psi[rows] @ np.outer(second, second)
    )
    rest /= np.linalg.norm(rest, axis=1, keepdims=True)
    return targets[:, :1] * first + targets[:, 1:2] * second + targets[:, 2:] * rest


@pytest.mark.parametrize("p", CASES)
@pytest.mark.parametrize("restarts", [0, 2])
def test_targets_are_the_steepest_of_the_ball(p, restarts):
    """An attack that stops halfway would leave certificates untested."""
    targets, slopes = steepest_targets(p.pair, np.arange(p.n), RADIUS, restarts)
    assert np.linalg.norm(targets, axis=1).max() <= RADIUS * (1 + 1e-12)
    np.testing.assert_allclose(slopes, ratios(p.pair, targets[:, None])[:, 0], rtol=1e-9)
    short = 1 - slopes / p.slopes
    assert short.max() < 1.2e-3
    assert np.median(short) < 5e-6


@pytest.mark.parametrize("n", [24, 300])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("count", [1, 3, 6, 10, 14, 18])
def test_promising_points_are_those_of_the_largest_gains(n, sign, count):
    """Points that an attack needs would be left out of it."""
    p = made_up(80, sign, n, n=n)
    pair, sign = p.pair, np.sign(p.pair.gap)
    axis = p.a / 1.3 + sign * p.c / 0.7
    end = RADIUS * axis / np.linalg.norm(axis)
    rise = sign * ((end @ p.a) * (end @ p.c) - (p.psi @ p.a) * (p.psi @ p.c))
    apart = np.minimum(*(np.linalg.norm(p.psi - place, axis=1) for place in (end, -end)))
    slope = np.linalg.norm((p.psi @ p.c)[:, None] * p.a + (p.psi @ p.a)[:, None] * p.c, axis=1)
    half = max(count // 2, 1)
    best = {*np.argsort(-rise / apart)[:half], *np.argsort(-slope)[:half]}
    assert set(promising(pair, np.arange(p.n), RADIUS, count)) == best


@pytest.mark.parametrize("p", CASES)
def test_move_attack_is_the_cheapest_of_the_steepest_moves(p):
    """The cheapest move would be passed over, or not be paid for."""
    mass = 1 / p.n
    costs = [turning_cost(p, p.psi[[k]], real(p, [k], p.targets[[k]]), mass) for k in range(p.n)]
    assert np.isfinite(costs).any() or p is CASES[2]
    found = move_attack(p.pair, RADIUS, refined=p.n)
    assert found == pytest.approx(min(costs), rel=2e-3)
    # Of a few points: those of the steepest slopes.
    few = move_attack(p.pair, RADIUS, refined=3)
    assert few == pytest.approx(min(np.array(costs)[np.argsort(-p.slopes)[:3]]), rel=2e-3)


@pytest.mark.parametrize("p", CASES)
@pytest.mark.parametrize("sources", [3, 40])
def test_spread_attack_makes_the_steepest_moves_in_their_order(p, sources):
    """Many points would move less well than they can, or to places that cost other than said."""
    panel = np.random.default_rng(4).permutation(p.n)[:18]
    gram = p.psi[panel] @ p.psi[panel].T
    chosen = np.sort(promising(p.pair, np.sort(panel), RADIUS, 2 * sources))
    order = chosen[np.argsort(-p.slopes[chosen])][:sources]
    expected = turning_cost(p, p.psi[order], real(p, order, p.targets[order]), 1 / p.n)
    found = spread_attack(p.pair, RADIUS, panel, gram, sources=sources)
    assert found == pytest.approx(expected, rel=5e-3)
    assert np.isfinite(expected) or sources == 3


@pytest.mark.parametrize("p", CASES)
def test_spread_attack_knows_how_its_sources_lie_to_each_other(p, monkeypatch):
    """Off the plane of the pair, points would overlap otherwise than they do."""
    seen = []
    monkeypatch.setattr(audit, "path_cost", lambda *given: seen.append(given) or 1.0)
    panel = np.random.default_rng(6).permutation(p.n)[:16]
    spread_attack(p.pair, RADIUS, panel, p.psi[panel] @ p.psi[panel].T, sources=7)
    ((_, x, y, gram, lengths, _),) = seen
    r = len(lengths)
    rows = [
        np.abs(np.stack([p.psi @ p.a - x[k], p.psi @ p.c - y[k]])).sum(axis=0).argmin()
        for k in range(r, 2 * r)
    ]
    np.testing.assert_allclose(gram[r:, r:], p.psi[rows] @ p.psi[rows].T, atol=1e-9)
    # Targets have their own sources' directions.
    squared = np.diag(gram)[:r] + np.diag(gram)[r:] - 2 * np.diag(gram[:r, r:])
    np.testing.assert_allclose(squared, lengths**2, atol=1e-9)


# In the last, several points move before the pair turns.
@pytest.mark.parametrize("p", [*CASES, made_up(84, 1, 0)])
@pytest.mark.parametrize("sources", [2, 40])
def test_reweighting_moves_each_point_to_the_one_that_it_serves_best(p, sources):
    """Mass would go where it narrows less, or where there is no training point."""
    panel = np.random.default_rng(5).permutation(p.n)[:15]
    psi, sign = p.psi[panel], np.sign(p.a @ p.c)
    harm = sign * (psi @ p.a) * (psi @ p.c)
    best = []
    for k in range(15):
        others = [
            ((harm[j] - harm[k]) / np.linalg.norm(psi[j] - psi[k]), j) for j in range(15) if j != k
        ]
        best.append((*max(others), k))
    moves = [(j, k) for slope, j, k in sorted(best, reverse=True)[:sources] if slope > 0]
    assert len(moves) == min(sources, 14)
    to, source = map(list, zip(*moves, strict=True))
    expected = turning_cost(p, psi[source], psi[to], 1 / p.n)
    assert np.isfinite(expected) or sources == 2 or p is CASES[2]
    found = reweighting_attack(p.pair, panel, psi @ psi.T, sources=sources)
    assert found == pytest.approx(expected, rel=1e-5)


def test_points_that_are_where_they_narrow_most_are_not_moved(monkeypatch):
    """Mass would move to widen the gap, and the attack be taken for one."""
    moved, along = [], np.array([1.0, 0.0, 0.0])
    points = np.tile(2 * along, (6, 1))
    pair = Pair(along, along, points)
    monkeypatch.setattr(audit, "path_cost", lambda *given: moved.append(given) or 1.0)
    assert spread_attack(pair, 2.0, np.arange(6), points @ points.T) == np.inf
    assert reweighting_attack(pair, np.arange(6), points @ points.T) == np.inf
    points[4] = [0.5, 1.0, 0.0]
    assert spread_attack(pair, 2.0, np.arange(6), points @ points.T) == 1.0
    assert reweighting_attack(pair, np.arange(6), points @ points.T) == 1.0
    assert [len(lengths) for *_, lengths, _ in moved] == [1, 1]
    assert move_attack(pair, 2.0) == 1.0
    for _, x, *_ in moved[:2]:
        np.testing.assert_allclose(x, [2, 0.5], rtol=0.1)
    # Where all narrow alike, nothing is gained by going elsewhere.
    points[:] = [[1, k, 0] for k in range(6)]
    assert reweighting_attack(pair, np.arange(6), points @ points.T) == np.inf


def test_only_as_many_points_are_searched_as_asked(monkeypatch):
    """An attack on a large training set would not end."""
    p, searched, carried = CASES[0], [], []

    def targets(pair, rows, *given):
        searched.append((len(rows), given))
        return steepest_targets(pair, rows, *given)

    monkeypatch.setattr(audit, "steepest_targets", targets)
    monkeypatch.setattr(audit, "path_cost", lambda *given: carried.append(given) or 1.0)
    assert move_attack(p.pair, RADIUS, restarts=3, candidates=6, refined=2) == 1.0
    assert 3 <= searched[0][0] <= 6 and len(carried) == 2
    assert searched[0][1] == (RADIUS, 3)
    gram = p.psi @ p.psi.T
    spread_attack(p.pair, RADIUS, np.arange(p.n), gram, restarts=2, sources=4)
    assert 4 <= searched[1][0] <= 8 and len(carried[2][4]) == 4
    assert searched[1][1] == (RADIUS, 2)
