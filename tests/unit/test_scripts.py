"""The chain of scripts from activations to frontier, on a problem small enough for brute force."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from snakemake.iocontainers import Namedlist

import certificates as certificates_script
import covariance as covariance_script
import deletions as deletions_script
import frontier as frontier_script
import head as head_script
import lipschitz as lipschitz_script
import refit as refit_script
import residuals as residuals_script
import scores as scores_script
from reference import certified_share, covariance, explicit
from wtrak.errors import WtrakError
from wtrak.gradients import append_constant, assemble, residuals
from wtrak.head import train_head
from wtrak.io import load_arrays, read_json, save_arrays
from wtrak.lipschitz import natural
from wtrak.pair_certificates import rigorous_radius

RIDGE = 1e-3
RECIPE = {
    "optimizer": "lbfgs",
    "weight_decay": 1e-2,
    "gradient_norm": 1e-8,
    "max_iterations": 500,
}


def call(script, folder, outputs, threads=1, **parts):
    """Run a script's main with paths below `folder`, as its rule would."""
    files = {
        kind: Namedlist(fromdict={name: str(folder / path) for name, path in paths.items()})
        for kind, paths in {"input": parts.pop("inputs"), "output": outputs}.items()
    }
    script.main(SimpleNamespace(**files, params=SimpleNamespace(**parts), threads=threads))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """40 training and 12 test points of 3 classes with 5 features, as files."""
    folder = tmp_path_factory.mktemp("chain")
    rng = np.random.default_rng(0)
    arrays, features = {}, {}
    for split, count in {"train": 40, "test": 12}.items():
        labels = rng.integers(3, size=count).astype(np.uint8)
        centres = np.eye(3, 5)[labels]
        features[split] = (centres + rng.standard_normal((count, 5))).astype(np.float32)
        arrays[f"{split}_labels"] = labels
    save_arrays(folder / "dataset", arrays, {"classes": ["a", "b", "c"]})
    save_arrays(folder / "activations", features)
    return folder, arrays, features


def run_chain(folder, gradient, test_label, n_test_scored=10):
    """Everything from head to frontier; returns the folder."""
    shared = {"dataset": "dataset", "activations": "activations"}
    call(
        head_script,
        folder,
        {"head": "head", "record": "head.json", "curve": "curve.csv"},
        inputs=shared,
        n_train=30,
        subset_seed=3,
        recipe=RECIPE,
        device="cpu",
    )
    call(
        residuals_script,
        folder,
        {"residuals": "residuals"},
        inputs=shared | {"head": "head"},
        gradient=gradient,
        test_label=test_label,
    )
    call(
        covariance_script,
        folder,
        {"factor": "factor", "spectrum": "spectrum.csv", "record": "spectrum.json"},
        inputs={"activations": "activations", "residuals": "residuals"},
        ridge=RIDGE,
        block_size=7,
        device="cpu",
    )
    call(
        scores_script,
        folder,
        {"scores": "scores", "deletion": "deletion.json"},
        inputs={"activations": "activations", "residuals": "residuals", "factor": "factor"},
        n_test_scored=n_test_scored,
        n_wasserstein=30,
        subset_seed=0,
        block_size=7,
        device="cpu",
    )
    call(
        lipschitz_script,
        folder,
        {"table": "lipschitz.csv"},
        inputs={"scores": "scores", "spectrum": "spectrum.json"},
    )
    call(
        frontier_script,
        folder,
        {"frontier": "frontier.csv", "record": "frontier.json"},
        inputs={"scores": "scores", "deletion": "deletion.json"},
        n_test_frontier=4,
        points=6,
        share_range=[0.05, 0.95],
        paper_share=0.687,
    )
    geometry = {
        "activations": "activations",
        "residuals": "residuals",
        "factor": "factor",
        "scores": "scores",
        "deletion": "deletion.json",
    }
    call(
        certificates_script,
        folder,
        {"curve": "certificates_curve.csv", "table": "certificates.csv"},
        inputs=geometry,
        n_test=4,
        seed=0,
        n_points=30,
        deletion_range=[1e-4, 10.0],
        points=5,
        reported_deletions=[0.02, 0.2],
        block_size=7,
        device="cpu",
    )
    call(
        deletions_script,
        folder,
        {"pairs": "deletions.csv", "top_k": "top_k.csv"},
        inputs=geometry,
        n_test=4,
        seed=0,
        n_points=30,
        pairs_per_test=25,
        attacked_per_test=25,
        removals=[1, 3],
        top_k=[1, 5],
        block_size=7,
        device="cpu",
    )


