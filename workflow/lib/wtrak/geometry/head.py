"""The last layer: multinomial logistic regression on frozen activations."""

import numpy as np
import pandas as pd
import torch
from scipy.optimize import minimize
from scipy.sparse.linalg import LinearOperator, cg

from wtrak.errors import WtrakError
from wtrak.job.runtime import say


def logits(weight, activations):
    """z = h Wᵀ in float64, shape (N, C), for weights (C, p) with the bias as last column."""
    return activations.astype(np.float64) @ weight.T


def evaluate(weight, activations, labels):
    """Mean cross-entropy and accuracy of a head, as ``{"loss": …, "accuracy": …}``."""
    z = logits(weight, activations)
    log_normaliser = np.logaddexp.reduce(z, axis=1)
    loss = float(np.mean(log_normaliser - z[np.arange(len(z)), labels]))
    return {"loss": loss, "accuracy": float(np.mean(z.argmax(axis=1) == labels))}


def check_labels(labels, n_classes, what):
    """Raise a `WtrakError` for labels outside 0…C-1, or labels of a single class."""
    if labels.min() < 0 or labels.max() >= n_classes:
        raise WtrakError(
            f"{what}: labels run from {labels.min()} to {labels.max()}, expected 0 to "
            f"{n_classes - 1}"
        )
    if len(np.unique(labels)) < 2:
        raise WtrakError(f"{what}: all {len(labels):,} labels are {labels[0]}; need two classes")


def train_head(
    activations,
    labels,
    n_classes,
    recipe,
    device,
    evaluation=None,
    initial=None,
    visit=None,
    report=say,
):
    """Fit the last layer by a recipe of the configuration.

    Parameters
    ----------
    activations : numpy.ndarray, shape (n, p), float32 or float64
        With the constant 1 as last column. The minibatch optimizers take float32.
    labels : numpy.ndarray, shape (n,), integers from 0 to C - 1
    recipe : dict
        ``optimizer`` and its settings: see ``heads`` in config.yaml.
    device : torch.device
    evaluation : dict of str to (activations, labels), optional
        Sets whose loss and accuracy are recorded in the curve.
    initial : numpy.ndarray, shape (C, p), optional
        Start of ``lbfgs``. From the optimum of nearly the same data it needs only a few steps, and
        reaches the same optimum as from zero. The other optimizers always start from zero.
    visit : callable, optional
        Called with each step of the curve and the weights after it, step 0 being the start.
    report : callable
        Called with lines of text about the progress.

    Returns
    -------
    weight : numpy.ndarray, shape (C, p), float64
        The bias is the last column.
    curve : pandas.DataFrame
        Columns step (epoch or iteration), set, loss, accuracy.
    record : dict
        Numbers of iterations or epochs, and the final gradient norm of ``lbfgs``.

    Raises
    ------
    WtrakError
        If labels are out of range, an activation is not finite, training diverges, or L-BFGS misses
        its gradient norm or cannot start, as the features' scales are too far apart.
    """
    check_labels(labels, n_classes, "training labels")
    bad = np.flatnonzero(~np.isfinite(activations).all(axis=1))
    if bad.size:
        raise WtrakError(
            f"the activations of {bad.size} training examples are not finite; the first is row "
            f"{bad[0]}"
        )
    rows = []

    def follow(step, weight):
        for name, (h, y) in (evaluation or {}).items():
            rows.append({"step": step, "set": name} | evaluate(weight, h, y))
        if visit:
            visit(step, weight)

    fit = _fit_lbfgs if recipe["optimizer"] == "lbfgs" else _fit_minibatch
    weight, record = fit(activations, labels, n_classes, recipe, device, follow, initial, report)
    if not np.isfinite(weight).all():
        raise WtrakError(f"the head diverged under {recipe['optimizer']}; lower its learning_rate")
    return weight, pd.DataFrame(rows), record


