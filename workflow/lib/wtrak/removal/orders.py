"""Orders in which arms remove training points before retraining."""

import numpy as np
from sklearn.neighbors import NearestNeighbors

from wtrak.errors import WtrakError


def rankings(trak, self_influence, losses, lipschitz, epsilon):
    """Values by which each arm ranks training points. The largest are removed first.

    Parameters
    ----------
    trak : numpy.ndarray, shape (m, n)
        τ of loss gradients: positive means that training on i lowers the loss of t.
    self_influence, losses : numpy.ndarray, shape (n,)
        Self-influence and loss of the training points.
    lipschitz : wtrak.certificates.lipschitz.Lipschitz
        Constants of the m scored test and n training points, L_ti = test_t·train_i.
    epsilon : float
        Radius at which a score counts as certified, |τ_ti| > ε·L_ti: its sign cannot change.

    Returns
    -------
    dict of str to numpy.ndarray, shape (n,)
        Named as in `catalogue.ARMS`, without the random ones.
    """
    total, magnitude = trak.sum(axis=0, dtype=np.float64), np.abs(trak)
    sure = magnitude > epsilon * lipschitz.test[:, None] * lipschitz.train
    return {
        "helpful": total,
        "harmful": -total,
        "magnitude": magnitude.sum(axis=0, dtype=np.float64),
        "certified": np.where(sure, magnitude, 0).sum(axis=0, dtype=np.float64),
        "self_influence": self_influence,
        "loss": losses,
    }


def orders(values, labels, rng):
    """Training points in the order of their removal, for every ranking and two random arms.

    Parameters
    ----------
    values : dict of str to numpy.ndarray, shape (n,)
        Output of `rankings`.
    labels : numpy.ndarray, shape (n,), integers
    rng : numpy.random.Generator
        Draws the random arms.

    Returns
    -------
    dict of str to numpy.ndarray, shape (n,)
        Rows in the order of their removal.
    """
    out = {name: np.argsort(-ranking, kind="stable") for name, ranking in values.items()}
    shuffled = rng.permutation(len(labels))
    # Sorting by place within the class removes the same share of every class.
    place = np.empty(len(labels))
    for label in np.unique(labels):
        members = shuffled[labels[shuffled] == label]
        place[members] = (np.arange(len(members)) + 0.5) / len(members)
    return out | {"random": shuffled, "balanced": np.argsort(place, kind="stable")}


def kept(order, share):
    """Sorted rows that stay if the first `share` of an order is removed.

    Raises
    ------
    WtrakError
        If no row stays.
    """
    count = round(share * len(order))
    if count >= len(order):
        raise WtrakError(f"removing {share:g} of {len(order)} examples leaves none")
    return np.sort(order[count:])


def neighbour_agreement(activations, labels, k):
    """Share of the k nearest other training points with the same label, shape (n,)."""
    search = NearestNeighbors(n_neighbors=k + 1, algorithm="brute").fit(activations)
    found = search.kneighbors(activations, return_distance=False)
    # Without duplicates each point is its own nearest neighbour. One neighbour is always dropped.
    own = found == np.arange(len(labels))[:, None]
    own[~own.any(axis=1), -1] = True
    others = found[~own].reshape(len(labels), k)
    return (labels[others] == labels[:, None]).mean(axis=1)
