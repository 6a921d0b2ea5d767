"""Inputs far from the training data, and how far they are."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.ndimage import gaussian_filter
from sklearn.neighbors import NearestNeighbors

SYNTHETIC = ("blurred", "inverted", "noise")


def synthetic_images(kind, images, *, sigma, rng):
    """Images that are no longer of the data's kind.

    Parameters
    ----------
    kind : {"blurred", "inverted", "noise"}
        Gaussian blur, inverted brightness, or uniform noise of the same shape.
    images : numpy.ndarray, shape (N, H, W, channels), uint8
    sigma : float
        Standard deviation of the blur in pixels.
    rng : numpy.random.Generator
    """
    if kind == "blurred":
        blurred = gaussian_filter(images.astype(np.float32), (0, sigma, sigma, 0), mode="nearest")
        return np.round(blurred).astype(np.uint8)
    if kind == "inverted":
        return 255 - images
    if kind == "noise":
        return rng.integers(0, 256, size=images.shape, dtype=np.uint8)
    raise ValueError(f"kind is {kind!r}, expected one of {', '.join(SYNTHETIC)}")


def neighbour_distances(train, points, k, *, unit_length=False):
    """Euclidean distance of points to their k-th nearest training activation, shape (N,).

    Parameters
    ----------
    train, points : numpy.ndarray, shapes (n, p - 1) and (N, p - 1)
        Penultimate activations. This distance knows no label, no head and no Q.
    k : int
        At most n.
    unit_length : bool
        Whether to compare directions: every activation is scaled to length 1 first, so that large
        activations, which are far from everything, are not taken for strange ones.
    """
    if unit_length:
        train, points = (
            x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-30) for x in (train, points)
        )
    search = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(train)
    return search.kneighbors(points)[0][:, -1]


def label_free_leverage(train, points, ridge):
    """hᵀ(HᵀH/n + λI)⁻¹h: the leverage of the activations alone, shape (N,), float64.

    Self-influence without its residual: what of it is about where a point lies.

    Parameters
    ----------
    train, points : numpy.ndarray, shapes (n, p) and (N, p)
        With the constant 1 as last column.
    ridge : float
        λ.
    """
    h = train.astype(np.float64)
    moment = h.T @ h / len(h)
    moment.flat[:: len(moment) + 1] += ridge
    points = points.astype(np.float64)
    return np.einsum("np,pn->n", points, cho_solve(cho_factor(moment), points.T))


def binned_medians(x, y, bins):
    """Medians of y in bins of equally many points by x, for a trend line.

    Returns
    -------
    x_medians, y_medians : numpy.ndarray, shape (at most bins,)
    """
    parts = np.array_split(np.argsort(x, kind="stable"), bins)
    parts = [part for part in parts if len(part)]
    return (
        np.array([np.median(x[part]) for part in parts]),
        np.array([np.median(y[part]) for part in parts]),
    )
