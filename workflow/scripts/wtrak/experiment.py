"""One experiment: its training subset, and its gradients from the files that its rules wrote."""

import numpy as np

from wtrak.errors import WtrakError
from wtrak.gradients import assemble, reduce_to_sum_zero
from wtrak.io import load_arrays, load_metadata


def load_gradients(activations, residuals, factor):
    """Training and test gradients, in the basis that the covariance was factorised in.

    Parameters
    ----------
    activations, residuals, factor : path
        Outputs of the rules activations, residuals and covariance.

    Returns
    -------
    dict of str to Gradients
        For ``train`` and ``test``.
    """
    arrays = load_arrays(residuals)
    features = load_arrays(activations, ["train", "test"])
    reduced = load_metadata(factor)["sum_zero"]
    out = {}
    for split in ("train", "test"):
        g = assemble(features[split], arrays[f"{split}_residuals"], arrays[f"{split}_index"])
        out[split] = reduce_to_sum_zero(g) if reduced else g
    return out


def training_subset(n_dataset, n_train, seed):
    """Sorted rows of a uniform random subset of the training set; all rows when n_train is all.

    Raises
    ------
    WtrakError
        If more examples are asked for than there are.
    """
    if n_train > n_dataset:
        raise WtrakError(f"n_train is {n_train:,}, but the dataset has {n_dataset:,} examples")
    if n_train == n_dataset:
        return np.arange(n_dataset)
    rows = np.random.default_rng(seed).choice(n_dataset, size=n_train, replace=False)
    return np.sort(rows)
