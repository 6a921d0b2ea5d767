"""Per-example gradients of a whole two-layer perceptron, with random projections.

The gradient of a layer is the outer product of two factors: the gradient of its outputs, and its
inputs. Each factor is multiplied by its own random matrix. The outer product of the projected
factors is a projection of the gradient that preserves inner products in expectation. So the
unprojected gradient is never formed.
"""

from dataclasses import dataclass

import torch

from wtrak.removal.mlp import hidden

GRADIENTS = ("loss", "margin")


@dataclass(frozen=True)
class Projection:
    """Random matrices for the first layer. The second layer is small and is not projected.

    Attributes
    ----------
    of_outputs : torch.Tensor, shape (H, a)
    of_inputs : torch.Tensor, shape (q + 1, b)
    """

    of_outputs: torch.Tensor
    of_inputs: torch.Tensor


def draw_projection(width, n_inputs, sizes, seed, device):
    """Gaussian matrices with variances 1/a and 1/b, so that inner products are unbiased.

    Parameters
    ----------
    sizes : pair of int
        a and b: the first layer's gradient becomes a·b numbers.
    """
    generator = torch.Generator().manual_seed(seed)
    shapes = ((width, sizes[0]), (n_inputs + 1, sizes[1]))
    return Projection(
        *(
            (torch.randn(shape, generator=generator) / shape[1] ** 0.5).to(device)
            for shape in shapes
        )
    )


def output_gradients(z, y, kind):
    """Derivative e of the loss, or of the margin log p_y/(1 − p_y), by the logits, shape (N, C)."""
    onehot = torch.nn.functional.one_hot(y, z.shape[1]).to(z.dtype)
    if kind == "loss":
        return torch.softmax(z, dim=1) - onehot
    if kind == "margin":
        return onehot - torch.softmax(z.masked_fill(onehot.bool(), -torch.inf), dim=1)
    raise ValueError(f"gradient is {kind!r}, expected one of {', '.join(GRADIENTS)}")


def layer_factors(network, x, y, kind):
    """Factors (outputs, inputs) of the gradient of each layer of one network.

    Returns
    -------
    list of pair of torch.Tensor
        Shapes (N, H) and (N, q + 1), then (N, C) and (N, H + 1). Inputs end with the constant 1.
    """
    h = hidden(network, x)[0]
    e = output_gradients(h @ network.w2[0] + network.b2[0], y, kind)
    below = (e @ network.w2[0].T) * (h > 0)
    one = torch.ones(len(x), 1, dtype=x.dtype, device=x.device)
    return [(below, torch.cat([x, one], dim=1)), (e, torch.cat([h, one], dim=1))]


def features(network, x, y, kind, projection):
    """Projected gradients φ, shape (N, a·b + C·(H + 1)), float32: first layer, then last layer.

    Parameters
    ----------
    network : Networks
        A single network.
    x, y : torch.Tensor, shapes (N, q) and (N,)
    kind : str
        One of `GRADIENTS`.
    projection : Projection
    """
    (below, inputs), last = layer_factors(network, x, y, kind)
    first = below @ projection.of_outputs, inputs @ projection.of_inputs
    return torch.cat([(a[:, :, None] * b[:, None, :]).flatten(1) for a, b in (first, last)], dim=1)


def last_layer_size(network):
    """Number C·(H + 1) of features of the last layer."""
    _, width, classes = network.w2.shape
    return classes * (width + 1)


def inner_product_error(network, x, y, kind, projection):
    """Root mean square error of projected inner products, over the root mean square of exact ones.

    It is measured on all pairs of the given examples, with gradients of the whole network.
    """
    exact = sum((a @ a.T) * (b @ b.T) for a, b in layer_factors(network, x, y, kind))
    phi = features(network, x, y, kind, projection)
    upper = torch.triu_indices(len(x), len(x), offset=1)
    difference = (phi @ phi.T - exact)[upper[0], upper[1]]
    return float(difference.norm() / exact[upper[0], upper[1]].norm())
