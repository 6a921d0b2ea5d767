"""Small random problems that several tests share."""

import numpy as np

from wtrak.gradients import Gradients, residuals


def gradients(n=60, n_classes=4, p=7, gradient="loss", seed=0):
    """Gradients of a random head on random activations, and their logits and labels."""
    rng = np.random.default_rng(seed)
    h = rng.standard_normal((n, p)).astype(np.float32)
    h[:, -1] = 1.0
    z = 2 * rng.standard_normal((n, n_classes))
    y = rng.integers(n_classes, size=n)
    index = rng.permutation(10 * n)[:n]
    return Gradients(residuals(z, y, gradient), h, index), z, y
