"""Fine-tuning of the last layer."""

import numpy as np
import pytest
import torch

from wtrak.errors import WtrakError
from wtrak.geometry.gradients import append_constant
from wtrak.geometry.head import evaluate, logits, train_head

CPU = torch.device("cpu")
LBFGS = {
    "optimizer": "lbfgs",
    "weight_decay": 1e-2,
    "gradient_norm": 1e-9,
    "max_iterations": 500,
}
ADAM = {
    "optimizer": "adam",
    "epochs": 5,
    "learning_rate": 1e-2,
    "batch_size": 33,
    "weight_decay": 0.0,
    "seed": 0,
}
SGD = ADAM | {"optimizer": "sgd", "learning_rate": 1e-5, "momentum": 0.9}


@pytest.fixture(scope="module")
def problem():
    """Three Gaussian classes with strongly correlated features: 200 examples."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=200)
    centres = rng.standard_normal((3, 8))
    mix = rng.standard_normal((8, 8)) * np.logspace(0, 1.5, 8)
    x = (centres[y] + rng.standard_normal((200, 8))) @ mix
    return append_constant(x), y


def objective_gradient(weight, h, y, decay):
    """Gradient of mean cross-entropy + ½·decay·‖W‖² (bias free), by autograd."""
    w = torch.from_numpy(weight).requires_grad_()
    z = torch.from_numpy(h).double() @ w.T
    loss = torch.nn.functional.cross_entropy(z, torch.from_numpy(y))
    loss = loss + 0.5 * decay * (w[:, :-1] ** 2).sum()
    return torch.autograd.grad(loss, w)[0].numpy()


def test_lbfgs_reaches_its_gradient_norm(problem):
    """The "optimum" would not be one, in the coordinates of the weights."""
    weight, _, record = train_head(*problem, 3, LBFGS, CPU)
    gradient = objective_gradient(weight, *problem, LBFGS["weight_decay"])
    assert np.linalg.norm(gradient) <= 1.01e-9
    assert record["gradient_norm"] == pytest.approx(np.linalg.norm(gradient), abs=1e-12)


def test_lbfgs_agrees_with_scikit_learn(problem):
    """The optimum would be that of another objective, for example with a penalised bias."""
    from sklearn.linear_model import LogisticRegression

    h, y = problem
    weight, _, _ = train_head(h, y, 3, LBFGS, CPU)
    other = LogisticRegression(C=1 / (len(y) * LBFGS["weight_decay"]), tol=1e-10, max_iter=20000)
    other.fit(h[:, :-1].astype(np.float64), y)
    np.testing.assert_allclose(weight[:, :-1], other.coef_, atol=1e-4)


def test_warm_start_ends_at_the_same_optimum_sooner(problem):
    """A refit after a deletion would be another head than one trained from zero, or as slow."""
    h, y = problem
    full, _, _ = train_head(h, y, 3, LBFGS, CPU)
    cold, _, from_zero = train_head(h[5:], y[5:], 3, LBFGS, CPU)
    warm, curve, from_there = train_head(
        h[5:], y[5:], 3, LBFGS, CPU, {"train": (h[5:], y[5:])}, initial=full
    )
    np.testing.assert_allclose(warm, cold, atol=1e-6)
    assert np.abs(warm - full).max() > 1e-4
    assert from_there["iterations"] < from_zero["iterations"]
    assert curve["loss"].iloc[0] == pytest.approx(evaluate(full, h[5:], y[5:])["loss"])


def test_lbfgs_that_misses_its_goal_is_an_error(problem):
    """An unfinished fit would pass for the optimum."""
    with pytest.raises(WtrakError, match=r"gradient norm .* after 3 iterations.*max_iterations"):
        train_head(*problem, 3, LBFGS | {"max_iterations": 3}, CPU)


@pytest.mark.parametrize("recipe", [ADAM, SGD], ids=["adam", "sgd"])
def test_minibatch_recipes_follow_their_seed(problem, recipe):
    """The same seed would give another head, or another seed the same."""
    first, curve, _ = train_head(*problem, 3, recipe, CPU, {"train": problem})
    again, _, _ = train_head(*problem, 3, recipe, CPU)
    other, _, _ = train_head(*problem, 3, recipe | {"seed": 1}, CPU)
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 1e-6
    assert list(curve["step"]) == list(range(recipe["epochs"] + 1))
    assert curve["loss"].iloc[-1] < curve["loss"].iloc[0] == pytest.approx(np.log(3))


@pytest.mark.parametrize("recipe", [LBFGS, SGD], ids=["lbfgs", "sgd"])
def test_visitor_sees_every_step_of_the_curve(problem, recipe):
    """TracIn would add up other heads than those of the epochs."""
    seen = []
    weight, curve, _ = train_head(
        *problem, 3, recipe, CPU, {"train": problem}, visit=lambda *both: seen.append(both)
    )
    assert [step for step, _ in seen] == list(curve["step"])
    losses = [evaluate(visited, *problem)["loss"] for _, visited in seen]
    np.testing.assert_allclose(losses, curve["loss"], rtol=1e-12)
    np.testing.assert_array_equal(seen[-1][1], weight)


def test_diverging_training_is_an_error(problem):
    """NaN weights would reach the residuals."""
    with pytest.raises(WtrakError, match="diverged"):
        train_head(*problem, 3, SGD | {"learning_rate": 1e38}, CPU)


def test_evaluate_is_cross_entropy_and_accuracy(problem):
    """The recorded loss and accuracy would be something else."""
    h, y = problem
    weight = np.random.default_rng(1).standard_normal((3, h.shape[1]))
    z = torch.from_numpy(logits(weight, h))
    expected = torch.nn.functional.cross_entropy(z, torch.from_numpy(y))
    found = evaluate(weight, h, y)
    assert found["loss"] == pytest.approx(float(expected), rel=1e-12)
    assert found["accuracy"] == np.mean(z.numpy().argmax(axis=1) == y)


@pytest.mark.parametrize(
    ("labels", "message"),
    [([0, 1, 3], "labels run from 0 to 3, expected 0 to 2"), ([1, 1, 1], "need two classes")],
)
def test_bad_labels_are_refused(labels, message):
    """A label out of range would index another class, one class alone would fit trivially."""
    with pytest.raises(WtrakError, match=message):
        train_head(np.ones((3, 2), np.float32), np.array(labels), 3, ADAM, CPU)
