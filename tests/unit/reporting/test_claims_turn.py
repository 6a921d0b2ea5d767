"""For every claim, results that support it, and the same results exchanged, which must not.

A claim whose verdict stays the same when two rows, keys or experiments change places is decided by
a rule that cannot fail, or by the wrong number.
"""

import copy
import csv
import json

import pandas as pd
import pytest
import yaml

import claims as claims_script
from conftest import REPOSITORY
from wtrak.reporting.claims import IDENTITY, REPRODUCED

RULES = yaml.safe_load((REPOSITORY / "config.yaml").read_text("utf-8"))["claims"]["rules"]
with (REPOSITORY / "workflow" / "resources" / "paper_claims.csv").open(encoding="utf-8") as file:
    CLAIMS = {claim["id"]: claim for claim in csv.DictReader(file)}


def rows(column, values, **same):
    """Rows that share `same` and have `values` in a column, by the name in another column.

    ``rows("arm", {"a": 1.0})`` is one row with arm a and value 1.
    """
    return [{**same, column: name, "value": value} for name, value in values.items()]


def exchanged(results, path, column, first, second):
    """The results with two names exchanged.

    They are two names in a column of the file, two columns of it (no column is named), two keys of
    a JSON file below the key `column`, or two files (no file is named).
    """
    results = copy.deepcopy(results)
    names = {first: second, second: first}
    content = results[path] if path else results
    if isinstance(content, dict):
        inner = content[column] if column else content
        inner[first], inner[second] = inner[second], inner[first]
    elif column:
        for row in content:
            row[column] = names.get(row[column], row[column])
    else:
        results[path] = [{names.get(key, key): row[key] for key in row} for row in content]
    return results


def verdict_on(results, claim, folder):
    """The verdict on a claim by results, which are written to files."""
    folder.mkdir()
    for path, content in results.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.endswith(".json"):
            target.write_text(json.dumps(content), encoding="utf-8")
        else:
            pd.DataFrame(content).to_csv(target, index=False)
    name = claim["experiment"]
    sources = {
        key: str(folder / claim[key].format(experiment=name))
        for key in ("source", "sweep")
        if claim[key]
    }
    return claims_script.decided(claim, sources | {"experiment": name}, RULES)["verdict"]


SPECTRUM = "experiments/cifar10/spectrum.json"
SMALL_SPECTRUM = "experiments/cifar10_5k/spectrum.json"
FRONTIER = "experiments/cifar10/frontier.json"
ASSUMPTIONS = "tables/assumptions_table.csv"
CONVEX = "tables/convex_table.csv"
ATTACKS = "tables/attacks_table.csv"
HEADS = "tables/head_removal_table.csv"
NETWORKS = "tables/networks_table.csv"
DETECTION = "tables/detection_table.csv"
TABLE_1 = "tables/table1_robustness.csv"
GAP = "convex/gap_errors.csv"
SLOPES = "experiments/cifar10/lipschitz_tightness.csv"


def spectrum(path, key, full, reduced):
    """A number of the full and of the reduced space, and choices that reach neither."""
    choices = [{"experiment": path.split("/")[1], "kappa": 5.0}]
    spaces = {"full": {key: full}, "reduced": {key: reduced}}
    return {path: {"spaces": spaces}, ASSUMPTIONS: choices}, (path, "spaces", "full", "reduced")


def constants(experiment, quantity, value):
    """A constant of Table 1, its mean, and choices that reach neither."""
    same = {"experiment": experiment, "quantity": quantity, "definition": "gradient"}
    names = [f"{of}_{how}" for of in ("gradient", "spectral") for how in ("max", "median", "mean")]
    names += ["natural_max", "natural_median", "natural_mean"]
    choices = [{"experiment": experiment, **dict.fromkeys(names, 1e-3)}]
    table = rows("aggregate", {"max": value, "mean": 1e3 * value}, **same)
    return {TABLE_1: table, ASSUMPTIONS: choices}, (TABLE_1, "aggregate", "max", "mean")


def convex(column, values, **same):
    """Rows of the table of convex models, whose first two names are exchanged."""
    return {CONVEX: rows(column, values, **same)}, (CONVEX, column, *list(values)[:2])


def detected(column, ours, other, noise="uniform_10", first="self_influence", second="random"):
    """A metric of two detectors with three seeds."""
    same = {"experiment": "cifar10", "noise": noise}
    table = [
        {**same, "detector": name, column: value + 1e-4 * seed}
        for name, value in ((first, ours), (second, other))
        for seed in range(1 if noise == "human_aggre" else 3)
    ]
    return {DETECTION: table}, (DETECTION, "detector", first, second)


