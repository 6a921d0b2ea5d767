"""Quantities under one reading, against explicit φ and explicit inverses."""

import numpy as np
import pytest
import torch

from problems import gradients
from reference import covariance, explicit
from wtrak.assumptions.variations import norms_and_products, one_deletion
from wtrak.geometry.gradients import reduce_to_sum_zero
from wtrak.geometry.spectral import eigenbasis

CPU = torch.device("cpu")
RIDGES = [1e-4, 1e-1]


# 28 dimensions: more examples than dimensions, and fewer.
@pytest.mark.parametrize("n", [60, 15])
@pytest.mark.parametrize("reduced", [False, True])
@pytest.mark.parametrize("gradient", ["loss", "margin", "logit"])
def test_norms_and_products_are_those_of_explicit_inverses(n, gradient, reduced):
    """A ridge, a label or the smaller of two matrices would give other self-influence or scores."""
    train, _, _ = gradients(n=n, gradient=gradient)
    test, _, _ = gradients(n=9, gradient=gradient, seed=1)
    if reduced:
        if gradient == "logit":
            return
        train, test = reduce_to_sum_zero(train), reduce_to_sum_zero(test)
    phi, phi_t = explicit(train), explicit(test)
    basis = eigenbasis(train, block_size=7, device=CPU)
    assert (basis.gradients is not None) == (n < phi.shape[1])
    queries = basis.coordinates(test, slice(0, 4))[0]
    of_train, products = norms_and_products(basis, train, RIDGES, queries, block_size=7)
    of_test, nothing = norms_and_products(basis, test, RIDGES, queries[:0], block_size=4)
    assert nothing.shape == (2, 0, 9)
    for k, ridge in enumerate(RIDGES):
        inverse = np.linalg.inv(covariance(phi, ridge))
        for found, x in ((of_train, phi), (of_test, phi_t)):
            si = np.einsum("nd,de,ne->n", x, inverse, x)
            np.testing.assert_allclose(found.self_influence[k], si, rtol=1e-6)
            np.testing.assert_allclose(
                found.inverse[k], np.linalg.norm(x @ inverse, axis=1), rtol=1e-6
            )
            np.testing.assert_allclose(found.plain, np.linalg.norm(x, axis=1), rtol=1e-12)
        expected = phi_t[:4] @ inverse @ phi.T
        np.testing.assert_allclose(products[k], expected, rtol=1e-6, atol=1e-6)


def test_one_deletion_is_the_median_distance():
    """The unit of the sweep would not be that of every other figure."""
    train, _, _ = gradients(n=30)
    phi = explicit(train)
    basis = eigenbasis(train, block_size=8, device=CPU)
    anchors = np.arange(30)
    queries = basis.coordinates(train, slice(None))[0]
    norms, products = norms_and_products(basis, train, [0.01], queries, block_size=8)
    psi = phi @ np.linalg.cholesky(np.linalg.inv(covariance(phi, 0.01)))
    distances = np.linalg.norm(psi[:, None] - psi, axis=2).sum(axis=1) / 29
    found = one_deletion(products[0], norms.self_influence[0], anchors)
    assert found == pytest.approx(np.median(distances) / 30, rel=1e-6)
