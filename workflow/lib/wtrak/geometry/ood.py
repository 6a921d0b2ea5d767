"""Foreign inputs, and their distance to the training data."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.ndimage import gaussian_filter
from sklearn.neighbors import NearestNeighbors

SYNTHETIC = ("blurred", "inverted", "noise")


def synthetic_images(kind, images, *, sigma, rng):
    """Images unlike the training images: blurred, inverted or noise.

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
        Penultimate activations. The distance does not depend on labels, the head or Q.
    k : int
        At most n.
    unit_length : bool
        Whether to scale every activation to length 1 first and so to compare directions. Without
        it, a large activation is far from all others even in a common direction.
    """
    if unit_length:
        train, points = (
            x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-30) for x in (train, points)
        )
    search = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(train)
    return search.kneighbors(points)[0][:, -1]


def label_free_leverage(train, points, ridge):
    """Leverage hᵀ(HᵀH/n + λI)⁻¹h of the activations, shape (N,), float64.

    It is the part of self-influence that depends on a point's position and not on its residual.

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
    """Medians of x and y in bins with equally many points, sorted by x, for a trend line.

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
