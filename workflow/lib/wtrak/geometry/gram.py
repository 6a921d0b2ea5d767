"""Inner products of some whitened points with every training point."""

import numpy as np

from wtrak.geometry.scores import explicit_block, whiten


def inner_products(gradients, points, factor, *, block_size, advance=lambda k: None):
    """Inner products of whitened `points` (q, d) and all n examples, shape (q, n), float64."""
    products = np.empty((len(points), len(gradients)))
    for start in range(0, len(gradients), block_size):
        rows = slice(start, min(start + block_size, len(gradients)))
        psi = whiten(explicit_block(gradients, rows, factor.device), factor)
        products[:, rows] = (points @ psi.T).cpu().numpy()
        advance(rows.stop - rows.start)
    return products
