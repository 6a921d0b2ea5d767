"""The chain of scripts from activations to frontier, on a problem small enough for brute force."""

from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
import torch

import amplification as amplification_script
import audit as audit_script
import lipschitz_tightness as tightness_script
import ood as ood_script
import ood_activations as ood_activations_script
import refit as refit_script
import variation as variation_script
from chain import RECIPE, RIDGE, call, run_chain
from reference import certified_share, covariance, explicit
from wtrak.certificates.lipschitz import natural
from wtrak.errors import WtrakError
from wtrak.geometry.backbone import (
    backbone_state,
    build_backbone,
    forward_activations,
    untrained_state,
)
from wtrak.geometry.catalogue import Preprocessing
from wtrak.geometry.gradients import append_constant, assemble, reduce_to_sum_zero, residuals
from wtrak.geometry.head import train_head
from wtrak.job.io import load_arrays, read_json, save_arrays


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
    assert removed["proved", 1] == removed["exact", 1]
    assert removed["proved", 3] <= min(removed["first_order", 3], removed["attack", 3])
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
                gap / (radius * (np.linalg.norm(a) * np.linalg.norm(points[p] - points[q]) + gap))
                for p in inside
                for q in outside
                for gap in [abs(tau[p] - tau[q])]
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
        "head": load_arrays(folder / "head", ["weight"])["weight"],
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
    n = len(load_arrays(folder / "scores", ["self_influence_train"])["self_influence_train"])
    bounds = np.tile([0.0, 0.01], (n, 1))
    save_arrays(folder / "bounds", {"bounds": bounds, "removals": np.array([1, 3])})
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
            "head": "head",
            "cross_leverage": "bounds",
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
    cases = table.groupby(["removed", "kind", "set"]).size()
    assert len(cases) == 8 and (cases == cases.iloc[0]).all()
    assert (table["train_index_i"] != table["train_index_j"]).all()
    # One removal is exact, with features fixed: none turns that is proved.
    one = table[table["removed"] == 1]
    assert (one["stable"] == one["proved"]).all() and one["proved"].any()
    assert not (one["proved"] & one["flipped_fixed"]).any()


GEOMETRY = {
    "activations": "activations",
    "residuals": "residuals",
    "factor": "factor",
    "scores": "scores",
    "deletion": "deletion.json",
}


@pytest.mark.parametrize("gradient", ["loss", "logit"])
def test_a_reading_of_the_configured_setting_is_the_experiment_itself(data, gradient):
    """The sweep would vary around other numbers than those of Table 1."""
    folder, _, _ = data
    for label in ("predicted", "true_label"):
        run_chain(folder, gradient, label)
        call(
            variation_script,
            folder,
            {"table": "reading.csv"},
            inputs={
                "dataset": "dataset",
                "activations": "activations",
                "head": "head",
                "frontier": "frontier.json",
            },
            experiment="mine",
            variation="as configured",
            gradient=gradient,
            seed=0,
            n_test=4,
            pairs_per_test=4000,
            n_wasserstein=30,
            ridges=[1e-5, RIDGE],
            block_size=7,
            device="cpu",
        )
        table = pd.read_csv(folder / "reading.csv").set_index(["test_label", "ridge"])
        found = table.loc[(label, RIDGE)]
        constants = pd.read_csv(folder / "lipschitz.csv")
        of = constants.set_index(["definition", "aggregate"])["lipschitz"]
        names = {"natural": "capped", "gradient": "gradient", "spectral": "spectral"}
        for name, definition in names.items():
            for aggregate in ("max", "median", "mean"):
                expected = of[definition, aggregate]
                assert found[f"{name}_{aggregate}"] == pytest.approx(expected, rel=1e-6)
        spectrum = read_json(folder / "spectrum.json")["spaces"]["full"]
        assert found["kappa"] == pytest.approx(spectrum["condition_number"], rel=1e-8)
        unit = read_json(folder / "deletion.json")["one_deletion"]["natural"]["median"]
        assert found["one_deletion"] == pytest.approx(unit, rel=1e-6)
        at = read_json(folder / "frontier.json")["at_paper_share"]["natural"]
        if at is None:
            assert np.isnan(found["natural_share"])
            continue
        # Sampled pairs against every pair.
        assert found["natural_share"] == pytest.approx(0.687, abs=0.03)
        assert found["epsilon_at_paper_share"] == pytest.approx(at["epsilon"], rel=0.15)
        assert len(table) == 4


