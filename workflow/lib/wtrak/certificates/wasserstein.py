"""The unit "one deletion": how far removing one training point moves P_n in W₁.

Removing point k spreads its mass 1/n evenly over the others; no other mass need move, and for a
metric cost none does. So W₁(P_n, P_{n,−k}) = (1/n)·mean_{j≠k} d(z_k, z_j), exactly.
"""

import numpy as np


def euclidean_mean_distances(gradients, rows, *, block_size):
    """Mean Euclidean distance ‖φ_k − φ_j‖ from each of `rows` to all n examples, shape (K,).

    Inner products are those of the factors: φ_k·φ_j = (e_k·e_j)(h_k·h_j).
    """
    norms = gradients.squared_norms()
    anchors = gradients.take(rows)
    h_anchors = anchors.activations.astype(np.float64)
    sums = np.zeros(len(rows))
    for start in range(0, len(gradients), block_size):
        block = slice(start, start + block_size)
        inner = anchors.residuals @ gradients.residuals[block].T
        inner *= h_anchors @ gradients.activations[block].astype(np.float64).T
        squared = norms[rows][:, None] + norms[block][None, :] - 2 * inner
        sums += np.sqrt(np.maximum(squared, 0.0)).sum(axis=1)
    return sums / len(gradients)


def natural_mean_distances(products, self_influence, rows):
    """Mean natural distance ‖ψ_k − ψ_j‖ (definition 5.1) from each of `rows` to all n examples.

    Parameters
    ----------
    products : numpy.ndarray, shape (K, n)
        ψ_k·ψ_j.
    self_influence : numpy.ndarray, shape (n,)
        ‖ψ_j‖².
    rows : numpy.ndarray, shape (K,)

    Returns
    -------
    numpy.ndarray, shape (K,)
    """
    squared = self_influence[rows][:, None] + self_influence - 2 * products
    return np.sqrt(np.maximum(squared, 0.0)).mean(axis=1)


def deletion_distances(mean_distances, n):
    """W₁ between P_n and P_n without each anchor point, from its mean distance to all n points.

    The mean over all points counts the zero distance to itself; n/(n − 1) removes it.
    """
    return mean_distances * (n / (n - 1)) / n


def median_with_interval(values, confidence=0.95):
    """Median and its distribution-free interval from order statistics.

    Returns
    -------
    (median, low, high) : tuple of float
    """
    from scipy.stats import binom

    ordered = np.sort(values)
    count = len(ordered)
    below = int(binom.ppf((1 - confidence) / 2, count, 0.5))
    low, high = max(below - 1, 0), min(count - below, count - 1)
    return float(np.median(ordered)), float(ordered[low]), float(ordered[high])
