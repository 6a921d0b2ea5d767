"""Bounds on how removals act on one another hold for every set, enumerated or drawn."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from problems import Problem, gradients
from reference import covariance, explicit
from wtrak.certificates.pairs import gap_without, removal_bound
from wtrak.geometry.cross_leverage import largest_cross_leverages, row_bounds

SEEDS = st.integers(0, 2**32 - 1)


def cross_leverages(p):
    """O of all points, and its rows sorted as `largest_cross_leverages` gives them."""
    scale = 1 / np.sqrt(p.n - p.si)
    o = (p.psi @ p.psi.T) * np.outer(scale, scale)
    np.fill_diagonal(o, 0.0)
    partners = np.argsort(-np.abs(o), axis=1, kind="stable")[:, : p.n - 1]
    return o, np.take_along_axis(np.abs(o), partners, axis=1), partners


def test_largest_cross_leverages_are_those_of_explicit_points():
    """The bounds would rest on other numbers, or on rounding that they do not allow for."""
    g, _, _ = gradients(n=40)
    phi = explicit(g)
    q = covariance(phi, 0.01)
    factor = torch.from_numpy(np.linalg.cholesky(q))
    psi = np.linalg.solve(factor.numpy(), phi.T).T
    si = (psi**2).sum(axis=1)
    values, partners, errors = largest_cross_leverages(g, factor, si, 5, block_size=7)
    scale = 1 / np.sqrt(40 - si)
    o = np.abs(psi @ psi.T) * np.outer(scale, scale)
    np.fill_diagonal(o, 0.0)
    np.testing.assert_allclose(values, -np.sort(-o, axis=1)[:, :5], rtol=1e-4, atol=1e-7)
    assert (partners != np.arange(40)[:, None]).all()
    exact = np.take_along_axis(o, partners.astype(int), axis=1)
    assert (np.abs(exact - values) <= errors[:, None]).all()
    assert errors.max() < 1e-3


def test_errors_are_those_of_a_float32_inner_product():
    """(d + 8)·2⁻²⁴ times the norm of the row and the largest norm: less is no bound."""
    g, _, _ = gradients(n=40)
    phi = explicit(g)
    factor = np.linalg.cholesky(covariance(phi, 0.01))
    si = (np.linalg.solve(factor, phi.T) ** 2).sum(axis=0)
    _, _, errors = largest_cross_leverages(g, torch.from_numpy(factor), si, 5, block_size=40)
    norms = np.sqrt(si / (40 - si))
    assert norms.min() < 0.5 * norms.max()
    expected = (phi.shape[1] + 8) / 2**24 * norms * norms.max()
    np.testing.assert_allclose(errors, expected, rtol=1e-12)


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.integers(2, 6), st.integers(0, 3))
def test_row_bounds_enclose_every_set(seed, size, beyond):
    """The theorem's premise −diag(r) ⪯ O_K ⪯ diag(r) would fail for some set."""
    p = Problem(seed)
    o, values, partners = cross_leverages(p)
    listed = min(size - 1 + beyond, p.n - 1)
    r = row_bounds(values[:, :listed], partners[:, :listed], np.zeros(p.n), size)
    # The heaviest set of each row is where a bound would fail first.
    sets = [np.append(k, partners[k, : size - 1]) for k in range(p.n)]
    sets += [p.rng.choice(p.n, size=size, replace=False) for _ in range(30)]
    for k in sets:
        for sign in (1, -1):
            inside = np.diag(r[k]) + sign * o[np.ix_(k, k)]
            assert np.linalg.eigvalsh(inside).min() >= -1e-12


def test_weights_lower_the_largest_bound_of_a_hub():
    """One point with many partners would leave all sets without a bound."""
    n = 20
    o = np.full((n, n), 0.01)
    o[0, :] = o[:, 0] = 0.15
    np.fill_diagonal(o, 0.0)
    partners = np.argsort(-o, axis=1, kind="stable")[:, : n - 1]
    values = np.take_along_axis(o, partners, axis=1)
    plain = 9 * 0.15
    assert row_bounds(values, partners, np.zeros(n), 10).max() < 0.7 * plain


def test_one_removal_has_no_partners():
    """The bound of a single removal would be wider than the exact effect."""
    assert not row_bounds(np.ones((3, 2)), np.zeros((3, 2), int), np.zeros(3), 1).any()


@settings(max_examples=30, deadline=None)
@given(SEEDS, st.floats(0.5, 8.0))
def test_removal_bound_holds_for_every_enumerated_set(seed, spread):
    """A pair certified against m removals would be turned by some set of m points."""
    p = Problem(seed, n=14, d=3, ridge=spread)
    c, gap = p.pair(0, 1)
    x, y, slack = p.psi @ p.a, p.psi @ c, p.n - p.si
    _, values, partners = cross_leverages(p)
    gram = p.psi @ p.psi.T
    worst = 0.0
    for m in (1, 2, 3):
        r = row_bounds(values, partners, np.zeros(p.n), m)
        bound = removal_bound(gap, x, y, slack, r, m)
        for k in itertools.combinations(range(p.n), m):
            k = list(k)
            after = gap_without(gap, x[k], y[k], slack[k], gram[np.ix_(k, k)])
            worst = max(worst, (gap - after) * np.sign(gap))
        assert worst <= bound * (1 + 1e-9) + 1e-12
        if m == 1:
            assert bound == pytest.approx(max(worst, 0.0), rel=1e-9, abs=1e-12)


def test_removal_bound_is_of_use():
    """A bound that never certifies what enumeration finds stable would say nothing."""
    certified = stable = 0
    for seed in range(40):
        p = Problem(seed, n=40, d=3, ridge=5.0)
        c, gap = p.pair(0, 1)
        x, y, slack = p.psi @ p.a, p.psi @ c, p.n - p.si
        _, values, partners = cross_leverages(p)
        r = row_bounds(values, partners, np.zeros(p.n), 2)
        gram = p.psi @ p.psi.T
        certified += abs(gap) > removal_bound(gap, x, y, slack, r, 2)
        stable += all(
            gap_without(gap, x[[k, m]], y[[k, m]], slack[[k, m]], gram[np.ix_([k, m], [k, m])])
            * gap
            > 0
            for k, m in itertools.combinations(range(p.n), 2)
        )
    assert 0.6 * stable <= certified <= stable
    assert stable > 10


def test_no_bound_where_a_row_reaches_one():
    """A division by 1 − r² ≤ 0 would give a bound that means nothing."""
    ones = np.ones(4)
    assert removal_bound(1.0, ones, ones, ones, np.array([0.1, 1.0, 0.1, 0.1]), 2) == np.inf
