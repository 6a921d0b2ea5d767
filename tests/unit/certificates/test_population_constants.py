"""The frontier, Lipschitz constants and cross-leverages of a small population, by enumeration."""

import itertools

import numpy as np
import pandas as pd
import pytest

import cross_leverage as cross_leverage_script
import frontier as frontier_script
import lipschitz as lipschitz_script
import lipschitz_ratio as ratio_script
from chain import call
from population import INPUTS, Population
from wtrak.certificates.theorems import NORMALISATIONS, SHAPES, lipschitz_ratios, spectrum
from wtrak.errors import WtrakError
from wtrak.job.io import load_arrays, read_json, write_json

# --- frontier.py ---


def radii_of(p, metric, m):
    """|τ_i − τ_j|/(L_i + L_j) of all pairs for each of m test points, shape (m, pairs)."""
    if metric == "natural":
        capped = np.minimum(np.sqrt(p.si_test), np.sqrt(2) * p.radius)
        constants = 2 * p.radius * np.outer(capped, np.sqrt(p.si))
    else:
        largest = np.linalg.norm(p.phi, axis=1).max()
        tests, points = (np.linalg.norm(x @ p.inverse, axis=1) for x in (p.phi_test, p.phi))
        constants = 2 * largest * np.outer(tests, points)
    i, j = np.triu_indices(p.n, 1)
    widths = constants[:m, i] + constants[:m, j]
    return np.abs(p.tau[:m, i] - p.tau[:m, j]) / widths


def frontier(folder, **changes):
    """What the script writes of 3 test points."""
    outputs = {"frontier": "frontier.csv", "record": "frontier.json"}
    given = {"n_test_frontier": 3, "points": 7, "share_range": [0.05, 0.9], "paper_share": 0.687}
    inputs = {name: INPUTS[name] for name in ("scores", "deletion")}
    call(frontier_script, folder, outputs, inputs=inputs, **(given | changes))
    return pd.read_csv(folder / "frontier.csv"), read_json(folder / "frontier.json")


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """A population, radii of its pairs by metric, and the frontier that the script draws."""
    folder = tmp_path_factory.mktemp("frontier")
    p = Population(folder, n=11, m=4, ridge=0.5, seed=20)
    # One test point is beyond the cap.
    assert (p.si_test[:3] > 2 * p.si.max()).any()
    radii = {metric: radii_of(p, metric, 3) for metric in ("natural", "euclidean")}
    return folder, p, radii, *frontier(folder)


def test_frontier_counts_every_pair(drawn):
    """A share would be of other pairs, in another metric or unit, or a quantile of another."""
    _, p, radii, curve, record = drawn
    assert list(curve["metric"]) == ["natural"] * 7 + ["euclidean"] * 7
    for metric, of in curve.groupby("metric"):
        shares = np.array([(radii[metric] > epsilon).mean(axis=1) for epsilon in of["epsilon"]])
        low, high = np.quantile(shares, [0.1, 0.9], axis=1)
        # The ends are radii, which rounding puts on either side of themselves.
        inner = slice(1, -1)
        np.testing.assert_allclose(of["share"][inner], shares.mean(axis=1)[inner], rtol=1e-12)
        np.testing.assert_allclose(of["share_p10"][inner], low[inner], rtol=1e-12)
        np.testing.assert_allclose(of["share_p90"][inner], high[inner], rtol=1e-12)
        np.testing.assert_allclose(of["deletions"] * p.unit[metric], of["epsilon"], rtol=1e-12)
        # From where about 90 % are certified to where about 5 % are.
        assert of["share"].iloc[0] == pytest.approx(0.9, abs=0.02)
        assert of["share"].iloc[-1] == pytest.approx(0.05, abs=0.02)
        np.testing.assert_allclose(np.diff(np.log(of["epsilon"]), 2), 0, atol=1e-9)
        assert record["share_at_one_deletion"][metric] == (radii[metric] > p.unit[metric]).mean()
        tenth = record["share_at_tenth_of_deletion"][metric]
        assert tenth == pytest.approx((radii[metric] > 0.1 * p.unit[metric]).mean())
        assert tenth > record["share_at_one_deletion"][metric]
    assert record["n_test"] == 3 and record["n_train"] == 11
    assert record["pairs_per_test_point"] == 55 and record["one_deletion"] == p.unit
    assert 0 < record["share_at_one_deletion"]["natural"] < 1