def test_amplification_is_that_of_explicit_eigenvectors(data):
    """The realised amplification would belong to other directions or test points."""
    folder, _, _ = data
    run_chain(folder, "loss", "true_label")
    call(
        amplification_script,
        folder,
        {"table": "amplification.csv"},
        inputs=GEOMETRY,
        ridge=RIDGE,
        n_test=9,
        block_size=7,
        device="cpu",
    )
    table = pd.read_csv(folder / "amplification.csv")
    arrays = load_arrays(folder / "residuals")
    features = load_arrays(folder / "activations")

    def phi(split):
        return reduce_to_sum_zero(
            assemble(features[split], arrays[f"{split}_residuals"], arrays[f"{split}_index"])
        )

    train, test = explicit(phi("train")), explicit(phi("test"))[:9]
    values, vectors = np.linalg.eigh(covariance(train, RIDGE))
    values, along = values[::-1], np.abs(test @ vectors[:, ::-1])
    np.testing.assert_allclose(table["eigenvalue"], values, rtol=1e-8)
    plain = np.linalg.norm(test, axis=1, keepdims=True)
    euclidean = np.median(along / values / plain, axis=0)
    np.testing.assert_allclose(table["euclidean_median"], euclidean, rtol=1e-5, atol=1e-9)
    whitened = np.sqrt((along**2 / values).sum(axis=1, keepdims=True))
    natural_ = np.quantile(along / np.sqrt(values) / whitened, 0.9, axis=0)
    np.testing.assert_allclose(table["natural_p90"], natural_, rtol=1e-5, atol=1e-9)
    assert (table["natural_p90"] <= 1 + 1e-9).all()
    assert (table["euclidean_median"] <= 1 / values + 1e-9).all()


def test_constants_are_in_the_order_that_the_theorem_says(data):
    """The paper's bound would lie below the exact constant, or that below a slope on data."""
    folder, _, _ = data
    run_chain(folder, "loss", "true_label")
    call(
        tightness_script,
        folder,
        {"table": "tightness.csv"},
        inputs=GEOMETRY,
        n_test=4,
        seed=0,
        n_points=30,
        pairs_per_test=20,
        block_size=7,
        device="cpu",
    )
    table = pd.read_csv(folder / "tightness.csv")
    assert len(table) == 80
    assert (table["on_training_points"] <= table["exact"] * (1 + 1e-9)).all()
    assert (table["exact"] <= table["paper"] * (1 + 1e-9)).all()
    assert (table["paper"] <= 2 * table["exact"] * (1 + 1e-9)).all()
    scores = load_arrays(folder / "scores")
    rows = {index: k for k, index in enumerate(scores["train_index"])}
    for _, row in table.iterrows():
        si = scores["self_influence_train"][rows[row["train_index"]]]
        assert row["si_train"] == pytest.approx(si, rel=1e-8)
        assert row["si_test"] == pytest.approx(
            scores["self_influence_test"][int(row["test_index"])], rel=1e-8
        )


def test_audit_records_each_attack_and_breaks_nothing_proved(data):
    """The cheapest attack would not be one of those made, or a guarantee would be broken."""
    folder, _, _ = data
    run_chain(folder, "loss", "true_label")
    call(
        audit_script,
        folder,
        {"table": "audit.csv"},
        inputs=GEOMETRY,
        n_test=4,
        seed=0,
        n_points=12,
        pairs_per_test=10,
        n_sources=12,
        restarts=2,
        ridge=RIDGE,
        block_size=7,
        device="cpu",
    )
    table = pd.read_csv(folder / "audit.csv")
    kinds = [f"attack_{kind}" for kind in ("move", "spread", "reweighting", "deletion")]
    np.testing.assert_array_equal(table["attack"], table[kinds].min(axis=1))
    assert (table["direct"] <= table["attack"]).all()
    assert (table["train_index_i"] != table["train_index_j"]).all()
    # One deletion costs about one deletion.
    turned = table[np.isfinite(table["attack_deletion"])]
    assert (turned["attack_deletion"] / turned["one_deletion"]).between(0.2, 5).all()
    assert len(turned) > 0