def _fit_lbfgs(activations, labels, n_classes, recipe, device, follow, initial, report):
    """Minimise mean cross-entropy + ½·weight_decay·‖W‖² (bias free) to a gradient norm.

    Works in coordinates V = W·L with LLᵀ = HᵀH/n + weight_decay·I, in which the identity bounds the
    Hessian from above. For correlated activations this needs ten times fewer iterations. If L-BFGS
    stalls because of rounding of the loss, a few Newton steps follow.
    """
    n, p = activations.shape
    decay, tolerance = recipe["weight_decay"], recipe["gradient_norm"]
    h = torch.from_numpy(activations).to(device, torch.float64)
    y = torch.from_numpy(labels.astype(np.int64)).to(device)
    factor, info = torch.linalg.cholesky_ex(
        h.T @ h / n + decay * torch.eye(p, device=device, dtype=torch.float64)
    )
    if int(info) > 0 or not torch.isfinite(factor).all():
        raise WtrakError(
            f"the second moment of the activations plus weight_decay {decay:g} is not positive "
            "definite in float64: the scales of the features are too far apart, or too large; "
            "bring them to a common scale, or raise weight_decay"
        )
    whitened = torch.linalg.solve_triangular(factor.T, h, upper=True, left=False)
    del h
    # A transposed copy. The products below are limited by memory access, and each is twice as fast
    # along rows.
    across = whitened.T.contiguous()
    penalty = torch.full((p,), decay, dtype=torch.float64, device=device)
    penalty[-1] = 0.0
    minus_one = torch.full((n, 1), -1.0, dtype=torch.float64, device=device)
    state = {"iteration": 0}

    def weight_of(flat):
        v = torch.from_numpy(flat).to(device).view(n_classes, p)
        return v, torch.linalg.solve_triangular(factor, v, upper=False, left=False)

    def objective(flat):
        v, w = weight_of(flat)
        log_probabilities = torch.log_softmax(whitened @ v.T, dim=1)
        loss = -log_probabilities.gather(1, y[:, None]).mean() + 0.5 * (penalty * w * w).sum()
        e = log_probabilities.exp_()
        e.scatter_add_(1, y[:, None], minus_one)
        gradient = (across @ e).T / n
        gradient += torch.linalg.solve_triangular(factor.T, penalty * w, upper=True, left=False)
        state["norm"] = float((gradient @ factor.T).norm())
        return float(loss), gradient.cpu().numpy().ravel()

    def callback(intermediate_result):
        state["iteration"] += 1
        k = state["iteration"]
        if k & (k - 1) == 0 or k % 100 == 0:
            follow(k, weight_of(intermediate_result.x)[1].cpu().numpy())
            report(f"iteration {k}: gradient norm {state['norm']:.3g}")
        if state["norm"] <= tolerance:
            raise StopIteration

    start = np.zeros((n_classes, p)) if initial is None else initial
    follow(0, start)
    start = (torch.from_numpy(start).to(device) @ factor).cpu().numpy().ravel()
    options = {"maxiter": recipe["max_iterations"], "maxfun": 4 * recipe["max_iterations"]}
    options |= {"maxcor": 50, "ftol": 0.0, "gtol": 0.0}
    result = minimize(
        objective, start, jac=True, method="L-BFGS-B", callback=callback, options=options
    )
    flat, steps = result.x, 0
    _, gradient = objective(flat)

    def hessian_times(direction):
        u, w = weight_of(direction)
        dz = whitened @ u.T
        de = probabilities * (dz - (probabilities * dz).sum(dim=1, keepdim=True))
        shrink = torch.linalg.solve_triangular(factor.T, penalty * w, upper=True, left=False)
        return ((across @ de).T / n + shrink).cpu().numpy().ravel()

    # L-BFGS compares losses. Below a gradient norm of about 1e-8 their rounding hides progress.
    # Newton steps do not use the loss.
    while state["norm"] > tolerance and steps < 10 and state["norm"] < 1e-3:
        probabilities = torch.softmax(whitened @ weight_of(flat)[0].T, dim=1)
        hessian = LinearOperator((flat.size, flat.size), matvec=hessian_times, dtype=np.float64)
        step, _ = cg(hessian, gradient, rtol=1e-4, maxiter=1000)
        before, candidate = state["norm"], flat - step
        _, gradient = objective(candidate)
        if state["norm"] >= before:
            _, gradient = objective(flat)
            break
        flat, steps = candidate, steps + 1
        report(f"Newton step {steps}: gradient norm {state['norm']:.3g}")
    weight = weight_of(flat)[1].cpu().numpy()
    follow(state["iteration"] + steps, weight)
    record = {
        "iterations": state["iteration"],
        "newton_steps": steps,
        "gradient_norm": state["norm"],
    }
    if state["norm"] > tolerance:
        raise WtrakError(
            f"L-BFGS stopped at gradient norm {state['norm']:.3g} after {state['iteration']} "
            f"iterations, above the recipe's gradient_norm {tolerance:g} ({result.message}); "
            "raise max_iterations, gradient_norm or weight_decay"
        )
    return weight, record


def _fit_minibatch(activations, labels, n_classes, recipe, device, follow, _initial, report):
    """Adam or SGD from zero weights, the order of examples drawn from the recipe's seed."""
    n, p = activations.shape
    h = torch.from_numpy(activations).to(device)
    y = torch.from_numpy(labels.astype(np.int64)).to(device)
    weight = torch.zeros(n_classes, p - 1, device=device, requires_grad=True)
    bias = torch.zeros(n_classes, device=device, requires_grad=True)
    groups = [
        {"params": [weight], "weight_decay": recipe["weight_decay"]},
        {"params": [bias], "weight_decay": 0.0},
    ]
    if recipe["optimizer"] == "adam":
        optimizer = torch.optim.Adam(groups, lr=recipe["learning_rate"])
    else:
        optimizer = torch.optim.SGD(groups, lr=recipe["learning_rate"], momentum=recipe["momentum"])
    generator = torch.Generator().manual_seed(recipe["seed"])

    def joined():
        both = torch.cat([weight, bias[:, None]], dim=1)
        return both.detach().cpu().double().numpy()

    follow(0, joined())
    for epoch in range(1, recipe["epochs"] + 1):
        order = torch.randperm(n, generator=generator).to(device)
        for batch in order.split(recipe["batch_size"]):
            optimizer.zero_grad()
            z = torch.nn.functional.linear(h[batch, :-1], weight, bias)
            torch.nn.functional.cross_entropy(z, y[batch]).backward()
            optimizer.step()
        follow(epoch, joined())
        report(f"epoch {epoch} of {recipe['epochs']}")
    return joined(), {"epochs": recipe["epochs"]}
