"""The attack: exact in its accounting, and strong enough to find what it must."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from problems import Problem
from wtrak.attacks import perturbations as audit
from wtrak.attacks.perturbations import (
    coordinates,
    deletion_attack,
    move_attack,
    moved_gap,
    path_cost,
    reweighting_attack,
    spread_attack,
    steepest_targets,
)
from wtrak.certificates.pairs import direct_radius, tight_constant

SEEDS = st.integers(0, 2**32 - 1)


def pair_of(p, i=0, j=1):
    c, gap = p.pair(i, j)
    return coordinates(
        p.psi @ p.a, p.psi @ c, p.si, np.linalg.norm(p.a), float(np.linalg.norm(c)), gap
    )


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_coordinates_keep_every_inner_product(seed):
    """The attack would work on another problem than the pair's."""
    p = Problem(seed)
    c, gap = p.pair(0, 1)
    pair = pair_of(p)
    np.testing.assert_allclose(pair.points @ pair.a, p.psi @ p.a, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(pair.points @ pair.c, p.psi @ c, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose((pair.points**2).sum(axis=1), p.si, rtol=1e-8)
    assert pair.gap == pytest.approx(gap, rel=1e-9, abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_gap_after_a_move_is_exact(seed):
    """An attack would claim a flip that the perturbed Q does not show."""
    p = Problem(seed)
    pair = pair_of(p)
    k, mass = 7, 0.5 / p.n
    plane = np.linalg.qr(np.stack([p.a, p.pair(0, 1)[0], p.psi[k]]).T)[0]
    target = plane @ np.array([0.3, -0.2, 0.1])
    # The same target in the coordinates of the pair.
    own = np.array(pair.points[k])
    basis_a = p.a / np.linalg.norm(p.a)
    c = p.pair(0, 1)[0]
    basis_c = c - (c @ basis_a) * basis_a
    basis_c /= np.linalg.norm(basis_c)
    rest = p.psi[k] - (p.psi[k] @ basis_a) * basis_a - (p.psi[k] @ basis_c) * basis_c
    basis_k = rest / np.linalg.norm(rest)
    moved = np.array([target @ basis_a, target @ basis_c, target @ basis_k])
    vectors = np.stack([moved, own])
    x, y, gram = vectors @ pair.a, vectors @ pair.c, vectors @ vectors.T
    found = moved_gap(pair.gap, x, y, gram, np.array([mass, -mass]))
    back = np.linalg.inv(p.root)
    moment = p.phi.T @ p.phi / p.n
    new = target @ back
    moment += mass * (np.outer(new, new) - np.outer(p.phi[k], p.phi[k]))
    assert found == pytest.approx(p.gap_of(moment, 0, 1), rel=1e-6, abs=1e-9)


@settings(max_examples=25, deadline=None)
@given(SEEDS)
def test_targets_stay_in_the_ball_and_slopes_below_the_constant(seed):
    """The attack would leave the ball, or the tight constant would not bound its slope."""
    p = Problem(seed)
    pair = pair_of(p)
    targets, slopes = steepest_targets(pair, np.arange(p.n), p.radius)
    assert np.linalg.norm(targets, axis=1).max() <= p.radius * (1 + 1e-9)
    c, gap = p.pair(0, 1)
    constant = tight_constant(gap, np.linalg.norm(c), np.linalg.norm(p.a), p.radius)
    assert slopes.max() <= constant * (1 + 1e-9)
    assert slopes.max() > 0


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_direct_certificates_are_never_broken(seed):
    """The theorem, or its code, would be wrong."""
    p = Problem(seed)
    c, gap = p.pair(0, 1)
    constant = tight_constant(gap, np.linalg.norm(c), np.linalg.norm(p.a), p.radius)
    certified = direct_radius(np.array(gap), np.array(constant))
    pair, panel, gram = pair_of(p), np.arange(p.n), p.psi @ p.psi.T
    for cost in (
        move_attack(pair, p.radius, restarts=3),
        spread_attack(pair, p.radius, panel, gram),
        reweighting_attack(pair, panel, gram),
    ):
        assert cost >= certified * (1 - 1e-9)


def test_planted_violation_is_found():
    """Halving a constant doubles the radius; an attack that misses that is too weak to audit."""
    broken = 0
    for seed in range(40):
        p = Problem(seed, n=100)
        c, gap = p.pair(0, 1)
        constant = tight_constant(gap, np.linalg.norm(c), np.linalg.norm(p.a), p.radius)
        halved = direct_radius(np.array(gap), np.array(constant / 2))
        broken += move_attack(pair_of(p), p.radius) < halved
    assert broken >= 4


def test_a_tie_costs_nothing():
    """An order that does not exist would seem to need an attack."""
    p = Problem(3)
    pair = pair_of(p)
    tied = type(pair)(pair.a, np.array([0.0, 1.0, 0.0]), pair.points)
    assert move_attack(tied, p.radius) == 0.0
    panel, gram = np.arange(p.n), p.psi @ p.psi.T
    assert spread_attack(tied, p.radius, panel, gram) == 0.0
    assert reweighting_attack(tied, panel, gram) == 0.0


def replayed_gap(p, sources, targets, masses):
    """τ_0 − τ_1 with Q built anew after masses move from points to places, explicit φ."""
    back = np.linalg.inv(p.root)
    moment = p.phi.T @ p.phi / p.n
    for source, target, mass in zip(sources, targets, masses, strict=True):
        new, old = target @ back, source @ back
        moment = moment + mass * (np.outer(new, new) - np.outer(old, old))
    return p.gap_of(moment, 0, 1)


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_cost_of_a_path_is_where_the_rebuilt_gap_turns(seed):
    """An attack would claim a cost at which the order is still what it was."""
    p = Problem(seed, n=60)
    c, gap = p.pair(0, 1)
    r = 12
    sources = p.psi[p.rng.choice(p.n, size=r, replace=False)]
    axis = p.a / np.linalg.norm(p.a) + np.sign(gap) * c / np.linalg.norm(c)
    targets = p.radius * axis / np.linalg.norm(axis) * p.rng.uniform(0.5, 1, size=(r, 1))
    vectors = np.concatenate([targets, sources])
    lengths = np.linalg.norm(targets - sources, axis=1)
    cost = path_cost(gap, vectors @ p.a, vectors @ c, vectors @ vectors.T, lengths, 1 / p.n)
    if np.isinf(cost):
        assert replayed_gap(p, sources, targets, np.full(r, 1 / p.n)) * gap > 0
        return

    def masses(budget):
        left, out = budget, []
        for length in lengths:
            out.append(min(1 / p.n, left / length))
            left -= out[-1] * length
        return out

    assert replayed_gap(p, sources, targets, masses(cost * (1 + 1e-5))) * gap <= 1e-9 * abs(gap)
    assert replayed_gap(p, sources, targets, masses(cost * (1 - 1e-5))) * gap >= -1e-9 * abs(gap)


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_spread_attack_moves_real_points_inside_the_ball(seed):
    """Inner products of the moved points would be those of no points at all."""
    p = Problem(seed, n=40, d=6)
    pair, panel = pair_of(p), np.sort(p.rng.choice(p.n, size=25, replace=False))
    gram = p.psi[panel] @ p.psi[panel].T
    seen = {}

    def capture(*arguments):
        seen["path"] = arguments
        return path_cost(*arguments)

    original, audit.path_cost = audit.path_cost, capture
    try:
        spread_attack(pair, p.radius, panel, gram, sources=8)
    finally:
        audit.path_cost = original
    _, x, y, vectors_gram, lengths, mass = seen["path"]
    r = len(lengths)
    assert mass == 1 / p.n
    assert np.diag(vectors_gram).max() <= p.radius**2 * (1 + 1e-9)
    # A Gram matrix, with a and c bordering it, of vectors that exist.
    c, gap = p.pair(0, 1)
    border = np.block(
        [
            [vectors_gram, x[:, None], y[:, None]],
            [x[None], p.a[None] @ p.a[:, None], np.array([[gap]])],
            [y[None], np.array([[gap]]), c[None] @ c[:, None]],
        ]
    )
    assert np.linalg.eigvalsh(border).min() >= -1e-8 * np.abs(border).max()
    squared = np.diag(vectors_gram)[:r] + np.diag(vectors_gram)[r:]
    squared = squared - 2 * np.diag(vectors_gram[:r, r:])
    np.testing.assert_allclose(lengths**2, squared, rtol=1e-6, atol=1e-9)
    # The sources are points of the panel.
    for k in range(r):
        match = np.isclose(p.psi[panel] @ p.a, x[r + k]) & np.isclose(p.psi[panel] @ c, y[r + k])
        assert match.any()
        assert np.isclose(np.diag(gram)[match], vectors_gram[r + k, r + k]).any()


def test_many_points_turn_what_one_cannot():
    """Pairs with a wide gap would count as unbreakable because only one point may move."""
    one = many = 0
    for seed in range(60):
        p = Problem(seed, n=80)
        pair, panel = pair_of(p), np.arange(p.n)
        one += np.isfinite(move_attack(pair, p.radius))
        many += np.isfinite(spread_attack(pair, p.radius, panel, p.psi @ p.psi.T, sources=40))
    assert many > one


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_deletion_attack_is_the_cheapest_deletion_that_turns_the_pair(seed):
    """The ridge would shrink with the data, or the distance be another than W₁ to P without k."""
    p = Problem(seed, n=25, ridge=2.0)
    _, gap = p.pair(0, 1)
    # Whitened by Q − (λ/n)·I.
    q = p.phi.T @ p.phi / p.n + p.ridge * (1 - 1 / p.n) * np.eye(4)
    root = np.linalg.cholesky(np.linalg.inv(q))
    psi, a = p.phi @ root, p.test_phi @ root
    of_pair = psi[0] - psi[1]
    distances = np.linalg.norm(p.psi[:, None] - p.psi, axis=2).sum(axis=1) / (p.n * (p.n - 1))
    found = deletion_attack(
        np.sign(gap), a @ of_pair, psi @ a, psi @ of_pair, (psi**2).sum(axis=1), p.n, distances
    )
    expected = np.inf
    for k in range(p.n):
        kept = np.delete(p.phi, k, axis=0)
        if p.gap_of(kept.T @ kept / (p.n - 1), 0, 1) * gap <= 0:
            expected = min(expected, distances[k])
    assert found == pytest.approx(expected)


@settings(max_examples=25, deadline=None)
@given(SEEDS)
def test_reweighting_keeps_the_support(seed):
    """A reweighting would put mass where there is no training point."""
    p = Problem(seed, n=40)
    pair, panel = pair_of(p), np.arange(p.n)
    seen = {}

    def capture(*arguments):
        seen["path"] = arguments
        return np.inf

    original, audit.path_cost = audit.path_cost, capture
    try:
        reweighting_attack(pair, panel, p.psi @ p.psi.T)
    finally:
        audit.path_cost = original
    _, x, _, gram, lengths, _ = seen["path"]
    r = len(lengths)
    rows = [int(np.flatnonzero(np.isclose(p.psi @ p.a, value))[0]) for value in x]
    np.testing.assert_allclose(gram, p.psi[rows] @ p.psi[rows].T)
    np.testing.assert_allclose(lengths, np.linalg.norm(p.psi[rows[:r]] - p.psi[rows[r:]], axis=1))
    assert len(set(rows[r:])) == r
