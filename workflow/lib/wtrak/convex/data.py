"""Real data for convex models, as standardised features with a constant."""

import numpy as np
from sklearn import datasets

from wtrak.errors import WtrakError

# Tables that scikit-learn ships.
TABLES = {
    "breast_cancer": datasets.load_breast_cancer,
    "wine": datasets.load_wine,
    "diabetes": datasets.load_diabetes,
}


def table(name):
    """Features (N, q) and labels or responses (N,) of one of `TABLES`."""
    loaded = TABLES[name]()
    return loaded.data.astype(np.float64), loaded.target.astype(np.float64)


def two_classes(images, labels, classes, pool):
    """Images of two classes as averages over pool×pool pixels, and labels 0 and 1.

    Parameters
    ----------
    images : numpy.ndarray, shape (N, H, W, 1), uint8
    labels : numpy.ndarray, shape (N,)
    classes : pair of int
    pool : int
        Divides H and W.

    Returns
    -------
    numpy.ndarray, shape (M, H·W / pool²), and numpy.ndarray, shape (M,)
    """
    chosen = np.isin(labels, classes)
    pixels = images[chosen].mean(axis=3)
    n, height, width = pixels.shape
    if height % pool or width % pool:
        raise WtrakError(f"pool is {pool}, which does not divide images of {height}×{width}")
    blocks = pixels.reshape(n, height // pool, pool, width // pool, pool).mean(axis=(2, 4))
    return blocks.reshape(n, -1), (labels[chosen] == classes[1]).astype(np.float64)


def standardised(x, y, kind):
    """Features of mean 0 and variance 1 with the constant 1 last; constant ones are left out.

    The response of ridge regression becomes one of mean 0 and variance 1 too.
    """
    spread = x.std(axis=0)
    varying = spread > 1e-12 * max(np.abs(x).max(initial=0), 1)
    scaled = (x[:, varying] - x[:, varying].mean(axis=0)) / spread[varying]
    if kind == "ridge":
        y = (y - y.mean()) / y.std()
    return np.column_stack([scaled, np.ones(len(x))]), y


def sample(x, y, n_train, n_test, rng):
    """Rows of a training and a test sample, without overlap.

    Raises
    ------
    WtrakError
        If there are too few examples.
    """
    if n_train + n_test > len(x):
        raise WtrakError(f"{n_train} + {n_test} examples are asked for, and there are {len(x)}")
    rows = rng.permutation(len(x))
    return rows[:n_train], rows[n_train : n_train + n_test]
