"""The radius of every certificate, against its formula written out for one pair."""

import numpy as np
import pytest

from problems import Problem
from wtrak.certificates.catalogue import of_metric
from wtrak.certificates.radii import Pairs, radii


def pairs_of(p, i, j, paper):
    """Pairs of a problem in its whitened space, with constants in the paper's place."""
    tau, norms = p.psi @ p.a, np.linalg.norm(p.psi, axis=1)
    return Pairs(
        gaps=tau[i] - tau[j],
        inner=(tau[i], tau[j]),
        norms=(norms[i], norms[j]),
        paper=(paper[i], paper[j]),
        differences=np.linalg.norm(p.psi[i] - p.psi[j], axis=-1),
        norm_test=float(np.linalg.norm(p.a)),
        radius=float(p.radius),
    )


@pytest.mark.parametrize("metric", ["euclidean", "natural"])
def test_radii_are_those_of_the_formulas(metric):
    """A norm, a product or a constant would be that of another point, or the order turned."""
    p = Problem(4)
    i, j = np.array([0, 3, 7, 7]), np.array([5, 1, 2, 7])
    paper = np.arange(1.0, p.n + 1)
    found = radii(metric, pairs_of(p, i, j, paper))
    assert set(found) == set(of_metric(metric))
    a, norm = p.a, np.linalg.norm(p.a)
    for k in range(3):
        first, second = p.psi[i[k]], p.psi[j[k]]
        gap = abs(a @ (first - second))
        tight = [p.radius * (norm * np.linalg.norm(b) + abs(a @ b)) for b in (first, second)]
        direct = p.radius * (norm * np.linalg.norm(first - second) + gap)
        assert found["paper"][k] == pytest.approx(gap / (paper[i[k]] + paper[j[k]]), rel=1e-12)
        assert found["tight"][k] == pytest.approx(gap / sum(tight), rel=1e-12)
        assert found["direct"][k] == pytest.approx(gap / direct, rel=1e-12)
        assert found["tight"][k] < found["direct"][k]
    # A point with itself has no order.
    assert all(values[3] == 0 for values in found.values())
