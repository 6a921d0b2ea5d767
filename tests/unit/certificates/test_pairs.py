"""Certificates for pairs, against brute force: enumerated pairs, removals, replacements."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from problems import Problem
from wtrak.certificates.pairs import (
    difference_norms,
    direct_radius,
    gap_without,
    gaps_after_removal,
    harmful_order,
    holds_to_first_order,
    interval_radius,
    removal_bound,
    survives_removal,
    survives_replacement,
    tight_constant,
    top_k_radius,
)

SEEDS = st.integers(0, 2**32 - 1)


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_tight_constant_is_attained_and_never_exceeded(seed):
    """R(‖a‖‖b‖ + |a·b|) would be no Lipschitz constant on the ball, or not the least one."""
    p = Problem(seed)
    b = p.psi[0]
    bound = tight_constant(p.a @ b, np.linalg.norm(b), np.linalg.norm(p.a), p.radius)
    matrix = np.outer(p.a, b) + np.outer(b, p.a)
    largest = p.radius * np.abs(np.linalg.eigvalsh(matrix)).max()
    assert bound == pytest.approx(largest, rel=1e-10)
    assert bound <= 2 * np.linalg.norm(p.a) * np.linalg.norm(b) * p.radius * (1 + 1e-12)


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_order_of_the_certificates(seed):
    """Direct must beat the intervals, and tight intervals the paper's."""
    p = Problem(seed)
    i, j = np.triu_indices(p.n, 1)
    norms, tau, norm = np.linalg.norm(p.psi, axis=1), p.psi @ p.a, np.linalg.norm(p.a)
    gaps = tau[i] - tau[j]
    differences = np.linalg.norm(p.psi[i] - p.psi[j], axis=1)
    tight = tight_constant(tau, norms, norm, p.radius)
    paper = 2 * norm * norms * p.radius
    by_paper = interval_radius(gaps, paper[i], paper[j])
    by_tight = interval_radius(gaps, tight[i], tight[j])
    direct = direct_radius(gaps, tight_constant(gaps, differences, norm, p.radius))
    slack = 1 + 1e-9
    assert np.all(by_paper <= by_tight * slack)
    assert np.all(by_tight <= direct * slack)
    assert np.all(direct > 0)
    # Never more than what leaves (I + E)⁻¹ positive.
    assert np.all(2 * p.radius * direct <= slack)


def worst_change(a, c, size):
    """E of nuclear norm `size` that turns a·c > 0 with least effort: −size along αa − c/α."""
    alpha = np.sqrt(np.linalg.norm(c) / np.linalg.norm(a))
    q = alpha * a - c / alpha
    q /= np.linalg.norm(q)
    return -size * np.outer(q, q)


def gap_under(a, c, change):
    """aᵀ(I + E)⁻¹c."""
    return float(a @ np.linalg.solve(np.eye(len(a)) + change, c))


def largest_nuclear_norm(a, c):
    """2Rε at the direct radius: 2ρ/(1 + ρ)."""
    gap, product = abs(a @ c), np.linalg.norm(a) * np.linalg.norm(c)
    constant = tight_constant(gap, np.linalg.norm(c), np.linalg.norm(a), 1.0)
    radius = direct_radius(np.array(gap), np.array(constant))
    assert 2 * radius == pytest.approx(2 * (gap / product) / (1 + gap / product), rel=1e-12)
    return float(2 * radius)


@settings(max_examples=200, deadline=None)
@given(SEEDS)
def test_no_change_in_the_nuclear_ball_turns_a_pair_and_one_beyond_it_does(seed):
    """The proof that direct holds to every order would be of a smaller or a larger ball."""
    rng = np.random.default_rng(seed)
    d = rng.integers(2, 6)
    a, c = rng.standard_normal((2, d)) * rng.lognormal(size=(2, 1))
    c *= np.sign(a @ c)
    bound = largest_nuclear_norm(a, c)
    assert gap_under(a, c, worst_change(a, c, 0.999999 * bound)) > 0
    if 1.02 * bound < 1:
        assert gap_under(a, c, worst_change(a, c, 1.02 * bound)) < 0
    for _ in range(20):
        vectors, _ = np.linalg.qr(rng.standard_normal((d, d)))
        if rng.random() < 0.5:  # near the worst
            worst = np.linalg.eigh(worst_change(a, c, 1.0))[1]
            vectors, _ = np.linalg.qr(worst + 0.1 * rng.standard_normal((d, d)))
        values = rng.dirichlet(np.full(d, 0.3)) * rng.choice([-1, 1], size=d)
        assert gap_under(a, c, 0.999999 * bound * (vectors * values) @ vectors.T) > 0


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_no_move_inside_the_direct_ball_flips_a_pair(seed):
    """The guarantee would be broken by an explicit perturbed distribution."""
    p = Problem(seed)
    c, gap = p.pair(0, 1)
    constant = tight_constant(gap, np.linalg.norm(c), np.linalg.norm(p.a), p.radius)
    epsilon = direct_radius(np.array(gap), np.array(constant)) * (1 - 1e-9)
    for _ in range(20):
        # Mass w at training point k moves to a point of the ball: cost w·distance ≤ ε.
        k = p.rng.integers(p.n)
        direction = p.rng.standard_normal(len(p.a))
        if p.rng.random() < 0.7:  # along the eigenvectors that S responds to most
            direction = p.a / np.linalg.norm(p.a) - np.sign(gap) * c / np.linalg.norm(c)
        target = p.radius * direction / np.linalg.norm(direction) * p.rng.choice([-1, 1])
        distance = np.linalg.norm(target - p.psi[k])
        weight = min(epsilon / distance, 1 / p.n)
        moment = p.phi.T @ p.phi / p.n
        moved = target @ np.linalg.inv(p.root)
        moment += weight * (np.outer(moved, moved) - np.outer(p.phi[k], p.phi[k]))
        assert p.gap_of(moment, 0, 1) * gap > 0


