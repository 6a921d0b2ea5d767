"""What is removed, counted by hand where points tie."""

import numpy as np

from wtrak.certificates.lipschitz import Lipschitz
from wtrak.removal.orders import neighbour_agreement, orders, rankings


def test_a_score_at_its_radius_is_not_certified():
    """|τ| = ε·L: a distribution of that distance may turn the sign."""
    trak = np.array([[1.0, -1.0, 1.5]], np.float32)
    lipschitz = Lipschitz(np.array([2.0]), np.array([1.0, 1.0, 1.0]))
    found = rankings(trak, np.zeros(3), np.zeros(3), lipschitz, 0.5)
    np.testing.assert_array_equal(found["certified"], [0, 0, 1.5])


def test_balanced_removal_rounds_the_share_of_every_class():
    """Small classes would be removed first, or last."""
    sizes = np.array([7, 20, 73])
    labels = np.random.default_rng(1).permutation(np.repeat([0, 1, 2], sizes))
    order = orders({}, labels, np.random.default_rng(0))["balanced"]
    for share in np.linspace(0.0123, 0.98, 40):
        rounded = np.floor(share * sizes + 0.5).astype(int)
        removed = np.bincount(labels[order[: rounded.sum()]], minlength=3)
        np.testing.assert_array_equal(removed, rounded)


def test_agreement_among_more_duplicates_than_neighbours():
    """A point that is not among its own nearest would be compared with one too many."""
    x = np.concatenate([np.zeros((6, 2)), np.full((3, 2), 9.0)])
    labels = np.array([0, 0, 0, 0, 0, 0, 1, 1, 2])
    np.testing.assert_allclose(neighbour_agreement(x, labels, 2), [1] * 6 + [0.5, 0.5, 0])
