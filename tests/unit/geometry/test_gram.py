"""Inner products in the natural metric, against explicit gradients and an explicit inverse."""

import numpy as np
import pytest
import torch

from problems import gradients
from reference import covariance, explicit
from wtrak.geometry.covariance import factorise
from wtrak.geometry.gram import inner_products
from wtrak.geometry.scores import whitened


@pytest.mark.parametrize("block_size", [1, 7, 23, 100])
def test_products_are_those_of_an_explicit_inverse(block_size):
    """Cross-leverages would be of other points, or of the Euclidean metric."""
    train, _, _ = gradients(n=23)
    queries, _, _ = gradients(n=5, seed=1)
    phi = explicit(train)
    q = covariance(phi, 0.1)
    factor = factorise(torch.from_numpy(q))
    points = whitened(queries, factor, block_size=2)
    advanced = []
    found = inner_products(train, points, factor, block_size=block_size, advance=advanced.append)
    expected = explicit(queries) @ np.linalg.solve(q, phi.T)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    assert found.shape == (5, 23) and found.dtype == np.float64
    # What is reported as done is every point once.
    assert sum(advanced) == 23 and max(advanced) <= block_size