def pair_at(angle, d=4):
    """a and c at an angle of a little below 90°, and the direction that turns them first."""
    a, c = np.zeros((2, d))
    a[0], c[:2] = 1.3, 0.8 * np.array([np.cos(angle), np.sin(angle)])
    return a, c, worst_change(a, c, 1.0)


def test_a_transport_turns_a_pair_just_beyond_its_direct_radius():
    """The radius would be safe only because it is much too small."""
    a, c, worst = pair_at(np.pi / 2 - 0.004)
    q = np.linalg.eigh(worst)[1][:, 0]
    radius = 0.9
    constant = tight_constant(a @ c, np.linalg.norm(c), np.linalg.norm(a), radius)
    epsilon = float(direct_radius(np.array(a @ c), np.array(constant)))
    # Mass μ at the edge of the ball along q, where the training points' moment is I, moves inward
    # by ε/μ: the cheapest way to lose second moment there.
    for factor, sign in ((0.999, 1), (1.02, -1)):
        mass = 1 / radius**2
        inward = radius - factor * epsilon / mass
        change = mass * (inward**2 - radius**2) * np.outer(q, q)
        assert np.sign(gap_under(a, c, change)) == sign


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_removal_is_exact(seed):
    """Sherman–Morrison would give another gap than rebuilding Q without the point."""
    p = Problem(seed)
    c, gap = p.pair(2, 5)
    found = gaps_after_removal(gap, p.psi @ p.a, p.psi @ c, p.n - p.si)
    moment = p.phi.T @ p.phi / p.n
    expected = [p.gap_of(moment - np.outer(f, f) / p.n, 2, 5) for f in p.phi]
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)
    survives = survives_removal(gap, p.psi @ p.a, p.psi @ c, p.n - p.si)
    assert survives == bool(np.all(np.array(expected) * gap > 0))


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_removal_of_a_set_is_exact(seed):
    """Woodbury would give another gap than rebuilding Q without the set."""
    p = Problem(seed)
    c, gap = p.pair(1, 4)
    rows, effects = harmful_order(gap, p.psi @ p.a, p.psi @ c, p.n - p.si, 6)
    assert np.all(np.diff(effects) <= 0)
    for m in range(1, 7):
        k = rows[:m]
        found = gap_without(
            gap, p.psi[k] @ p.a, p.psi[k] @ c, (p.n - p.si)[k], p.psi[k] @ p.psi[k].T
        )
        moment = (p.phi.T @ p.phi - p.phi[k].T @ p.phi[k]) / p.n
        assert found == pytest.approx(p.gap_of(moment, 1, 4), rel=1e-6, abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_harmful_order_is_that_of_the_single_removals(seed):
    """The attack would remove points that do not hurt most."""
    p = Problem(seed)
    c, gap = p.pair(0, 3)
    x, y, slack = p.psi @ p.a, p.psi @ c, p.n - p.si
    rows, _ = harmful_order(gap, x, y, slack, 5)
    narrowed = np.sign(gap) * gaps_after_removal(gap, x, y, slack)
    np.testing.assert_array_equal(rows, np.argsort(narrowed)[:5])


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_no_replacement_flips_what_survives(seed):
    """A poisoned example inside the ball would turn a pair that was certified against it."""
    p = Problem(seed, n=200)
    c, gap = p.pair(0, 1)
    x, y, slack = p.psi @ p.a, p.psi @ c, p.n - p.si
    settings_ = {
        "norm_test": np.linalg.norm(p.a),
        "difference": np.linalg.norm(c),
        "radius": p.radius,
        "n": p.n,
    }
    if not survives_replacement(gap, x, y, slack, **settings_):
        return
    assert survives_removal(gap, x, y, slack)
    best = np.linalg.eigh(np.outer(p.a, c) + np.outer(c, p.a))[1][:, -1 if gap > 0 else 0]
    moment = p.phi.T @ p.phi / p.n
    back = np.linalg.inv(p.root)
    for k in range(p.n):
        for target in (p.radius * best, -p.radius * best):
            new = target @ back
            changed = moment + (np.outer(new, new) - np.outer(p.phi[k], p.phi[k])) / p.n
            assert p.gap_of(changed, 0, 1) * gap > 0


def test_replacement_certifies_something_and_not_everything():
    """A certificate that always or never holds says nothing."""
    held = []
    for seed in range(60):
        p = Problem(seed, n=400)
        c, gap = p.pair(0, 1)
        held.append(
            survives_replacement(
                gap,
                p.psi @ p.a,
                p.psi @ c,
                p.n - p.si,
                norm_test=np.linalg.norm(p.a),
                difference=np.linalg.norm(c),
                radius=p.radius,
                n=p.n,
            )
        )
    assert 0 < sum(held) < 60


def test_top_k_radius_is_the_least_over_enumerated_pairs():
    """The set of the most influential points would be certified past a pair that can turn."""
    rng = np.random.default_rng(0)
    scores = rng.standard_normal(12)
    radii = rng.random((12, 12))
    for k in (1, 3):
        rows = np.argsort(scores)[::-1][:k]
        expected = min(radii[i, j] for i in rows for j in range(12) if j not in rows)
        assert top_k_radius(scores, rows, radii[rows]) == expected


def test_equal_scores_have_radius_zero():
    """A tie would be certified, or divide zero by zero."""
    zero = np.zeros(2)
    assert np.all(interval_radius(zero, zero, zero) == 0)
    assert np.all(direct_radius(zero, zero) == 0)


def test_first_order_adds_up_what_is_harmful():
    """A set would be another number of points, or helpful ones be removed too; ties count."""
    effects = np.array([[2.0, 1.0, -4.0], [0.5, -1.0, -1.0]])
    gaps = np.array([-2.5, 0.5])
    for count, expected in ((1, [True, False]), (2, [False, False]), (3, [False, False])):
        assert holds_to_first_order(gaps, effects, count).tolist() == expected
        assert holds_to_first_order(gaps[0], effects[0], count) == expected[0]
    assert holds_to_first_order(np.array([3.25, -0.75]), effects, 3).all()


def test_removal_bound_without_inner_products_by_hand():
    """The factor α would be 0 or infinite where the most harmful points have x or y of 0."""
    x, y, slack, bounds = np.array([0.0, 0.0, 1.0]), np.ones(3), np.ones(3), np.full(3, 0.5)
    with np.errstate(all="raise"):
        # With α = 1 each of the first two counts r·y²/2/(1 − r²) = ⅓, and the last helps.
        for points in ((x, y), (y, x)):
            found = [removal_bound(1.0, *points, slack, bounds, count) for count in (1, 2)]
            assert found == pytest.approx([1 / 3, 2 / 3], rel=1e-12)
        # α² = √(Σy²/Σx²) = 4: each counts (−1 + ½·(4·¼ + 4/4)/2)/¾ < 0, or with x turned 2.
        small, large = np.full(3, 0.5), np.full(3, 2.0)
        assert removal_bound(1.0, small, large, slack, bounds, 2) == 0
        turned = removal_bound(1.0, -small, large, slack, bounds, 2)
        assert turned == pytest.approx(2 * (1 + 0.5) / 0.75, rel=1e-12)


def test_differences_are_never_too_small():
    """Rounding would make them the root of a negative number, or less than they are."""
    rng = np.random.default_rng(0)
    points = np.repeat(1e4 * rng.standard_normal((20, 7)), 2, axis=0)
    points[::4] *= 1 + 1e-12
    i, j = np.triu_indices(40, 1)
    gram = points @ points.T
    squared = np.diag(gram)
    found = difference_norms(squared[i], squared[j], gram[i, j], 7)
    wide = points.astype(np.longdouble)
    exact = np.sqrt(((wide[i] - wide[j]) ** 2).sum(axis=1)).astype(float)
    assert (found >= exact).all()
    np.testing.assert_allclose(found, exact, rtol=1e-9, atol=1e-2)
    # d·2⁻⁵²·(‖b_i‖² + ‖b_j‖²) is all that is left of equal points, and below of what is known.
    assert difference_norms(1.0, 1.0, 1.0, 8) == pytest.approx(2.0**-24, rel=1e-12)
    assert difference_norms(1.0, 1.0, 1.0 + 1e-15, 8) == pytest.approx(2.0**-24, rel=1e-12)
    assert difference_norms(9.0, 4.0, 2.0, 8) == pytest.approx(3.0, rel=1e-14)
    assert difference_norms(4.0, 0.0, 2.0, 8) == pytest.approx(2.0**-23.5, rel=1e-12)