@pytest.mark.parametrize("test_label", ["true_label", "predicted"])
@pytest.mark.parametrize("gradient", ["loss", "margin", "logit"])
def test_chain_agrees_with_brute_force(data, gradient, test_label):
    """A script would pass the wrong rows, labels, basis or constants to the library."""
    folder, arrays, features = data
    run_chain(folder, gradient, test_label)

    weight = load_arrays(folder / "head", ["weight"])["weight"]
    out = load_arrays(folder / "scores")
    rows = out["train_index"]
    assert len(rows) == 30 and np.all(np.diff(rows) > 0)

    def phi(split, index):
        g = assemble(features[split], np.zeros((len(index), 3)), index)
        z = g.activations.astype(np.float64) @ weight.T
        y = arrays[f"{split}_labels"][index].astype(int)
        if split == "test" and test_label == "predicted":
            y = z.argmax(axis=1)
        return explicit(assemble(features[split], residuals(z, y, gradient), index))

    train, test = phi("train", rows), phi("test", np.arange(12))
    q = covariance(train, RIDGE)
    inverse = np.linalg.inv(q)
    si, si_t = (np.einsum("nd,de,ne->n", x, inverse, x) for x in (train, test))
    np.testing.assert_allclose(out["self_influence_train"], si, rtol=1e-8)
    np.testing.assert_allclose(out["self_influence_test"], si_t, rtol=1e-8)
    tau = test[:10] @ inverse @ train.T
    np.testing.assert_allclose(out["trak_scores"], tau, rtol=1e-5, atol=1e-5 * np.abs(tau).max())

    eigenvalues = np.linalg.eigvalsh(q)[::-1]
    spectrum = pd.read_csv(folder / "spectrum.csv")
    full = spectrum[spectrum["space"] == "full"]["eigenvalue"]
    np.testing.assert_allclose(full, eigenvalues, rtol=1e-8)
    spaces = read_json(folder / "spectrum.json")["spaces"]
    assert ("sum_zero" in spaces) == (gradient != "logit")

    half = np.linalg.cholesky(inverse)
    unit = read_json(folder / "deletion.json")["one_deletion"]
    for metric, x in {"natural": train @ half, "euclidean": train}.items():
        distances = np.linalg.norm(x[:, None] - x[None], axis=2).sum(axis=1) / 29
        assert unit[metric]["median"] == pytest.approx(np.median(distances) / 30, rel=1e-6)

    constants = pd.read_csv(folder / "lipschitz.csv")
    of = constants.set_index(["definition", "aggregate"])["lipschitz"]
    norms, norms_t = (np.linalg.norm(x @ inverse, axis=1) for x in (train, test))
    plain, plain_t = (np.linalg.norm(x, axis=1) for x in (train, test))
    cap = np.minimum(si_t, 2 * si.max())
    expected = {
        "capped": 2 * np.sqrt(si.max()) * np.sqrt(np.multiply.outer(cap, si)),
        "gradient": 2 * plain.max() * np.multiply.outer(norms_t, norms),
        "spectral": 2 * plain.max() * np.multiply.outer(plain_t, plain) / eigenvalues[-1] ** 2,
    }
    for definition, matrix in expected.items():
        assert of[definition, "max"] == pytest.approx(matrix.max(), rel=1e-8)
        assert of[definition, "mean"] == pytest.approx(matrix.mean(), rel=1e-8)
        assert of[definition, "median"] == pytest.approx(np.median(matrix), rel=1e-8)

    frontier = pd.read_csv(folder / "frontier.csv")
    lipschitz = natural(si_t, si)
    for _, row in frontier[frontier["metric"] == "natural"].iterrows():
        shares = [
            certified_share(
                out["trak_scores"][t].astype(float),
                lipschitz.test[t] * lipschitz.train,
                row["epsilon"],
            )
            for t in range(4)
        ]
        # A pair whose radius is ε up to rounding may fall on either side.
        assert row["share"] == pytest.approx(np.mean(shares), abs=1.01 / (4 * 435))
        assert row["deletions"] == pytest.approx(row["epsilon"] / unit["natural"]["median"])

    check_certificates(folder, train, test, inverse, unit)
    check_deletions(folder, train, test, inverse, unit)


def tight(u, points, radius):
    """R(‖u‖‖v‖ + |u·v|) for rows of points."""
    return radius * (np.linalg.norm(u) * np.linalg.norm(points, axis=1) + np.abs(points @ u))


