"""Verdicts on removals against every set that could be removed."""

import itertools

import numpy as np
import pytest
import torch

from problems import Problem
from wtrak.certificates.pairs import removal_bound
from wtrak.certificates.verdicts import removal_verdicts
from wtrak.geometry.cross_leverage import largest_cross_leverages, row_bounds
from wtrak.geometry.gradients import Gradients


def bounds_of(problem, removals):
    """Bounds of the cross-leverages for each number of removals; φ as residuals of one feature."""
    n, d = problem.phi.shape
    gradients = Gradients(problem.phi, np.ones((n, 1), np.float32), np.arange(n))
    q = problem.phi.T @ problem.phi / n + problem.ridge * np.eye(d)
    factor = torch.linalg.cholesky(torch.from_numpy(q))
    largest = largest_cross_leverages(gradients, factor, problem.si, max(removals), block_size=5)
    return {m: row_bounds(*largest, m) for m in removals}


def turned_sizes(problem, i, j, most):
    """For each size, whether any set turns or ties the pair: Q built anew without each set."""
    n = problem.n
    sign = np.sign(problem.pair(i, j)[1])
    turned = {}
    for size in range(1, most + 1):
        turned[size] = any(
            sign
            * problem.gap_of(
                np.delete(problem.phi, list(k), axis=0).T
                @ np.delete(problem.phi, list(k), axis=0)
                / n,
                i,
                j,
            )
            <= 0
            for k in itertools.combinations(range(n), size)
        )
    return turned


def test_verdicts_are_true_of_every_set():
    """A removal that turns the pair would be called impossible, or none would exist that does."""
    seen = set()
    for seed in range(6):
        # A large ridge, where removals act almost one by one, and a small one.
        problem = Problem(seed, n=12, d=4, ridge=(20.0, 0.05)[seed % 2])
        removals = (1, 2, 3)
        bounds = bounds_of(problem, removals)
        for i, j in itertools.combinations(range(0, 12, 2), 2):
            c, gap = problem.pair(i, j)
            verdicts = removal_verdicts(
                gap,
                problem.psi @ problem.a,
                problem.psi @ c,
                problem.n - problem.si,
                bounds,
                lambda rows, psi=problem.psi: psi[rows] @ psi[rows].T,
            )
            turned = turned_sizes(problem, i, j, 3)
            assert verdicts[1] == ("turns" if turned[1] else "holds")
            for m in removals:
                at_most = any(turned[size] for size in range(1, m + 1))
                if verdicts[m] == "holds":
                    assert not at_most
                    # It is proved, and not merely true.
                    of_pair = gap, problem.psi @ problem.a, problem.psi @ c, problem.n - problem.si
                    proofs = [removal_bound(*of_pair, bounds[k], k) for k in removals if k >= m]
                    assert abs(gap) > min(proofs)
                if verdicts[m] == "turns":
                    assert at_most
                seen.add((m, verdicts[m]))
    assert {(m, v) for m in (2, 3) for v in ("holds", "turns", "undecided")} <= seen


def test_equal_scores_have_no_order_to_keep():
    """Copies of one example would be certified to rank one above the other."""
    verdicts = removal_verdicts(0.0, np.ones(5), np.ones(5), np.ones(5), {1: None, 3: None}, None)
    assert verdicts == {1: "turns", 3: "turns"}


@pytest.mark.parametrize("sign", [1, -1])
def test_what_holds_for_more_removals_holds_for_fewer(sign):
    """A user would read that ten removals turn nothing, but that two may."""
    rng = np.random.default_rng(0)
    x, y = 1e-3 * rng.standard_normal((2, 8))
    # Bounds of 1 prove nothing: only those of the larger size do.
    bounds = {1: None, 2: np.ones(8), 3: np.zeros(8)}
    verdicts = removal_verdicts(sign * 1.0, x, y, np.full(8, 8.0), bounds, lambda k: np.eye(len(k)))
    assert verdicts == dict.fromkeys((1, 2, 3), "holds")


def verdicts_without_interaction(gap, harms, sizes, bound=0.0, base=2.0):
    """Verdicts where removals add up: the m-th narrows |gap| by harms[m], whatever else goes."""
    n = len(harms)
    x = 2.0 * base ** np.arange(n) * (-1.0) ** np.arange(n)
    y = -np.sign(gap) * np.array(harms) / x
    return removal_verdicts(
        gap,
        x,
        y,
        np.ones(n),
        {m: np.full(n, bound) for m in sizes},
        lambda rows: np.zeros((len(rows), len(rows))),
    )


@pytest.mark.parametrize("gap", [6.0, -6.0])
def test_a_set_turns_a_pair_from_the_size_on_that_ties_it(gap):
    """A tie would count as an order, or the size be off by one, or helpful removals be made."""
    harms = [1.0, -9.0, 3.0, 2.0, -1.0, 0.5, 0.25]
    assert verdicts_without_interaction(gap, harms, (1, 2, 3, 5)) == {
        1: "holds",
        2: "holds",
        3: "turns",
        5: "turns",
    }
    # The two most harmful tie it; others, with a larger a·ψ_k or c·ψ_k, do not.
    found = verdicts_without_interaction(gap * 5 / 6, harms, (1, 2))
    assert found == {1: "holds", 2: "turns"}
    # One that turns it alone is among at most two, whatever else would go.
    assert verdicts_without_interaction(gap, [6.5, -1.0, -1.0], (1, 2)) == {1: "turns", 2: "turns"}
    # The last set of all that are looked at.
    assert verdicts_without_interaction(gap, harms, (1, 3)) == {1: "holds", 3: "turns"}
    assert verdicts_without_interaction(gap * 1.01, harms, (1, 3)) == {1: "holds", 3: "holds"}
    assert verdicts_without_interaction(gap / 2, harms, (1, 2)) == {1: "turns", 2: "turns"}


def test_one_removal_is_never_undecided():
    """The bound for sets would be asked where every removal can be looked at."""
    found = verdicts_without_interaction(5.0, [3.0, 2.5, 0.1], (1, 2), bound=0.9)
    assert found == {1: "holds", 2: "turns"}
    found = verdicts_without_interaction(9.0, [3.0, 2.5, 0.1], (1, 2), bound=0.9)
    assert found == {1: "holds", 2: "undecided"}


def test_a_pair_at_its_bound_is_undecided():
    """What may be tied would be called proved."""
    # With x² = y² and r = ½ each of two points of harm 4 narrows the gap by at most 8.
    assert verdicts_without_interaction(16.0, [4.0, 4.0, 0.0], (2,), 0.5, 1.0) == {2: "undecided"}
    assert verdicts_without_interaction(16.001, [4.0, 4.0, 0.0], (2,), 0.5, 1.0) == {2: "holds"}
