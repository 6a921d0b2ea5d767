"""Inner products and eigenvalues by factors, against explicit φ."""

import numpy as np
import torch

from problems import gradients
from reference import explicit
from wtrak.geometry.spectral import eigenbasis, gram_block

CPU = torch.device("cpu")


def test_gram_block_is_that_of_explicit_gradients():
    """The factors would be multiplied in the wrong pairs."""
    a, b = gradients(n=8)[0], gradients(n=5, seed=2)[0]
    np.testing.assert_allclose(
        gram_block(a, b), explicit(a) @ explicit(b).T, rtol=1e-12, atol=1e-12
    )


def test_eigenvalues_are_those_of_the_second_moment():
    """The condition number of the sweep would be another than that of the covariance."""
    for n in (60, 15):
        train, _, _ = gradients(n=n)
        expected = np.linalg.eigvalsh(explicit(train).T @ explicit(train) / n)[::-1]
        found = eigenbasis(train, block_size=8, device=CPU).eigenvalues.numpy()
        np.testing.assert_allclose(found, expected[: len(found)], rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(expected[len(found) :], 0, atol=1e-12)