def check_certificates(folder, train, test, inverse, unit):
    """Shares of all 435 pairs from explicit φ and Q⁻¹, in both metrics."""
    table = pd.read_csv(folder / "certificates.csv")
    found = table.set_index(["metric", "method", "deletions"])["share"]
    i, j = np.triu_indices(30, 1)
    half = np.linalg.cholesky(inverse)
    spaces = {
        "natural": (test @ half, train @ half, np.linalg.norm(train @ half, axis=1).max()),
        "euclidean": (test @ inverse, train @ inverse, np.linalg.norm(train, axis=1).max()),
    }
    for metric, (queries, points, radius) in spaces.items():
        for deletions in (0.02, 0.2):
            shares = {"tight": [], "direct": []}
            for t in range(4):
                tau = train @ inverse @ test[t]
                gaps = np.abs(tau[i] - tau[j])
                constants = tight(queries[t], points, radius)
                epsilon = deletions * unit[metric]["median"]
                shares["tight"].append(np.mean(gaps > epsilon * (constants[i] + constants[j])))
                direct = tight(queries[t], points[i] - points[j], radius)
                shares["direct"].append(np.mean(gaps > epsilon * direct))
            for method, values in shares.items():
                assert found[metric, method, deletions] == pytest.approx(np.mean(values))


def check_deletions(folder, train, test, inverse, unit):
    """One removal agrees with itself in three ways; top sets agree with enumerated pairs."""
    removed = pd.read_csv(folder / "deletions.csv").set_index(["kind", "removals"])["share"]
    assert removed["exact", 1] == removed["first_order", 1] == removed["attack", 1]
    assert removed["replacement", 1] <= removed["exact", 1]
    assert removed["attack", 3] <= removed["attack", 1]
    found = pd.read_csv(folder / "top_k.csv").set_index(["test", "k"])
    points = train @ np.linalg.cholesky(inverse)
    radius = np.linalg.norm(points, axis=1).max()
    for t in range(4):
        a = test[t] @ np.linalg.cholesky(inverse)
        tau = points @ a
        for k in (1, 5):
            inside = np.argsort(-tau)[:k]
            outside = np.setdiff1d(np.arange(30), inside)
            least = min(
                rigorous_radius(
                    tau[p] - tau[q],
                    np.linalg.norm(points[p] - points[q]),
                    np.linalg.norm(a),
                    radius,
                )
                for p in inside
                for q in outside
            )
            assert found["epsilon"][t, k] == pytest.approx(least, rel=1e-6)
            in_deletions = least / unit["natural"]["median"]
            assert found["deletions"][t, k] == pytest.approx(in_deletions, rel=1e-6)


def test_refitted_scores_are_those_of_a_head_trained_without_the_points(data):
    """The refit check would compare with a head, covariance or labels of another training set."""
    folder, arrays, features = data
    run_chain(folder, "loss", "true_label")
    labels = {split: arrays[f"{split}_labels"].astype(int) for split in ("train", "test")}
    kept, points, tests = np.arange(5, 40), np.array([7, 20, 31]), np.arange(6)
    settings = {
        "n_classes": 3,
        "device": torch.device("cpu"),
        "recipe": RECIPE,
        "gradient": "loss",
        "test_label": "true_label",
        "ridge": RIDGE,
        "reduced": True,
        "block_size": 7,
    }
    found = refit_script.refitted_scores(features, labels, kept, points, tests, settings)
    h = append_constant(features["train"][kept])
    weight, _, _ = train_head(h, labels["train"][kept], 3, RECIPE, torch.device("cpu"))

    def phi(split, rows):
        z = append_constant(features[split][rows]).astype(float) @ weight.T
        e = residuals(z, labels[split][rows], "loss")
        return explicit(assemble(features[split], e, rows))

    q = covariance(phi("train", kept), RIDGE)
    expected = phi("test", tests) @ np.linalg.solve(q, phi("train", points).T)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


def test_refit_check_counts_what_it_says(data):
    """Certified pairs would be counted that are not, or pairs that cannot exist."""
    folder, _, _ = data
    run_chain(folder, "loss", "true_label")
    call(
        refit_script,
        folder,
        {"table": "refit.csv"},
        inputs={
            "dataset": "dataset",
            "activations": "activations",
            "residuals": "residuals",
            "factor": "factor",
            "scores": "scores",
        },
        recipe=RECIPE,
        gradient="loss",
        test_label="true_label",
        ridge=RIDGE,
        n_test=4,
        seed=0,
        n_points=10,
        pairs_per_test=10,
        removals=[1, 3],
        sets_per_size=2,
        block_size=7,
        device="cpu",
    )
    table = pd.read_csv(folder / "refit.csv")
    assert len(table) == 8
    for name in ("fixed", "refitted"):
        assert (table[f"certified_flipped_{name}"] <= table[f"flipped_{name}"]).all()
        assert (table[f"flipped_{name}"] <= table["pairs"]).all()
    # One removal cannot turn a pair that is certified against it, features fixed: exact.
    assert (table[table["removed"] == 1]["certified_flipped_fixed"] == 0).all()


def test_more_scored_test_points_than_there_are_is_an_error(data):
    """Fewer points than configured would be scored without a word."""
    with pytest.raises(WtrakError, match="n_test_scored is 13, but there are 12"):
        run_chain(data[0], "loss", "true_label", n_test_scored=13)
