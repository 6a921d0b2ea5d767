"""Training subset and gradients of one experiment, from files that rules wrote."""

import numpy as np
import torch

from wtrak.errors import WtrakError
from wtrak.geometry.gradients import (
    append_constant,
    assemble,
    reduce_to_sum_zero,
    residuals,
    sums_to_zero,
)
from wtrak.geometry.head import logits
from wtrak.job.io import load_arrays, load_metadata


def load_gradients(activations, residuals, factor):
    """Training and test gradients in the basis in which the covariance was factorised.

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


def load_factor(path, device):
    """Lower Cholesky factor L of Q = LLᵀ from the rule covariance, float64, on `device`."""
    return torch.from_numpy(load_arrays(path, ["factor"])["factor"]).to(device)


def load_geometry(activations, residuals, factor, device):
    """The factor of Q on `device`, and the training and test gradients in its basis.

    Parameters
    ----------
    activations, residuals, factor : path
        Outputs of the rules activations, residuals and covariance.
    """
    gradients = load_gradients(activations, residuals, factor)
    return load_factor(factor, device), gradients["train"], gradients["test"]


def training_subset(n_dataset, n_train, seed, kept=None):
    """Sorted rows of a uniform random subset of the training set.

    Parameters
    ----------
    n_train : int or "all"
        Size of the subset, or "all" for every row.
    kept : numpy.ndarray, shape (n_dataset,), bool, optional
        Which rows may be used; all by default.

    Raises
    ------
    WtrakError
        If `n_train` is larger than the number of rows that may be used.
    """
    if kept is not None and not kept.all():
        rows = np.flatnonzero(kept)
        return rows[training_subset(len(rows), n_train, seed)]
    if n_train == "all":
        n_train = n_dataset
    if n_train > n_dataset:
        raise WtrakError(f"n_train is {n_train:,}, but the dataset has {n_dataset:,} examples")
    if n_train == n_dataset:
        return np.arange(n_dataset)
    rows = np.random.default_rng(seed).choice(n_dataset, size=n_train, replace=False)
    return np.sort(rows)


def residuals_of(features, index, labels, weight, gradient, test_label="true_label"):
    """Residuals of the examples `index` of a split, and the labels used for them.

    Parameters
    ----------
    features : numpy.ndarray, shape (split size, p - 1)
    index : numpy.ndarray, shape (N,)
    labels : numpy.ndarray, shape (split size,)
    weight : numpy.ndarray, shape (C, p)
        The head.
    gradient : {"loss", "margin", "logit"}
    test_label : {"true_label", "predicted"}
        Whether to use the true labels or the head's predictions.

    Returns
    -------
    residuals : numpy.ndarray, shape (N, C), float64
    labels : numpy.ndarray, shape (N,), int64
    """
    z = logits(weight, append_constant(features[index]))
    label = z.argmax(axis=1) if test_label == "predicted" else labels[index].astype(np.int64)
    return residuals(z, label, gradient), label


def load_head_gradients(dataset, activations, head, gradient, test_label):
    """Gradients as from `load_gradients`, but computed from a head instead of stored residuals.

    Parameters
    ----------
    dataset, activations, head : path
        Outputs of the rules with these names.
    gradient, test_label : str
        As in `residuals_of`.
    """
    features = load_arrays(activations, ["train", "test"])
    labels = load_arrays(dataset, ["train_labels", "test_labels"])
    head = load_arrays(head)
    rows = {"train": head["train_index"], "test": np.arange(len(features["test"]))}
    out = {}
    for split, index in rows.items():
        e, _ = residuals_of(
            features[split],
            index,
            labels[f"{split}_labels"],
            head["weight"],
            gradient,
            test_label if split == "test" else "true_label",
        )
        g = assemble(features[split], e, index)
        out[split] = reduce_to_sum_zero(g) if sums_to_zero(gradient) else g
    return out