def attacked(capped, broken):
    """Pairs that attacks broke by certificate; of the paper's only at capped test points."""
    same = {"broken_with_capped_test_point": capped}
    table = [
        {"certificate": "paper", "broken": broken, **same},
        {"certificate": "other", "broken": broken + 5, "broken_with_capped_test_point": 5},
    ]
    return {ATTACKS: table}, (ATTACKS, "certificate", "paper", "other")


def head_removal(quantity, values, other, **same):
    """A quantity of arms that supports a claim, and of another experiment that does not."""
    same |= {"quantity": quantity}
    table = rows("arm", values, experiment="cifar10_5k", **same)
    table += rows("arm", dict.fromkeys(values, other), experiment="cifar10", **same)
    return {HEADS: table}, (HEADS, "experiment", "cifar10_5k", "cifar10")


def slopes(exact, bound):
    """An exact constant and the paper's bound, for three pairs."""
    table = [{"exact": exact * k, "paper": bound * k, "other": 3 * bound * k**2} for k in (1, 2, 3)]
    return {SLOPES: table}


COUNTS = {
    "label_noise/cifar10/uniform_10/suspects.csv": [
        {"true_label": "a", "given_label": "b" if k < 5000 else "a"} for k in range(5100)
    ],
    "label_noise/cifar10_5k/uniform_10/suspects.csv": [{"true_label": "a", "given_label": "b"}],
}
ENLARGEMENTS = {
    f"experiments/{experiment}/enlargement.csv": [
        {"of": of, "aggregate": how, "value": value * factor}
        for of, factor in (("pair", 2), ("test_point", 1))
        for how in ("max", "mean", "median")
    ]
    for experiment, value in (("cifar10", 1e4), ("cifar10_5k", 10.0))
}
OUT = {"experiment": "cifar10", "set": "test"}
DISTANCES = [
    f"si_{label}_spearman_{of}"
    for label in ("true_label", "predicted")
    for of in ("distance", "distance_of_directions")
]

