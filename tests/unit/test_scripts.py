"""The chain of scripts from activations to frontier, on a problem small enough for brute force."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from snakemake.iocontainers import Namedlist

import covariance as covariance_script
import frontier as frontier_script
import head as head_script
import lipschitz as lipschitz_script
import residuals as residuals_script
import scores as scores_script
from reference import certified_share, covariance, explicit
from wtrak.errors import WtrakError
from wtrak.gradients import assemble, residuals
from wtrak.io import load_arrays, read_json, save_arrays
from wtrak.lipschitz import natural

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


def test_more_scored_test_points_than_there_are_is_an_error(data):
    """Fewer points than configured would be scored without a word."""
    with pytest.raises(WtrakError, match="n_test_scored is 13, but there are 12"):
        run_chain(data[0], "loss", "true_label", n_test_scored=13)
