"""Attribute predictions of a two-layer perceptron to its training points."""

from dataclasses import dataclass

import numpy as np
import torch
from scipy.linalg import helmert

from wtrak.geometry.covariance import add_ridge, factorise
from wtrak.geometry.leave_one_out import hessian
from wtrak.removal.mlp import hidden, outputs
from wtrak.removal.mlp_gradients import features, last_layer_size, layer_factors, output_gradients


@dataclass(frozen=True)
class Scores:
    """Scores τ = φ_tᵀQ⁻¹φ_i with Q = (1/n)Σφφᵀ + λI (equation 5).

    Attributes
    ----------
    whole, last : numpy.ndarray, shape (m, n), float32
        Scores by gradients of the whole network, and by gradients of its last layer.
    of_train, of_test : numpy.ndarray, shapes (n,) and (m,), float64
        Self-influences φᵀQ⁻¹φ by gradients of the whole network.
    """

    whole: np.ndarray
    last: np.ndarray
    of_train: np.ndarray
    of_test: np.ndarray


def blocks(n, block_size):
    """Slices of at most `block_size` rows that cover n rows."""
    return [slice(k, min(k + block_size, n)) for k in range(0, n, block_size)]


def geometric(network, train, test, kind, projection, ridge, block_size):
    """Scores τ and self-influences by gradients of one kind.

    φ is float32; Q is summed and solved in float64.

    Parameters
    ----------
    network : Networks
        A single network.
    train, test : pair of torch.Tensor
        Inputs and labels of n and m points.
    kind : {"loss", "margin"}
    projection : Projection
    ridge : float
        λ.

    Returns
    -------
    Scores
    """
    (x, y), (x_test, y_test) = train, test
    total = None
    for rows in blocks(len(x), block_size):
        phi = features(network, x[rows], y[rows], kind, projection)
        part = (phi.T @ phi).double()
        total = part if total is None else total.add_(part)
    moment = add_ridge(total.div_(len(x)), ridge)
    queries = features(network, x_test, y_test, kind, projection).double()
    factor = factorise(moment)
    # The features of the last layer come last, so its part of Q is the lower right block.
    size = last_layer_size(network)
    last_factor = factorise(moment[-size:, -size:])
    solved = torch.cholesky_solve(queries.T, factor).T
    last_solved = torch.cholesky_solve(queries[:, -size:].T, last_factor).T.float()
    of_test = (queries * solved).sum(dim=1).cpu().numpy()
    solved = solved.float()
    identity = torch.eye(len(factor), dtype=factor.dtype, device=factor.device)
    whiten = torch.linalg.solve_triangular(factor, identity, upper=False).T.float()
    whole = np.empty((len(x_test), len(x)), np.float32)
    last, of_train = np.empty_like(whole), np.empty(len(x))
    for rows in blocks(len(x), block_size):
        phi = features(network, x[rows], y[rows], kind, projection)
        whole[:, rows] = (solved @ phi.T).cpu().numpy()
        last[:, rows] = (last_solved @ phi[:, -size:].T).cpu().numpy()
        of_train[rows] = (phi @ whiten).double().square().sum(dim=1).cpu().numpy()
    return Scores(whole, last, of_train, of_test)


def dot_products(network, train, test, block_size):
    """Inner products g_t·g_i of loss gradients of the whole network, shape (m, n), float32."""
    (x, y), (x_test, y_test) = train, test
    queries = layer_factors(network, x_test, y_test, "loss")
    out = np.empty((len(x_test), len(x)), np.float32)
    for rows in blocks(len(x), block_size):
        factors = layer_factors(network, x[rows], y[rows], "loss")
        products = [(a @ b.T) * (c @ d.T) for (a, c), (b, d) in zip(queries, factors, strict=True)]
        out[:, rows] = sum(products).cpu().numpy()
    return out


def last_layer_influence(network, train, test, ridge, block_size):
    """Influences g_tᵀ(H + λI)⁻¹g_i of the last layer, shape (m, n), float32.

    H is the Hessian of the loss in the last layer's weights.
    """

    def parts(inputs, labels):
        h = hidden(network, inputs)[0]
        h = torch.cat([h, torch.ones_like(h[:, :1])], dim=1)
        z = outputs(network, inputs)[0]
        basis = torch.from_numpy(helmert(z.shape[1])).to(z)
        return h, z, output_gradients(z, labels, "loss") @ basis.T

    def gradients(h, e):
        return (e[:, :, None] * h[:, None, :]).flatten(1)

    (x, y), (x_test, y_test) = train, test
    h, z, e = parts(x, y)
    curvature = hessian(
        z.double().cpu().numpy(), h.cpu().numpy(), ridge, block_size=block_size, device=h.device
    )
    # `hessian` adds no penalty for the bias; here the ridge includes it.
    curvature.diagonal()[h.shape[1] - 1 :: h.shape[1]] += ridge
    h_test, _, e_test = parts(x_test, y_test)
    queries = gradients(h_test, e_test).double().T
    queries = torch.cholesky_solve(queries, factorise(curvature)).T.float()
    out = np.empty((len(x_test), len(x)), np.float32)
    for rows in blocks(len(x), block_size):
        out[:, rows] = (queries @ gradients(h[rows], e[rows]).T).cpu().numpy()
    return out