def test_foreign_inputs_are_scored_as_test_points_are(data):
    """Figure 3 would compare self-influence under different heads, labels or metrics."""
    folder, _, features = data
    run_chain(folder, "loss", "true_label")
    # Foreign sets that are the test points themselves must come out the same.
    save_arrays(folder / "foreign", {"blurred": features["test"][:5], "mnist": features["test"]})
    call(
        ood_script,
        folder,
        {"table": "ood.csv"},
        inputs=GEOMETRY | {"dataset": "dataset", "foreign": "foreign", "head": "head"},
        gradient="loss",
        ridge=RIDGE,
        neighbours=3,
        block_size=7,
        device="cpu",
    )
    table = pd.read_csv(folder / "ood.csv").set_index(["set", "row"])
    test, blurred, mnist = (table.loc[name] for name in ("test", "blurred", "mnist"))
    scores = load_arrays(folder / "scores")
    np.testing.assert_allclose(test["si_true_label"], scores["self_influence_test"], rtol=1e-8)
    np.testing.assert_allclose(blurred["si_true_label"], test["si_true_label"][:5], rtol=1e-8)
    assert mnist["si_true_label"].isna().all()
    np.testing.assert_allclose(mnist["si_predicted"], test["si_predicted"], rtol=1e-8)
    np.testing.assert_allclose(mnist["distance"], test["distance"])
    assert (table["cap"] == 2 * scores["self_influence_train"].max()).all()
    run_chain(folder, "loss", "predicted")
    predicted = load_arrays(folder / "scores", ["self_influence_test"])["self_influence_test"]
    np.testing.assert_allclose(test["si_predicted"], predicted, rtol=1e-8)


def test_foreign_activations_are_those_of_the_made_images(tmp_path):
    """Sets of figure 3 would be swapped, shifted, or pass through another network."""
    rng = np.random.default_rng(0)
    for name, count in (("own", 6), ("other", 4)):
        images = rng.integers(0, 256, size=(count, 8, 8, 1), dtype=np.uint8)
        save_arrays(tmp_path / name, {"test_images": images, "test_labels": np.zeros(count)})
    state = backbone_state("resnet18", untrained_state("resnet18", 0))
    preprocessing = Preprocessing(64, 48)
    record = {"architecture": "resnet18", "preprocessing": asdict(preprocessing)}
    save_arrays(tmp_path / "weights", {k: v.numpy() for k, v in state.items()}, record)
    settings = {
        "n_images": 5,
        "seed": 0,
        "blur_sigma": 1.0,
        "datasets": ["other"],
        "batch_size": 2,
        "precision": "float32",
        "device": "cpu",
        "wildcards": {"size": "32"},
    }
    inputs = {"dataset": "own", "others": ["other"], "weights": "weights"}
    call(ood_activations_script, tmp_path, {"foreign": "foreign"}, inputs=inputs, **settings)
    found = load_arrays(tmp_path / "foreign")
    assert {name: len(x) for name, x in found.items()} == {
        **dict.fromkeys(("blurred", "inverted", "noise"), 5),
        "other": 4,
    }
    model = build_backbone("resnet18", state, torch.device("cpu"))
    own = load_arrays(tmp_path / "own")["test_images"][:5]
    other = load_arrays(tmp_path / "other")["test_images"]
    for name, images in {"inverted": 255 - own, "other": other}.items():
        expected = forward_activations(model, images, preprocessing.at(32), batch_size=5)
        np.testing.assert_allclose(found[name], expected, rtol=1e-3, atol=1e-4)


def test_more_scored_test_points_than_there_are_is_an_error(data):
    """Fewer points than configured would be scored without a word."""
    with pytest.raises(WtrakError, match="n_test_scored is 13, but there are 12"):
        run_chain(data[0], "loss", "true_label", n_test_scored=13)
