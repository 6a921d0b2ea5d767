"""How parameters change with the data, and how well that is predicted: convex and deep (Fig. 1)."""

from itertools import pairwise

import numpy as np
import torch
from torch.func import functional_call, hessian

from wtrak.errors import WtrakError


def perturbed_weights(n, share, rng):
    """Uniform weights of n examples of which a share, at least one, is left out; they sum to 1."""
    weights = np.ones(n)
    weights[rng.choice(n, size=max(round(share * n), 1), replace=False)] = 0.0
    return weights / weights.sum()


def relative_error(predicted, actual):
    """‖predicted − actual‖ / ‖actual‖."""
    return float(np.linalg.norm(predicted - actual) / np.linalg.norm(actual))


class Network:
    """A multilayer perceptron with tanh units and one logit, fitted to weighted examples.

    Parameters
    ----------
    x : numpy.ndarray, shape (n, p)
    y : numpy.ndarray, shape (n,)
        0 or 1.
    hidden : list of int
        Units of each hidden layer.
    penalty : float
        Factor of ½‖θ‖².
    seed : int
        Of the initial weights.
    """

    def __init__(self, x, y, hidden, penalty, seed):
        self.x, self.y = torch.from_numpy(x).double(), torch.from_numpy(y).double()
        sizes = [x.shape[1], *hidden, 1]
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            layers = []
            for before, after in pairwise(sizes):
                layers += [torch.nn.Linear(before, after), torch.nn.Tanh()]
            self.model = torch.nn.Sequential(*layers[:-1]).double()
        self.penalty = penalty
        self.shapes = {name: p.shape for name, p in self.model.named_parameters()}
        self.initial = torch.cat([p.detach().flatten() for p in self.model.parameters()])

    def outputs(self, theta):
        """Logits of the examples, shape (n,), for θ as one vector."""
        parts = torch.split(theta, [shape.numel() for shape in self.shapes.values()])
        named = {
            name: part.view(shape)
            for (name, shape), part in zip(self.shapes.items(), parts, strict=True)
        }
        return functional_call(self.model, named, (self.x,))[:, 0]

    def loss(self, theta, weights):
        """Weighted cross-entropy + ½·penalty·‖θ‖²."""
        z = self.outputs(theta)
        each = torch.nn.functional.softplus(z) - self.y * z
        return weights @ each + 0.5 * self.penalty * (theta @ theta)

    def train(self, weights, start=None, *, steps=300, learning_rate=0.05, tolerance=1e-7):
        """Full-batch Adam for `steps`, then L-BFGS to a stationary point.

        Parameters
        ----------
        weights : numpy.ndarray, shape (n,)
        start : torch.Tensor, optional
            From the initial weights by default; from elsewhere without Adam.

        Returns
        -------
        torch.Tensor
            θ.

        Raises
        ------
        WtrakError
            If the gradient norm stays above `tolerance`.
        """
        weights = torch.from_numpy(weights)
        theta = (self.initial if start is None else start).clone().requires_grad_()
        if start is None:
            optimizer = torch.optim.Adam([theta], lr=learning_rate)
            for _ in range(steps):
                optimizer.zero_grad()
                self.loss(theta, weights).backward()
                optimizer.step()
        # A line search that fails at the rounding of the loss starts anew without its history.
        for _ in range(5):
            optimizer = torch.optim.LBFGS(
                [theta],
                max_iter=5000,
                max_eval=10_000,
                tolerance_grad=tolerance / 100,
                tolerance_change=0.0,
                history_size=50,
                line_search_fn="strong_wolfe",
            )

            def closure(optimizer=optimizer):
                optimizer.zero_grad()
                value = self.loss(theta, weights)
                value.backward()
                return value

            optimizer.step(closure)
            (gradient,) = torch.autograd.grad(self.loss(theta, weights), theta)
            if gradient.norm() <= tolerance:
                break
        if not gradient.norm() <= tolerance:
            raise WtrakError(
                f"the network stopped at gradient norm {float(gradient.norm()):.3g}, above "
                f"{tolerance:g}"
            )
        return theta.detach()

    def hessian_at(self, theta):
        """∇²E_P[ℓ] at θ for uniform weights; at a stationary point it need not be definite."""
        uniform = torch.full((len(self.x),), 1 / len(self.x), dtype=torch.float64)
        return hessian(lambda at: self.loss(at, uniform))(theta)

    def predicted_change(self, theta, curvature, weights):
        """−H⁻¹∇E_Q[ℓ] at θ: the first-order change of the optimum when P becomes Q.

        Parameters
        ----------
        theta : torch.Tensor
        curvature : torch.Tensor
            `hessian_at` θ.
        weights : numpy.ndarray, shape (n,)
            Q.
        """
        at = theta.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(self.loss(at, torch.from_numpy(weights)), at)
        return -torch.linalg.solve(curvature, gradient)