def test_the_papers_share_is_reached_at_a_radius(drawn):
    """ε would be another, or the comparison be at another ε or in another unit."""
    _, p, radii, _, record = drawn
    assert record["paper_share"] == 0.687
    # Of 165 pairs 114 are the fewest that make up the share.
    at = {metric: np.sort(of, axis=None)[-114] for metric, of in radii.items()}
    for metric, epsilon in at.items():
        found = record["at_paper_share"][metric]
        assert found["epsilon"] == pytest.approx(epsilon, rel=1e-9)
        assert found["deletions"] == pytest.approx(epsilon / p.unit[metric], rel=1e-9)
    ratio = at["natural"] / p.unit["natural"] / (at["euclidean"] / p.unit["euclidean"])
    assert record["natural_over_euclidean_radius"] == pytest.approx(ratio, rel=1e-9)
    same, euclidean = record["at_paper_share"]["natural"], radii["euclidean"]
    expected = (euclidean > same["epsilon"]).mean()
    assert record["euclidean_share_at_same_epsilon"] == pytest.approx(expected)
    of_deletions = (euclidean > same["deletions"] * p.unit["euclidean"]).mean()
    assert record["euclidean_share_at_same_deletions"] == pytest.approx(of_deletions)
    assert 0 < of_deletions < 1 and of_deletions != expected


def test_a_share_that_a_point_of_the_grid_has_is_reached(drawn):
    """A tie would be looked for above the point that attains it, and not be found."""
    folder, _, radii, curve, _ = drawn
    share = float(curve["share"][3])
    _, record = frontier(folder, paper_share=share)
    epsilon = record["at_paper_share"]["natural"]["epsilon"]
    assert (radii["natural"] > epsilon).mean() == share


@pytest.mark.parametrize("share", [0.001, 0.999])
def test_a_share_outside_of_the_grid_is_not_guessed(drawn, share):
    """An end of the grid would be written down as where it is reached."""
    folder = drawn[0]
    _, record = frontier(folder, paper_share=share)
    assert record["natural_over_euclidean_radius"] is None
    assert record["at_paper_share"] == {"natural": None, "euclidean": None}
    assert record["euclidean_share_at_same_epsilon"] is None
    assert record["euclidean_share_at_same_deletions"] is None


def test_radii_are_compared_where_both_metrics_reach_the_share(drawn):
    """A radius would be divided by one that does not exist."""
    folder, _, _, curve, _ = drawn
    for end in ("min", "max"):
        low, high = sorted(curve.groupby("metric")["share"].agg(end))
        if low < high:
            break
    assert low < high
    _, record = frontier(folder, paper_share=(low + high) / 2)
    assert sorted(map(bool, record["at_paper_share"].values())) == [False, True]
    assert record["natural_over_euclidean_radius"] is None


# --- lipschitz.py ---


def test_constants_are_aggregated_over_all_pairs(tmp_path):
    """A constant would be under another name, or of other norms."""
    p = Population(tmp_path, n=10, m=5, ridge=0.5, seed=20)
    spaces = {"full": {"smallest_eigenvalue": 0.7}, "sum_zero": {"smallest_eigenvalue": 0.9}}
    write_json(tmp_path / "spectrum.json", {"spaces": spaces})
    inputs = {"scores": "scores", "spectrum": "spectrum.json"}
    outputs = {"constants": "lipschitz.csv", "enlargement": "enlargement.csv"}
    call(lipschitz_script, tmp_path, outputs, inputs=inputs)
    table = pd.read_csv(tmp_path / "lipschitz.csv")
    assert (p.si_test > 2 * p.si.max()).any()
    norms, inverse = (np.linalg.norm(x, axis=1) for x in (p.phi, p.phi @ p.inverse))
    tests, inverse_tests = (np.linalg.norm(p.phi_test @ x, axis=1) for x in (np.eye(9), p.inverse))
    capped = np.minimum(np.sqrt(p.si_test), np.sqrt(2) * p.radius)
    expected = {
        ("natural", "capped"): 2 * p.radius * np.outer(capped, np.sqrt(p.si)),
        ("euclidean", "gradient"): 2 * norms.max() * np.outer(inverse_tests, inverse),
        ("euclidean", "spectral"): 2 * norms.max() * np.outer(tests, norms) / 0.7**2,
    }
    aggregates = {"max": np.max, "median": np.median, "mean": np.mean}
    found = table.set_index(["metric", "definition", "aggregate"])["lipschitz"]
    assert len(found) == 9
    for key, constants in expected.items():
        for name, aggregate in aggregates.items():
            assert found[(*key, name)] == pytest.approx(aggregate(constants), rel=1e-12)
    # By how much Q⁻¹ enlarges slopes and constants, each point and each pair counted.
    plain = 2 * norms.max() * np.outer(tests, norms)
    ratios = {
        "test_point": inverse_tests / tests,
        "training_point": inverse / norms,
        "pair": expected["euclidean", "gradient"] / plain,
    }
    table = pd.read_csv(tmp_path / "enlargement.csv").set_index(["of", "aggregate"])
    for what, values in ratios.items():
        low, high = (np.quantile(values, q, method="inverted_cdf") for q in (0.1, 0.9))
        if what != "pair":
            low, high = np.quantile(values, [0.1, 0.9])
        wanted = {name: aggregate(values) for name, aggregate in aggregates.items()}
        for name, value in (wanted | {"p10": low, "p90": high}).items():
            assert table["value"][what, name] == pytest.approx(value, rel=1e-9), (what, name)
        # No more than Q⁻¹ can.
        power = 2 if what == "pair" else 1
        assert values.max() <= np.linalg.norm(p.inverse, 2) ** power
        assert table["unit"][what].eq({1: "1/|phi|^2", 2: "1/|phi|^4"}[power]).all()
    for name, aggregate in aggregates.items():
        ratio = aggregate(expected["euclidean", "gradient"]) / aggregate(plain)
        assert table["value"]["aggregates", name] == pytest.approx(ratio, rel=1e-9)
    assert len(table) == 3 * 5 + 3


