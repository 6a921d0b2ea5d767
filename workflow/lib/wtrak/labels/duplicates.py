"""Examples that are copies of one another, exactly or nearly, by their activations."""

import hashlib
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import torch
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components


@dataclass(frozen=True)
class Copies:
    """Groups of copies among n examples.

    Attributes
    ----------
    groups : numpy.ndarray, shape (n,), int64
        Number of the group of each example, from 0 without gaps. Most have one member.
    sizes : numpy.ndarray, shape (n,), int64
        Members of the group of each example, itself among them.
    """

    groups: np.ndarray
    sizes: np.ndarray

    @classmethod
    def of(cls, groups):
        """Copies from the numbers of their groups, shape (n,), integers from 0 without gaps."""
        return cls(groups, np.bincount(groups)[groups])

    def conflicts(self, labels):
        """Whether the group of each example has more than one label, shape (n,), bool.

        Parameters
        ----------
        labels : numpy.ndarray, shape (n,), integers
        """
        count = self.groups.max() + 1
        low, high = np.full(count, np.iinfo(np.int64).max), np.full(count, -1)
        np.minimum.at(low, self.groups, labels)
        np.maximum.at(high, self.groups, labels)
        return (low != high)[self.groups]


def exact_copies(features):
    """Number of the group of exact copies that each row belongs to, shape (n,), from 0.

    Parameters
    ----------
    features : numpy.ndarray, shape (n, p), finite numbers
        Memory is O(n·p).
    """
    # Adding 0 turns −0 into 0, which is equal but has other bytes.
    rows = np.ascontiguousarray(features + 0.0)
    whole = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    return np.unique(whole, return_inverse=True)[1]


def same_content(index, groups, contents):
    """Whether each example is equal to another one of its group, shape (n,), bool.

    Parameters
    ----------
    index : numpy.ndarray, shape (n,)
        Row of each example in its dataset.
    groups : numpy.ndarray, shape (n,), integers
        Group of each example.
    contents : callable
        Takes rows of the dataset, shape (m,), and returns an iterable of one array for each. It is
        asked for examples with copies only.
    """
    out = np.zeros(len(index), bool)
    members = defaultdict(list)
    copied = np.flatnonzero(np.bincount(groups)[groups] > 1)
    for k, content in zip(copied, contents(index[copied]), strict=True):
        members[groups[k], hashlib.sha256(content.tobytes()).digest()].append(k)
    for rows in members.values():
        out[rows] = len(rows) > 1
    return out


def find_copies(features, cosine, *, block_size, device):
    """Groups of examples that a chain of near copies connects.

    Two examples are near copies if their activations, less the mean over all examples, enclose an
    angle of at least this cosine. Without the mean, which all share, everything would look alike.

    Parameters
    ----------
    features : numpy.ndarray, shape (n, p), finite numbers
        Without the constant of the bias.
    cosine : float
        Above 0 and at most 1; with 1, copies are exact up to the rounding of float32.
    block_size : int
        Rows at a time; memory is O(n·(p + block_size)) in float32. Time is O(n²·p).
    device : torch.device

    Returns
    -------
    Copies
    """
    n = len(features)
    points = torch.from_numpy(np.asarray(features, dtype=np.float32)).to(device)
    points = points - points.mean(dim=0)
    norms = points.norm(dim=1, keepdim=True)
    # The mean itself has no direction: such examples are copies of one another.
    at_mean = norms[:, 0] <= 1e-6 * norms.max()
    points = torch.where(at_mean[:, None], 0.0, points / norms.clamp_min(1e-30))
    # A cosine of equal rows may be rounded below 1.
    threshold = min(cosine, 1 - 4e-7)
    firsts, seconds = [], []
    for start in range(0, n, block_size):
        rows = slice(start, min(start + block_size, n))
        near = points[rows] @ points[start:].T >= threshold
        near |= at_mean[rows, None] & at_mean[None, start:]
        first, second = (index.cpu().numpy() + start for index in near.nonzero(as_tuple=True))
        firsts.append(first[second > first])
        seconds.append(second[second > first])
    first, second = np.concatenate(firsts), np.concatenate(seconds)
    graph = coo_matrix((np.ones(len(first), bool), (first, second)), shape=(n, n))
    _, groups = connected_components(graph, directed=False)
    return Copies.of(groups.astype(np.int64))
