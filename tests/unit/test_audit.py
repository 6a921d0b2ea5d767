"""The attack: exact in its accounting, and strong enough to find what it must."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_pair_certificates import Problem

from wtrak.audit import attack_radius, coordinates, gap_after, steepest_targets
from wtrak.pair_certificates import direct_radius, rigorous_radius, tight_constant

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
    found = gap_after(pair, np.stack([moved, own]), np.array([mass, -mass]))
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
def test_rigorous_certificates_are_never_broken(seed):
    """The theorem, or its code, would be wrong."""
    p = Problem(seed)
    c, gap = p.pair(0, 1)
    certified = rigorous_radius(
        np.array(gap), np.array(np.linalg.norm(c)), np.linalg.norm(p.a), p.radius
    )
    assert attack_radius(pair_of(p), p.radius) >= certified * (1 - 1e-9)


def test_planted_violation_is_found():
    """Halving a constant doubles the radius; an attack that misses that is too weak to audit."""
    broken = 0
    for seed in range(40):
        p = Problem(seed, n=100)
        c, gap = p.pair(0, 1)
        constant = tight_constant(gap, np.linalg.norm(c), np.linalg.norm(p.a), p.radius)
        halved = direct_radius(np.array(gap), np.array(constant / 2))
        broken += attack_radius(pair_of(p), p.radius) < halved
    assert broken >= 4


def test_a_tie_costs_nothing():
    """An order that does not exist would seem to need an attack."""
    p = Problem(3)
    pair = pair_of(p)
    tied = type(pair)(pair.a, np.array([0.0, 1.0, 0.0]), pair.points)
    assert attack_radius(tied, p.radius) == 0.0