# --- lipschitz_ratio.py ---


def test_ratios_are_of_the_same_points_under_every_spectrum(tmp_path):
    """The ratio would follow the points that were drawn and not κ or the scale."""
    given = {"dimension": 4, "n_points": 9, "seed": 2}
    call(ratio_script, tmp_path, {"table": "ratio.csv"}, inputs={}, **given)
    table = pd.read_csv(tmp_path / "ratio.csv")

    def ratios(values):
        return pd.Series(lipschitz_ratios(values, 9, np.random.default_rng(2)))

    def check(row, values):
        expected = ratios(values)
        np.testing.assert_allclose(row[list(expected.index)].astype(float), expected, rtol=1e-12)

    scaled = table[table["check"] == "scale"]
    np.testing.assert_allclose(scaled["scale"], 10.0 ** np.arange(-2, 2.5, 0.5), rtol=1e-12)
    # Half the logarithm of κ apart, in φ; the ratio goes as 1/scale.
    values = np.array([1, 10 ** (-4 / 3), 10 ** (-8 / 3), 1e-4])
    for _, row in scaled.iterrows():
        check(row, row["scale"] ** 2 * values)
        assert (row["shape"], row["kappa"]) == ("geometric", 1e4)
    np.testing.assert_allclose(np.ptp(scaled["ratio_max"] * scaled["scale"]), 0, atol=1e-9)
    of_kappa = table[table["check"] == "kappa"]
    assert len(scaled) + len(of_kappa) == len(table)
    kappas = np.geomspace(10, 1e6, 11)
    np.testing.assert_allclose(kappas[[0, 2, -1]], [10, 100, 1e6])
    expected = list(itertools.product(SHAPES, NORMALISATIONS, kappas))
    assert len(of_kappa) == len(expected)
    assert (of_kappa["scale"] == 1).all()
    for key, (_, row) in zip(expected, of_kappa.iterrows(), strict=True):
        shape, normalisation, kappa = key
        assert (row["shape"], row["normalisation"]) == (shape, normalisation)
        assert row["kappa"] == pytest.approx(kappa, rel=1e-12)
        check(row, spectrum(shape, kappa, normalisation, 4))


# --- cross_leverage.py ---


def test_bounds_are_the_largest_sums_of_each_row(tmp_path):
    """A bound would be of another number of removals, or of fewer points than there are."""
    p = Population(tmp_path, n=9, m=2, ridge=20.0)
    given = {"block_size": 4, "device": "cpu"}
    inputs = {name: INPUTS[name] for name in ("activations", "residuals", "factor", "scores")}
    slack = 9 - p.si
    o = np.abs(p.psi @ p.psi.T) / np.sqrt(np.outer(slack, slack))
    np.fill_diagonal(o, 0)
    o = -np.sort(-o, axis=1)
    assert o.sum(axis=1).max() < 0.8
    for removals in ([4, 1, 2], [1], [3, 8]):
        call(
            cross_leverage_script,
            tmp_path,
            {"bounds": "bounds"},
            inputs=inputs,
            **given,
            removals=removals,
        )
        found = load_arrays(tmp_path / "bounds")
        assert list(found["removals"]) == removals
        assert found["bounds"].shape == (9, len(removals))
        for bounds, size in zip(found["bounds"].T, removals, strict=True):
            exact = o[:, : size - 1].sum(axis=1)
            assert (bounds >= exact).all()
            np.testing.assert_allclose(bounds, exact, rtol=1e-4, atol=1e-7)
    with pytest.raises(WtrakError, match="9 removals are asked of 9 training points"):
        call(
            cross_leverage_script,
            tmp_path,
            {"bounds": "bounds"},
            inputs=inputs,
            **given,
            removals=[1, 9],
        )
