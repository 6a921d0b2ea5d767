"""Scores of wrong labels, against explicit forms and values counted by hand."""

import numpy as np
import pytest
import torch

from problems import gradients
from reference import covariance, explicit
from wtrak.geometry.gradients import Gradients, reduce_to_sum_zero, residuals
from wtrak.geometry.leave_one_out import leave_one_out
from wtrak.labels import detectors
from wtrak.labels.catalogue import DETECTORS
from wtrak.labels.detectors import all_detectors, confident_learning, self_influence


@pytest.mark.parametrize("gradient", ["loss", "margin", "logit"])
def test_detectors_are_those_of_explicit_forms(gradient):
    """A detector would be computed for other labels, another head, or another Q."""
    g, z, _ = gradients(n=50, n_classes=4, p=7)
    h = g.activations
    rng = np.random.default_rng(5)
    weight = rng.standard_normal((4, 7))
    z = h.astype(float) @ weight.T
    labels = rng.integers(4, size=50)
    unseen, tracin = rng.standard_normal((50, 4)), rng.random(50)
    found = all_detectors(
        weight,
        unseen,
        tracin,
        h,
        labels,
        gradient=gradient,
        ridge=0.01,
        penalty=0.02,
        rng=np.random.default_rng(0),
        block_size=8,
        device=torch.device("cpu"),
    )
    assert set(found) == set(DETECTORS)
    assert all(len(values) == 50 and np.isfinite(values).all() for values in found.values())
    phi = explicit(Gradients(residuals(z, labels, gradient), h, np.arange(50)))
    si = np.einsum("nd,de,ne->n", phi, np.linalg.inv(covariance(phi, 0.01)), phi)
    np.testing.assert_allclose(found["self_influence"], si, rtol=1e-7)
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found["loss"], -np.log(p[np.arange(50), labels]), rtol=1e-8)
    q = np.exp(unseen) / np.exp(unseen).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(
        found["out_of_fold_loss"], -np.log(q[np.arange(50), labels]), rtol=1e-8
    )
    e = p - np.eye(4)[labels]
    np.testing.assert_allclose(found["el2n"], np.linalg.norm(e, axis=1), rtol=1e-8)
    np.testing.assert_allclose(
        found["gradient_norm"],
        np.linalg.norm(e, axis=1) * np.linalg.norm(h.astype(float), axis=1),
        rtol=1e-8,
    )
    np.testing.assert_array_equal(found["tracin"], tracin)
    # Copies are left out together.
    pairs = np.arange(50) // 2
    options = {"gradient": gradient, "ridge": 0.01, "penalty": 0.02, "groups": pairs}
    options |= {"rng": rng, "block_size": 8, "device": torch.device("cpu")}
    together = all_detectors(weight, unseen, tracin, h, labels, **options)
    options = {"groups": pairs, "block_size": 8, "device": torch.device("cpu")}
    without = leave_one_out(z, h, labels, 0.02, **options).logits
    losses = -np.log(np.exp(without) / np.exp(without).sum(axis=1, keepdims=True))
    expected = losses[np.arange(50), labels]
    np.testing.assert_allclose(together["leave_one_out_loss"], expected, rtol=1e-7)
    assert (abs(together["leave_one_out_loss"] - found["leave_one_out_loss"]) > 1e-3).any()
    # The Hessian as it is defined, on all C·p coordinates; its null space is no part of φ.
    curvature = np.einsum("nc,cd->ncd", p, np.eye(4)) - p[:, :, None] * p[:, None, :]
    hh = h[:, :, None].astype(float) * h[:, None, :]
    hessian = np.einsum("ncd,npq->cpdq", curvature, hh).reshape(28, 28) / 50
    hessian += 0.02 * np.kron(np.eye(4), np.diag([1.0] * 6 + [0.0]))
    own = explicit(Gradients(e, h, np.arange(50)))
    influence = np.einsum("nd,de,ne->n", own, np.linalg.pinv(hessian, rcond=1e-10), own)
    np.testing.assert_allclose(found["hessian_influence"], influence, rtol=1e-6)
    margin = [max(np.delete(z[k], labels[k])) - z[k, labels[k]] for k in range(50)]
    np.testing.assert_allclose(found["margin"], margin, rtol=1e-8)
    h = h.astype(float)
    inverse = np.linalg.inv(h.T @ h / 50 + 0.01 * np.eye(7))
    np.testing.assert_allclose(found["leverage"], np.einsum("np,pq,nq->n", h, inverse, h))


def test_self_influence_of_few_examples_comes_from_their_gram_matrix():
    """Images in many classes would need a Q that no memory holds, or get another SI."""
    for n in (20, 27, 28, 29):
        g, _, _ = gradients(n=n, n_classes=5, p=7)
        g = reduce_to_sum_zero(g)
        phi = explicit(g)
        expected = np.einsum("nd,de,ne->n", phi, np.linalg.inv(covariance(phi, 1e-3)), phi)
        found = self_influence(g, 1e-3, block_size=8, device=torch.device("cpu"))
        np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_confident_learning_puts_planted_errors_first():
    """Probabilities and labels would reach cleanlab in another order or form."""
    rng = np.random.default_rng(0)
    true = rng.integers(4, size=400)
    given = true.copy()
    given[:20] = (true[:20] + 1) % 4
    z = 0.3 * rng.standard_normal((400, 4)) + 4 * np.eye(4)[true]
    scores = confident_learning(z, given)
    assert set(np.argsort(-scores)[:20]) == set(range(20))
    assert np.isfinite(scores).all()


def test_confident_learning_allows_a_class_without_labels():
    """A small set of one's own would crash."""
    rng = np.random.default_rng(0)
    scores = confident_learning(rng.standard_normal((30, 4)), rng.integers(3, size=30))
    assert scores.shape == (30,) and np.isfinite(scores).all()


@pytest.mark.parametrize(
    ("n", "unused"), [(20, "second_moment"), (40, "_self_influence_from_gram")]
)
def test_self_influence_takes_the_smaller_matrix(n, unused, monkeypatch):
    """Many classes, or many examples, would need more memory than there is."""
    g, _, _ = gradients(n=n, n_classes=4, p=7)

    def refused(*_, **__):
        raise AssertionError(f"{unused} for {n} examples in {g.dimension} dimensions")

    monkeypatch.setattr(detectors, unused, refused)
    assert self_influence(g, 0.1, block_size=8, device=torch.device("cpu")).shape == (n,)


def test_confident_learning_adds_what_a_label_lacks_to_what_is_pruned():
    """Pruned examples would not come first, or scores of both signs have no ratio of means."""
    rng = np.random.default_rng(0)
    true = rng.integers(4, size=400)
    labels = true.copy()
    labels[:20] = (true[:20] + 1) % 4
    # Unsure of the last 20, and right: not pruned, though hardly likelier than what is.
    sure = np.where(np.arange(400) < 380, 4.0, 0.2)[:, None]
    z = 0.3 * rng.standard_normal((400, 4)) + sure * np.eye(4)[true]
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    lacking = 1 - p[np.arange(400), labels]
    found = confident_learning(z, labels)
    np.testing.assert_allclose(found[:20], 1 + lacking[:20])
    np.testing.assert_allclose(found[20:380], lacking[20:380])
    assert np.isclose(found[380:], lacking[380:]).any()
    assert found.min() >= 0
