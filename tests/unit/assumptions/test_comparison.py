"""The sweep's bookkeeping: which number belongs to which reading, and which is nearest."""

import numpy as np
import pandas as pd
import pytest

from wtrak.assumptions.comparison import joint_distances, nearest, numbers, shared_distances


@pytest.fixture
def readings():
    """Three readings with made-up numbers, all different."""
    rows = []
    for k, (variation, label, ridge) in enumerate(
        [("base", "true_label", 1e-4), ("base", "predicted", 1e-3), ("adam", "true_label", 1e-4)]
    ):
        row = {"variation": variation, "test_label": label, "ridge": ridge, "kappa": 10.0**k}
        for p, name in enumerate(("natural", "gradient", "spectral")):
            for q, aggregate in enumerate(("max", "median", "mean")):
                row[f"{name}_{aggregate}"] = 2.0 ** (9 * k + 3 * p + q)
        rows.append(row | {"natural_share": 0.5, "euclidean_share": 0.1})
    return pd.DataFrame(rows)


def test_numbers_belong_to_their_reading(readings):
    """A value would be shown under another definition or aggregate."""
    found = numbers(readings).set_index(
        ["quantity", "definition", "aggregate", "variation", "test_label"]
    )["value"]
    assert found["lipschitz_natural", "", "median", "adam", "true_label"] == 2.0**19
    assert found["lipschitz_euclidean", "spectral", "mean", "base", "predicted"] == 2.0**17
    assert found["reduction", "gradient", "max", "base", "true_label"] == 2.0**3
    assert found["reduction", "spectral", "median", "base", "predicted"] == 2.0**6
    assert found["condition_number", "", "", "adam", "true_label"] == 100
    assert found["certified_natural", "", "", "base", "true_label"] == 50
    assert len(found) == 3 * (1 + 3 + 6 + 6 + 2)


def test_nearest_is_so_in_the_logarithm(readings):
    """3 would be nearer to 1 than to 8, although it is off by a factor of 3 and not 2.7."""
    found = numbers(readings)
    of = found[found["quantity"] == "lipschitz_natural"]
    assert nearest(of, 3.0)["value"] in (2.0, 4.0)
    assert nearest(of, 2.9)["value"] == 4.0
    assert nearest(of, 1e9)["aggregate"] == "mean"


def test_joint_distance_uses_one_reading_for_all(readings):
    """Numbers of different readings would be put together to match the paper's."""
    found = numbers(readings)
    paper = {"condition_number": 10.0, "lipschitz_natural": 2.0**10, "lipschitz_euclidean": 2.0**13}
    joint = joint_distances(found, paper, list(paper))
    assert len(joint) == 3 * 3 * 2
    best = joint.iloc[0]
    assert (best["variation"], best["test_label"]) == ("base", "predicted")
    assert (best["definition"], best["aggregate"]) == ("gradient", "median")
    assert best["factor"] == pytest.approx(1.0)
    # Every other one is off by the worst of its three numbers.
    last = joint.iloc[-1]
    ratios = [max(last[q] / paper[q], paper[q] / last[q]) for q in paper]
    assert last["factor"] == pytest.approx(max(ratios))
    assert np.all(np.diff(joint["factor"]) >= 0)


def test_shared_distance_is_the_worst_over_experiments(readings):
    """A reading that fits one experiment and not the other would be called the nearest to both."""
    found = numbers(readings)
    names = ("condition_number", "lipschitz_natural", "lipschitz_euclidean")
    first = {"condition_number": 10.0, "lipschitz_natural": 2.0**10, "lipschitz_euclidean": 2.0**13}
    second = {
        "condition_number": 100.0,
        "lipschitz_natural": 2.0**18,
        "lipschitz_euclidean": 2.0**21,
    }
    joints = {"a": joint_distances(found, first, names), "b": joint_distances(found, second, names)}
    shared = shared_distances(joints)
    assert len(shared) == len(joints["a"])
    keys = ["variation", "test_label", "ridge", "definition", "aggregate"]
    for _, row in shared.iterrows():
        factors = [
            joint.set_index(keys).loc[tuple(row[key] for key in keys), "factor"]
            for joint in joints.values()
        ]
        assert [row["factor of a"], row["factor of b"]] == factors
        assert row["factor"] == max(factors)
    assert np.all(np.diff(shared["factor"]) >= 0)


def test_what_a_reading_lacks_is_left_out_alone(readings):
    """One missing number would take the reading's others with it, or a share stay a share."""
    readings.loc[0, "kappa"] = np.nan
    readings["ridge"] = np.nan
    found = numbers(readings)
    assert list(found["quantity"]).count("condition_number") == 2
    assert len(found) == 3 * (1 + 3 + 6 + 6 + 2) - 1
    assert (found.loc[found["quantity"] == "certified_euclidean", "value"] == 10).all()
    assert list(found.index) == sorted(set(found.index))
    names = ["variation", "test_label", "ridge", "quantity", "value", "definition", "aggregate"]
    assert list(found) == names


def test_nearest_passes_over_zeros_and_counts_factors():
    """Zero has no logarithm; and 2.5 is nearer to 1 than to 8, by a factor of 2.5 against 3.2."""
    found = pd.DataFrame({"value": [0.0, 1.0, 8.0]})
    with np.errstate(divide="raise"):
        assert nearest(found, 2.5)["value"] == 1
        assert nearest(pd.DataFrame({"value": [0.0, 0.5, 8.0]}), 0.4)["value"] == 0.5


def test_tables_of_distances_are_numbered_and_name_the_reading_first(readings):
    """Rows would be looked up by where they stood before they were sorted."""
    found = numbers(readings)
    names = ("lipschitz_euclidean", "condition_number", "lipschitz_natural")
    paper = dict.fromkeys(names, 2.0**20)
    joint = joint_distances(found, paper, names)
    keys = ["variation", "test_label", "ridge", "definition", "aggregate"]
    assert list(joint) == [*keys, *names, "factor"]
    shared = shared_distances({"a": joint[::-1], "b": joint})
    assert list(shared) == [*keys, "factor of a", "factor of b", "factor"]
    for table in (joint, shared):
        assert list(table.index) == list(range(18))
