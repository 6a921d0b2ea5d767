"""What the rules for convex models write, from tables to attacks, and what they make of it."""

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.datasets import load_breast_cancer

import convex_table as table9_script
import convex_task as convex_task_script
import error_orders as error_orders_script
import fig1_robustness_gap as fig1_script
import loo_coverage as loo_coverage_script
import robustness_gap as robustness_gap_script
import wrif_attacks as wrif_attacks_script
import wrif_cost as wrif_cost_script
import wrif_coverage as wrif_coverage_script
import wrif_orders as wrif_orders_script
from chain import call
from wtrak.convex.error_orders import derivative_error, slopes_of
from wtrak.job.io import load_arrays

TASKS = {
    "breast_cancer": {"data": "breast_cancer", "model": "logistic", "penalty": 0.01},
    "diabetes": {"data": "diabetes", "model": "ridge", "penalty": 0.01},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Data of two tasks and everything that is computed from them, at small scale."""
    folder = tmp_path_factory.mktemp("convex")
    for name, task in TASKS.items():
        shared = {"inputs": {"data": name}, "wildcards": {"task": name}, "task": task, "seed": 0}
        call(convex_task_script, folder, {"data": name}, inputs={"dataset": []}, task=task)
        call(
            wrif_orders_script,
            folder,
            {"csv": f"{name}_orders.csv"},
            **{**shared, "inputs": {"data": name}},
            n_train=40,
            n_test=3,
            triples=12,
            step_range=[1e-4, 1e-1],
            points=4,
        )
        call(
            wrif_coverage_script,
            folder,
            {"csv": f"{name}_coverage.csv"},
            **{**shared, "inputs": {"data": name}},
            n_train=[20, 30, 10_000],
            n_test=2,
            resamples=3,
        )
        call(
            wrif_attacks_script,
            folder,
            {"csv": f"{name}_attacks.csv"},
            **{**shared, "inputs": {"data": name}},
            n_train=30,
            n_test=2,
            n_points=3,
        )
    call(
        wrif_cost_script,
        folder,
        {"csv": "cost.csv"},
        inputs={},
        seed=0,
        n_train=[20, 40],
        n_features=[5, 9],
    )
    return folder


def test_tables_are_standardised_with_a_constant(folder):
    """Distances would be in the units of one feature, or the intercept be missing."""
    data = load_arrays(folder / "breast_cancer")
    assert data["x"].shape == (569, 31) and (data["x"][:, -1] == 1).all()
    np.testing.assert_allclose(data["x"][:, :-1].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(data["x"][:, :-1].std(axis=0), 1, rtol=1e-12)
    np.testing.assert_array_equal(data["y"], load_breast_cancer().target)


def test_orders_tell_the_kernels_apart(folder):
    """The paper's claim O(ε²) would be judged by noise."""
    orders = pd.read_csv(folder / "breast_cancer_orders.csv")
    slope = {name: np.median(slopes_of(part)) for name, part in orders.groupby("kernel")}
    assert 1.8 < slope["corrected"] < 2.2
    assert 0.8 < slope["paper"] < 1.3 and 0.7 < slope["hessian_only"] < 1.3
    error = {name: derivative_error(part) for name, part in orders.groupby("kernel")}
    assert error["corrected"] < 1e-5 < 0.02 < error["paper"] < error["hessian_only"]
    ridge = pd.read_csv(folder / "diabetes_orders.csv")
    of = {name: part.set_index(["triple", "step"]) for name, part in ridge.groupby("kernel")}
    np.testing.assert_allclose(of["paper"]["sensitivity"], of["corrected"]["sensitivity"])


def test_coverage_has_every_definition_and_skips_sizes_that_are_too_large(folder):
    """A definition would be left out, or a task that is too small stop the run."""
    table = pd.read_csv(folder / "breast_cancer_coverage.csv")
    assert set(table["n_train"]) == {20, 30}
    assert set(table["definition"]) == {"influence", "scaled", "log_scaled", "raw", "sign"}
    shapes = table.groupby(["kernel", "constant", "radius"]).size()
    assert set(shapes.index) == {
        (kernel, constant, radius)
        for kernel, constant in (
            ("paper", "pairs"),
            ("corrected", "pairs"),
            ("corrected", "domain"),
        )
        for radius in ("diameter", "own")
    }
    assert table["covered"].between(0, 1).all()
    wide = table.pivot_table(index=["kernel", "constant"], columns="radius", values="half_width")
    assert (wide["own"] < wide["diameter"]).all()
    domain = table[table["constant"] == "domain"]
    assert (domain["covered"] == 1).all()


@pytest.mark.parametrize("task", TASKS)
def test_attacks_stay_within_the_bound_over_the_domain(folder, task):
    """A distribution outside the ball, or a bound that is none."""
    table = pd.read_csv(folder / f"{task}_attacks.csv")
    assert len(table) == 6
    assert (table["half_width_pairs"] < table["half_width_domain"]).all()
    # Both searches stay below the bound.
    assert (table["half_width_found"] <= table["half_width_domain"]).all()
    for place in ("on_support", "beyond_support"):
        assert (table[place] > 0).all()
        assert (table[place] < table["half_width_domain"]).all()
    # An attack that never comes near would prove nothing.
    assert (table["on_support"] / table["half_width_pairs"]).max() > 0.5


def test_figures_and_table_are_drawn(folder):
    """A target would be missing, or a table broken by a bar in a cell."""
    paths = {what: [f"{task}_{what}.csv" for task in TASKS] for what in ("orders", "coverage")}
    shared = {"tasks": list(TASKS), "notice": "QUICK"}
    drawn = {"svg": "f.svg", "pdf": "f.pdf"}
    for script, what in ((error_orders_script, "orders"), (loo_coverage_script, "coverage")):
        inputs = {f"of{k}": path for k, path in enumerate(paths[what])}
        call(script, folder, drawn, inputs=inputs, **shared)
        text = (folder / "f.svg").read_text("utf-8")
        assert text.startswith("<?xml")
    outputs = {suffix: f"t.{suffix}" for suffix in ("csv", "numbers", "md", "tex", "html")}
    inputs = {"orders": paths["orders"], "coverage": paths["coverage"], "cost": "cost.csv"}
    inputs["attacks"] = [f"{task}_attacks.csv" for task in TASKS]
    call(table9_script, folder, outputs, inputs=inputs, **shared)
    text = (folder / "t.md").read_text("utf-8")
    assert "QUICK" in text and "line by line" in text
    numbers = pd.read_csv(folder / "t.csv")
    assert set(numbers["quantity"]) >= {"slope", "covered", "left", "exponent"}
    attacks = pd.read_csv(folder / "breast_cancer_attacks.csv")
    left = (attacks["beyond_support"] > attacks["half_width_pairs"]).mean()
    own = numbers[(numbers["task"] == "breast_cancer") & (numbers["quantity"] == "left")]
    assert own.set_index("definition").loc["beyond_support", "value"] == left
    # A bar within a cell would end it.
    rows = [line for line in text.splitlines() if line.startswith("|")]
    blocks, block = [], []
    for line in text.splitlines():
        if line.startswith("|"):
            block.append(line.count("|"))
        elif block:
            blocks.append(block)
            block = []
    assert len(blocks) == 5 and all(len(set(block)) == 1 for block in blocks) and len(rows) > 20


# --- figure 1 ---


def test_units_that_change_places_are_no_other_outputs():
    """A hop to the same network under another name would pass for one to another function."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((30, 3)), np.arange(30) % 2.0
    settings = {"hidden": [2], "penalty": 1e-2}
    model = robustness_gap_script.Deep(np.column_stack([x, np.ones(30)]), y, settings, 0)
    w, b, out, last = torch.split(model.theta, [6, 2, 2, 1])
    swapped = torch.cat([w.view(2, 3).flip(0).flatten(), b.flip(0), out.flip(0), last])
    on = torch.from_numpy(0.01 * rng.standard_normal(11))
    found = model.apart({"deep": (swapped - model.theta).numpy(), "deep_warm": on.numpy()})
    assert found["parameters_apart"] > 10
    assert found["outputs_apart"] == pytest.approx(1, rel=1e-6)


def test_gap_compares_both_models_on_the_same_draws(folder):
    """A convex model with easier perturbations would look better than it is."""
    settings = {"task": "breast_cancer", "n_train": 40, "hidden": [3], "penalty": 1e-2}
    settings |= {"share": 0.05, "perturbations": 2, "networks": 2, "points": 3}
    outputs = {"errors": "errors.csv", "paths": "paths.csv", "profile": "profile.csv"}
    call(
        robustness_gap_script,
        folder,
        outputs,
        inputs={"data": "breast_cancer"},
        task=TASKS["breast_cancer"],
        seed=0,
        settings=settings,
    )
    errors = pd.read_csv(folder / "errors.csv")
    assert dict(errors["model"].value_counts()) == {"deep": 4, "deep_warm": 4, "convex": 2}
    assert (errors["error"] > 0).all()
    assert errors.loc[errors["model"] == "deep", "parameters_apart"].between(0, 100).all()
    paths = pd.read_csv(folder / "paths.csv")
    assert dict(paths["model"].value_counts()) == {"convex": 2, "deep": 2, "deep_warm": 2}
    np.testing.assert_allclose(paths["predicted"], paths["strength"], rtol=1e-3)
    call(
        fig1_script,
        folder,
        {"svg": "f.svg", "pdf": "f.pdf", "numbers": "f.csv"},
        inputs=outputs,
        settings=settings,
        notice="",
    )
    assert (folder / "f.svg").read_text("utf-8").startswith("<?xml")
    printed = pd.read_csv(folder / "f.csv").set_index("what")["value"]
    assert printed["networks retrained"] == 4