# Results that support the claim, and what is exchanged: a file, its column or key, and two names.
CASES = {
    "kappa": spectrum(SPECTRUM, "condition_number", 2.7e5, 10.0),
    "scaleup_kappa": spectrum(SMALL_SPECTRUM, "condition_number", 1.85e5, 10.0),
    "eigen_span": spectrum(SPECTRUM, "decades", 5.1, 1.0),
    "scaleup_span": spectrum(SMALL_SPECTRUM, "decades", 5.1, 1.0),
    "amplification_euclidean": spectrum(SPECTRUM, "smallest_eigenvalue", 1e-4, 1e-2),
    "reduction_predicted": spectrum(SPECTRUM, "condition_number", 2.5e5, 10.0),
    "amplification_met": (ENLARGEMENTS, (None, None, *ENLARGEMENTS)),
    "lipschitz_euclidean": constants("cifar10", "lipschitz_euclidean", 7.7e7),
    "scaleup_euclidean": constants("cifar10_5k", "lipschitz_euclidean", 1.48e9),
    "lipschitz_natural": constants("cifar10", "lipschitz_natural", 1e6),
    "scaleup_natural": constants("cifar10_5k", "lipschitz_natural", 4.9e5),
    "reduction": constants("cifar10", "reduction", 76.0),
    "scaleup_reduction": constants("cifar10_5k", "reduction", 3015.0),
    "certified_euclidean": (
        {FRONTIER: {"euclidean_share_at_same_epsilon": 0.0, "paper_share": 0.687}},
        (FRONTIER, "", "euclidean_share_at_same_epsilon", "paper_share"),
    ),
    "certified_natural": (
        {
            FRONTIER: {"share_at_one_deletion": {"natural": 0.69, "euclidean": 0.0}},
            "experiments/cifar10/frontier.csv": [{"metric": "natural", "share": 0.01}],
        },
        (FRONTIER, "share_at_one_deletion", "natural", "euclidean"),
    ),
    "non_vacuous": (
        {
            FRONTIER: {
                "share_at_one_deletion": {"natural": 0.3, "euclidean": 0.0},
                "share_at_tenth_of_deletion": {"natural": 0.6, "euclidean": 0.0},
            }
        },
        (FRONTIER, "share_at_one_deletion", "natural", "euclidean"),
    ),
    "reduction_theta": (
        {
            "theorems/lipschitz_ratio.csv": [
                {"check": name, "ratio_max": ratio}
                for name, ratios in (("scale", (2.0, 2.1)), ("kappa", (2.0, 40.0)))
                for ratio in ratios
            ]
        },
        ("theorems/lipschitz_ratio.csv", "check", "scale", "kappa"),
    ),
    "natural_bound": (slopes(0.9, 1.0), (SLOPES, None, "exact", "other")),
    "si_is_lipschitz": (slopes(0.9, 1.0), (SLOPES, None, "paper", "other")),
    "ood": (
        {
            "tables/ood_table.csv": [
                OUT | dict.fromkeys(DISTANCES, 0.5),
                OUT | {"set": "noise"} | dict.fromkeys(DISTANCES, -0.1),
            ]
        },
        ("tables/ood_table.csv", "set", "test", "noise"),
    ),
    "ood_foreign": (
        {
            "tables/ood_table.csv": [
                OUT | {"set": "noise", "si_predicted_auroc": 0.8},
                OUT | {"si_predicted_auroc": 0.5},
            ]
        },
        ("tables/ood_table.csv", "set", "noise", "test"),
    ),
    "cap": attacked(0, 7),
    "worst_case": attacked(7, 7),
    "mnist_removal": (
        {
            NETWORKS: [
                {"arm": arm, "reading": "areas", "control": arm == "random", "value": value}
                for arm, value in (("certified", 2.0), ("harmful", 1.5), ("random", 9.0))
            ]
        },
        (NETWORKS, "arm", "certified", "random"),
    ),
    "mnist_direction": (
        {
            NETWORKS: [
                {"arm": arm, "reading": "areas", "value": value, "low": low, "high": 3.0}
                for arm, value, low in (("certified", 2.0, 1.2), ("random", 1.4, 0.8))
            ]
        },
        (NETWORKS, "arm", "certified", "random"),
    ),
    "point_estimates": (
        {
            "retraining/datamodels.csv": rows(
                "method",
                {"natural": 0.9, "natural_last": 0.85, "random": 0.0},
                networks=1,
                quantity="share_of_perfect",
            )
        },
        ("retraining/datamodels.csv", "method", "natural_last", "random"),
    ),
    "scaleup_removal": head_removal("stability", {"certified": 0.01, "loss": 0.02}, -0.05),
    "scaleup_traits": head_removal("trait_ratio", {"magnitude": 1.5}, 0.7, of="agreement"),
    "auroc": detected("auroc", 0.97, 0.5),
    "ap": detected("average_precision", 0.8, 0.1),
    "separation": detected("separation", 5.0, 1.0),
    "recall20": detected("recall_20", 0.94, 0.2),
    "low_density": detected("auroc", 0.8, 0.5, "human_aggre", "leverage"),
    "corrupted": (COUNTS, (None, None, *COUNTS)),
    "parameters": (
        {SPECTRUM: {"parameters": 5130, "n_train": 50000}},
        (SPECTRUM, "", "parameters", "n_train"),
    ),
    "wrif_order_paper": convex(
        "kernel", {"paper": 2.0, "hessian_only": 1.0}, quantity="slope", task="wine"
    ),
    "wrif_order_prior": convex(
        "kernel", {"hessian_only": 1.0, "corrected": 2.0}, quantity="slope", task="wine"
    ),
    "wrif_coverage": convex(
        "quantity",
        {"covered_least": 1.0, "covered": 0.7},
        **{"kernel": "paper", "constant": "pairs", "radius": "diameter", "definition": "influence"},
    ),
    "wrif_interval": convex("quantity", {"equality": 1.0, "equality_other": 0.5}, kernel="paper"),
    "wrif_remainder": convex(
        "kernel", {"paper": 0.01, "corrected": 0.4}, quantity="left_first_order"
    ),
    "wrif_bound": convex("quantity", {"left_domain_ever": 0.01, "left": 0.3}),
    "wrif_estimate": convex("quantity", {"found_over_pairs": 1.0, "domain_over_pairs": 40.0}),
    "wrif_cost": convex("definition", {"all": 2.0, "one": 3.0}, quantity="exponent", task="n"),
    "gap_convex": (
        {GAP: [{"model": "convex", "error": 0.05}, {"model": "deep", "error": 0.8}]},
        (GAP, "model", "convex", "deep"),
    ),
    "gap_deep": (
        {
            GAP: [
                {"model": model, "parameters_apart": apart}
                for model, far in (("deep", 0.9), ("convex", 0.0))
                for apart in [far] * 50 + [0.01]
            ]
        },
        (GAP, "model", "convex", "deep"),
    ),
}


# True whatever the results are, so that no result can speak against it.
TAUTOLOGY = "amplification_natural"


def test_every_claim_has_results_that_would_turn_it():
    """A new claim could be decided by a rule that cannot fail."""
    assert {*CASES, TAUTOLOGY} == {*CLAIMS}
    assert CLAIMS[TAUTOLOGY]["kind"] == "identity"


@pytest.mark.parametrize("name", CASES)
def test_what_supports_a_claim_does_not_when_exchanged(name, tmp_path):
    """A claim would be decided by a rule that cannot fail, or by the wrong number."""
    claim, (results, exchange) = CLAIMS[name], CASES[name]
    expected = IDENTITY if claim["kind"] == "identity" else REPRODUCED
    assert verdict_on(results, claim, tmp_path / "supports") == expected
    assert verdict_on(exchanged(results, *exchange), claim, tmp_path / "exchanged") != expected
