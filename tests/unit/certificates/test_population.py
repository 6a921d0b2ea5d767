"""Scripts that certify and count, on panels that are a part of the population, by enumeration.

The largest ‖ψ‖ and ‖φ‖ lie outside of the panel, and leverages are far from small, so that what is
taken from the wrong set of points shows.
"""

import numpy as np
import pandas as pd
import pytest
import torch

import certificates as certificates_script
import deletions as deletions_script
from chain import call
from population import INPUTS, Population, outside
from wtrak.errors import WtrakError
from wtrak.geometry.scores import whitened
from wtrak.job.experiment import load_geometry
from wtrak.job.io import load_arrays, save_arrays
from wtrak.reporting.panels import error_over_panels, share_from_error

SEED = 5


# --- certificates.py ---


@pytest.fixture(scope="module")
def certified(tmp_path_factory):
    """16 training points of which 7 are certified, and what the script writes of them."""
    folder = tmp_path_factory.mktemp("certificates")
    loud, panel = outside(16, 7, np.random.default_rng(SEED))
    population = Population(folder, m=4, loud={loud: 6.0})
    assert population.si.argmax() == loud
    call(
        certificates_script,
        folder,
        {"curve": "curve.csv", "table": "table.csv"},
        inputs=INPUTS,
        n_test=3,
        seed=SEED,
        n_points=7,
        deletion_range=[1e-3, 10.0],
        points=9,
        reported_deletions=[0.08, 0.2],
        block_size=5,
        device="cpu",
    )
    return population, panel, pd.read_csv(folder / "curve.csv"), pd.read_csv(folder / "table.csv")


def expected_radii(p, panel):
    """Radii of all pairs of the panel for each of three test points, from explicit φ and Q⁻¹."""
    i, j = np.triu_indices(len(panel), 1)
    euclidean = p.phi @ p.inverse, p.phi_test @ p.inverse, np.linalg.norm(p.phi, axis=1).max()
    out = {}
    for metric, (points, tests, radius) in {
        "natural": (p.psi, p.a, p.radius),
        "euclidean": euclidean,
    }.items():
        b = points[panel]
        c = b[i] - b[j]
        for t in range(3):
            a, gaps = tests[t], np.abs(p.tau[t, panel[i]] - p.tau[t, panel[j]])
            norm, norms = np.linalg.norm(a), np.linalg.norm(b, axis=1)
            tight = radius * (norm * norms + np.abs(b @ a))
            capped = min(norm, np.sqrt(2) * radius) if metric == "natural" else norm
            paper = 2 * radius * capped * norms
            differences = np.linalg.norm(c, axis=1)
            by = {
                "paper": gaps / (paper[i] + paper[j]),
                "tight": gaps / (tight[i] + tight[j]),
                "direct": gaps / (radius * (norm * differences + np.abs(c @ a))),
            }
            for method, radii in by.items():
                out.setdefault((metric, method), []).append(radii / p.unit[metric])
    return {key: np.array(values) for key, values in out.items()}


def test_certified_shares_are_those_of_the_whole_populations_radius(certified):
    """R of the panel alone is smaller, and would certify what a training point beyond it breaks."""
    population, panel, curve, table = certified
    expected = expected_radii(population, panel)
    found = table.set_index(["metric", "method", "deletions"])["share"]
    assert len(found) == 2 * len(expected) and set(found.index.droplevel(2)) == set(expected)
    for (metric, method, deletions), share in found.items():
        assert share == pytest.approx(np.mean(expected[metric, method] > deletions), abs=1e-12)
    assert found.between(0.05, 0.95).sum() >= 8
    deletions = np.geomspace(1e-3, 10, 9)
    for key, radii in expected.items():
        drawn = curve[(curve["metric"] == key[0]) & (curve["method"] == key[1])]
        np.testing.assert_allclose(drawn["deletions"], deletions)
        np.testing.assert_allclose(drawn["epsilon"], deletions * population.unit[key[0]])
        shares = [np.mean(radii > count) for count in deletions]
        np.testing.assert_allclose(drawn["share"], shares, rtol=1e-12, atol=1e-15)


def test_interval_of_a_share_is_that_of_a_u_statistic(certified):
    """4·Var over the panel's points, and the variance over test points."""
    population, panel, _, table = certified
    expected = expected_radii(population, panel)
    i, j = np.triu_indices(7, 1)
    for _, row in table.iterrows():
        held = expected[row["metric"], row["method"]] > row["deletions"]
        by_point = [held[:, (i == k) | (j == k)].mean() for k in range(7)]
        variance = 4 * np.var(by_point, ddof=1) / 7 + np.var(held.mean(axis=1), ddof=1) / 3
        expected_ends = share_from_error(row["share"], np.sqrt(variance), 3)
        assert (row["low"], row["high"]) == pytest.approx(expected_ends, rel=1e-9, abs=1e-12)


def test_interval_covers_the_spread_over_panels():
    """It would be half as wide as what other panels of the same size show."""
    rng = np.random.default_rng(0)
    n, shares, widths = 40, [], []
    pairs = np.triu_indices(n, 1)
    for _ in range(150):
        values = rng.random(n)
        radii = values[pairs[0]] + values[pairs[1]]
        _, table = certificates_script.summarise(
            lambda t, radii=radii: {("natural", "tight"): radii},
            1,
            pairs,
            n,
            np.array([0.5]),
            [0.7],
            {"natural": 1.0},
            1,
            lambda k: None,
        )
        shares.append(table["share"][0])
        widths.append(table["high"][0] - table["low"][0])
    assert np.mean(widths) / (2 * 1.96 * np.std(shares)) == pytest.approx(1, abs=0.15)


def summarised(radii, n_points, deletions, unit=1.0):
    """What `summarise` makes of radii of all pairs, (n_test, pairs)."""
    return certificates_script.summarise(
        lambda t: {("natural", "tight"): np.array(radii[t])},
        len(radii),
        np.triu_indices(n_points, 1),
        n_points,
        np.array(deletions),
        deletions,
        {"natural": unit},
        1,
        lambda k: None,
    )


def test_a_pair_at_its_radius_is_not_certified():
    """The order must be strict, on the curve and in the table."""
    curve, table = summarised([[2.0, 4.0, 6.0]], 3, [1.0, 2.0], unit=2.0)
    np.testing.assert_allclose(curve["share"], [2 / 3, 1 / 3])
    np.testing.assert_allclose(table["share"], [2 / 3, 1 / 3])
    # Of one test point only the panel varies: shares of its points are 1/2, 1/2 and 1; 0, ½, ½.
    errors = 2 * np.sqrt([1 / 12 / 3] * 2)
    ends = [share_from_error(*of, 1) for of in zip(table["share"], errors, strict=True)]
    np.testing.assert_allclose(table[["low", "high"]], ends)


def test_two_test_points_have_a_variance_and_points_may_have_no_certified_pair():
    """The last point of the panel is in no certified pair: it still counts."""
    _, table = summarised([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]], 3, [0.5])
    assert table["share"][0] == pytest.approx(1 / 6)
    # By point ¼, ¼ and 0; by test point ⅓ and 0.
    variance = 4 * np.var([0.25, 0.25, 0], ddof=1) / 3 + np.var([1 / 3, 0], ddof=1) / 2
    ends = share_from_error(1 / 6, np.sqrt(variance), 2)
    assert (table["low"][0], table["high"][0]) == pytest.approx(ends, rel=1e-9)


def test_more_is_not_certified_than_there_is(tmp_path):
    """Fewer test points than asked for would be certified; a panel may be all points."""
    p = Population(tmp_path, n=6, m=2)
    shared = {"inputs": INPUTS, "seed": 0, "deletion_range": [1e-3, 1.0], "points": 2}
    shared |= {"reported_deletions": [0.1], "block_size": 5, "device": "cpu"}
    outputs = {"curve": "curve.csv", "table": "table.csv"}
    with pytest.raises(WtrakError, match="3 test points are to be certified, but there are 2"):
        call(certificates_script, tmp_path, outputs, n_test=3, n_points=6, **shared)
    call(certificates_script, tmp_path, outputs, n_test=2, n_points=99, **shared)
    table = pd.read_csv(tmp_path / "table.csv").set_index(["metric", "method"])
    i, j = np.triu_indices(6, 1)
    held = []
    for t in range(2):
        norm, norms = np.linalg.norm(p.a[t]), np.linalg.norm(p.psi, axis=1)
        tight = p.radius * (norm * norms + np.abs(p.tau[t]))
        gaps = np.abs(p.tau[t, i] - p.tau[t, j])
        held.append(np.mean(gaps > 0.1 * p.unit["natural"] * (tight[i] + tight[j])))
    assert table["share"]["natural", "tight"] == pytest.approx(np.mean(held))


def test_differences_of_duplicates_are_rounded_up_by_their_dimension():
    """The rounding of as many numbers as there are points would be allowed for."""
    points = torch.zeros(2, 8, dtype=torch.float64)
    points[:, 0] = 1
    panel = certificates_script.metric_panel(points[:1], points, np.triu_indices(2, 1), 1.0)
    assert panel["differences"] == pytest.approx(2.0**-24, rel=1e-12)


# --- deletions.py ---

REMOVALS = [1, 2, 4]
TOP = [1, 3]


@pytest.fixture(scope="module", params=[(0, 2.0), (3, 2.0), (0, 300.0)])
def removed(request, tmp_path_factory):
    """What the script writes of pairs of 6 out of 14 points, and the pairs that it drew."""
    folder = tmp_path_factory.mktemp("deletions")
    rng = np.random.default_rng(SEED)
    loud, panel = outside(14, 6, rng)
    population = Population(
        folder, n=14, m=5, ridge=request.param[1], loud={loud: 10.0}, seed=request.param[0]
    )
    assert population.si.argmax() == loud
    bounds = np.random.default_rng(1).uniform(0.05, 0.4, (14, 3)) * [0, 0.5, 1.0]
    # Sizes of refits stand between those of removals.
    stored = np.insert(bounds, 2, 0.9, axis=1)
    removals = np.insert(REMOVALS, 2, 3)
    assert (np.diff(removals) > 0).all()
    save_arrays(folder / "bounds", {"bounds": stored, "removals": removals})
    call(
        deletions_script,
        folder,
        {"pairs": "pairs.csv", "top_k": "top_k.csv"},
        inputs=INPUTS | {"cross_leverage": "bounds"},
        n_test=4,
        seed=SEED,
        n_points=6,
        pairs_per_test=12,
        attacked_per_test=8,
        removals=REMOVALS,
        top_k=TOP,
        block_size=5,
        device="cpu",
    )
    drawn = []
    for seed in rng.integers(2**63, size=4):
        i, j = np.random.default_rng(seed).integers(6, size=(2, 12))
        drawn.append([(panel[a], panel[b]) for a, b in zip(i, j, strict=True) if a != b])
    pairs, top = (pd.read_csv(folder / name) for name in ("pairs.csv", "top_k.csv"))
    return population, bounds, drawn, pairs.set_index(["kind", "removals"]), top


def survival(p, bounds, t, i, j):
    """What each kind says of one pair: explicit inverses, and the bound as it is written down."""
    n, gap = p.n, p.gap_without(t, i, j, [])
    sign, c = np.sign(gap), p.psi[i] - p.psi[j]
    single = sign * np.array([p.gap_without(t, i, j, [k]) for k in range(n)])
    harm = sign * gap - single
    order = np.argsort(-harm)
    out = {"exact": [single.min() > 0], "replacement": [True]}
    for k in range(n):
        inverse = n * np.linalg.inv(n * np.eye(len(c)) - np.outer(p.psi[k], p.psi[k]))
        u, v = inverse @ p.a[t], inverse @ c
        moved = p.radius**2 * (np.linalg.norm(u) * np.linalg.norm(v) + abs(u @ v)) / (2 * n)
        out["replacement"][0] &= single[k] > moved
    largest = np.maximum(harm[order], 0)
    out["first_order"] = [abs(gap) > largest[:m].sum() for m in REMOVALS]
    out["attack"] = [
        all(sign * p.gap_without(t, i, j, order[:size]) > 0 for size in REMOVALS if size <= m)
        for m in REMOVALS
    ]
    out["proved"] = []
    for m, r in zip(REMOVALS, bounds.T, strict=True):
        x2, y2 = p.tau[t] ** 2 / (n - p.si), (p.psi @ c) ** 2 / (n - p.si)
        alpha2 = np.sqrt(y2[order[:m]].sum() / x2[order[:m]].sum())
        effects = (harm + r * (alpha2 * x2 + y2 / alpha2) / 2) / (1 - r**2)
        out["proved"].append(abs(gap) > np.maximum(np.sort(effects)[::-1][:m], 0).sum())
    return out


def test_pairs_survive_as_explicit_inverses_say(removed):
    """A leverage, a set, a radius or an order of magnitude would be another one."""
    population, bounds, drawn, found, _ = removed
    said = [
        [survival(population, bounds, t, i, j) for i, j in pairs] for t, pairs in enumerate(drawn)
    ]
    informative = 0
    for kind, removals in {
        "exact": [1],
        "replacement": [1],
        "first_order": REMOVALS,
        "proved": REMOVALS,
        "attack": REMOVALS,
    }.items():
        for position, m in enumerate(removals):
            counted = 8 if kind in ("proved", "attack") else 12
            values = [[pair[kind][position] for pair in of[:counted]] for of in said]
            shares = [np.mean(of) for of in values]
            row = found.loc[(kind, m)]
            assert row["share"] == pytest.approx(np.mean(shares), abs=1e-12)
            assert row["pairs"] == sum(map(len, values))
            cases = [
                (t, i, j, value, 0.25 / len(of))
                for t, (pairs, of) in enumerate(zip(drawn, values, strict=True))
                for (i, j), value in zip(pairs, of, strict=False)
            ]
            tests, first, second, hits, weights = map(np.array, zip(*cases, strict=True))
            error = error_over_panels(hits, tests, first, second, weights)
            assert error >= np.std(shares, ddof=1) / np.sqrt(4) - 1e-12
            ends = share_from_error(np.mean(shares), error, 4)
            assert (row["low"], row["high"]) == pytest.approx(ends, rel=1e-6, abs=1e-9)
            informative += 0 < np.mean(shares) < 1
    assert len(found) == 2 + 3 * len(REMOVALS)
    # With a large ridge, as with many points, replacements are certified.
    certain = population.ridge > 100
    assert informative >= (1 if certain else 7)
    assert 0.1 < found.loc[("replacement", 1), "share"] < 0.9 or not certain


def test_top_sets_are_certified_against_every_point_outside(removed):
    """A set would be certified against the panel alone."""
    p, _, _, _, top = removed
    found = top.set_index(["test", "k"])
    assert len(found) == 4 * len(TOP)
    for (t, k), row in found.iterrows():
        inside = np.argsort(-p.tau[t])[:k]
        least = np.inf
        for i in inside:
            for j in np.setdiff1d(np.arange(p.n), inside):
                gap = p.tau[t, i] - p.tau[t, j]
                product = np.linalg.norm(p.a[t]) * np.linalg.norm(p.psi[i] - p.psi[j])
                least = min(least, gap / (p.radius * (product + gap)))
        assert row["epsilon"] == pytest.approx(least, rel=1e-6)
        assert row["deletions"] == pytest.approx(least / p.unit["natural"], rel=1e-6)


def examined(gap, x, y, slack, cross, removals, **changes):
    """`examine_pair` of points given by hand, whose inner products are those of `cross`."""
    given = {
        "difference": 1.0,
        "norm_test": 1.0,
        "radius": 1e-9,
        "bounds": np.zeros((len(x), len(removals))),
    }
    given |= {"attack": lambda rows: cross[np.ix_(rows, rows)]} | changes
    return deletions_script.examine_pair(x, y, gap, slack=slack, removals=removals, **given)


def test_a_set_that_turns_a_pair_turns_every_larger_number():
    """At most m removals: a larger set that happens to turn it back would count as survival."""
    x, y, slack = np.array([-1.1, 1.0, 0.0]), np.array([1.0, -0.01, 0.0]), np.ones(3)
    cross = np.zeros((3, 3))
    cross[0, 1] = cross[1, 0] = 0.5
    found = examined(1.0, x, y, slack, cross, [1, 2])
    # One removal takes 1.1 of the gap of 1; with the second, its partner gives some back.
    assert found["attack"] == [False, False]
    assert examined(1.2, x, y, slack, cross, [1, 2])["attack"] == [True, True]
    assert examined(1.0, x, y, slack, cross, [2])["attack"] == [True]


def test_without_an_attack_no_set_is_judged():
    """A pair that is not attacked would be counted among those that are."""
    x, y, slack = np.array([-1.1, 1.0, 0.0]), np.array([1.0, -0.01, 0.0]), np.ones(3)
    found = examined(1.0, x, y, slack, np.zeros((3, 3)), [1, 2], attack=None)
    assert set(found) == {"exact", "replacement", "first_order"}


def test_a_pair_at_its_bound_is_not_certified():
    """A tie would count as an order that holds."""
    x, y, slack, cross = np.array([-1.0, 0.0]), np.ones(2), np.ones(2), np.zeros((2, 2))
    found = examined(1.0, x, y, slack, cross, [1])
    assert not any(found[kind][0] for kind in ("exact", "first_order", "proved", "attack"))
    found = examined(1.0 + 1e-9, x, y, slack, cross, [1])
    assert all(found[kind][0] for kind in ("exact", "first_order", "proved", "attack"))


def test_first_order_sums_the_harmful_of_as_many_as_are_removed():
    """Removals that help would be made, or another number of them."""
    none = np.zeros((4, 4))
    x, y, slack = np.array([-1.0, -0.5, -0.25, -0.125]), np.ones(4), np.ones(4)
    assert examined(1.6, x, y, slack, none, [1, 2, 4])["first_order"] == [True, True, False]
    assert examined(1.3, x, y, slack, none, [1, 2, 4])["first_order"] == [True, False, False]
    assert examined(1.8, x, y, slack, none, [1, 3])["first_order"] == [True, True]
    x = np.array([-1.1, 0.5, 0.5, 0.5])
    assert examined(1.0, x, y, slack, none, [1, 2])["first_order"] == [False, False]


def test_replacement_of_a_pair_by_hand():
    """Leverages, inner products and the radius would reach the certificate in another order."""
    x, y, slack = np.array([0.5, 0, 0]), np.array([0.2, 0, 0]), np.array([2.0, 3.0, 3.0])
    stretch = (2 + 1 / 2) / 2
    # ‖a‖ = 1 and ‖c‖ = 2.
    widest = np.sqrt((1 + stretch * 0.25) * (4 + stretch * 0.04)) + 1 + stretch * 0.1
    edge = np.sqrt(6 * (1 + 0.1 / 2) / widest)
    for factor, held in ((1 - 1e-9, True), (1 + 1e-9, False)):
        given = {"difference": 2.0, "radius": factor * edge}
        found = examined(1.0, x, y, slack, np.zeros((3, 3)), [1], **given)
        assert found["replacement"] == [held]


def test_no_more_is_removed_than_there_is(tmp_path):
    """All training points would be removed, or a top set hold all of them."""
    Population(tmp_path, n=6, m=2)
    save_arrays(tmp_path / "bounds", {"bounds": np.zeros((6, 2)), "removals": np.array([1, 5])})
    given = {"n_test": 2, "removals": [1, 5], "top_k": [1, 5], "n_points": 99, "seed": 0}
    given |= {"pairs_per_test": 6, "attacked_per_test": 6, "block_size": 5, "device": "cpu"}
    inputs = INPUTS | {"cross_leverage": "bounds"}
    outputs = {"pairs": "pairs.csv", "top_k": "top_k.csv"}
    for change in ({"n_test": 3}, {"removals": [1, 6]}, {"top_k": [1, 6]}):
        with pytest.raises(WtrakError, match="are asked of 2 test and 6 training points"):
            call(deletions_script, tmp_path, outputs, inputs=inputs, **(given | change))
    call(deletions_script, tmp_path, outputs, inputs=inputs, **given)
    assert len(pd.read_csv(tmp_path / "top_k.csv")) == 4
    assert pd.read_csv(tmp_path / "pairs.csv")[["low", "high"]].notna().all(axis=None)
    call(deletions_script, tmp_path, outputs, inputs=inputs, **(given | {"n_test": 1}))
    assert pd.read_csv(tmp_path / "pairs.csv")[["low", "high"]].isna().all(axis=None)


def test_duplicates_on_both_sides_of_a_top_set_are_not_certified(tmp_path):
    """Rounding would make their difference 0 or NaN, and the radius large or NaN."""
    p = Population(tmp_path, n=12, m=2, ridge=0.3)
    rng = np.random.default_rng(0)
    residuals = load_arrays(tmp_path / "residuals")
    e = np.repeat(rng.standard_normal((2, 3)), 6, axis=0)
    e -= e.mean(axis=1, keepdims=True)
    residuals["train_residuals"] = e * (1 + 1e-15 * rng.integers(-3, 4, size=(12, 1)))
    save_arrays(tmp_path / "residuals", residuals)
    features = np.ones_like(p.features["train"])
    save_arrays(tmp_path / "activations", p.features | {"train": features})
    save_arrays(tmp_path / "bounds", {"bounds": np.zeros((12, 1)), "removals": np.array([1])})
    factor = torch.from_numpy(load_arrays(tmp_path / "factor")["factor"])
    _, train, test = load_geometry(
        *(tmp_path / INPUTS[name] for name in ("activations", "residuals", "factor")), "cpu"
    )
    psi, a = (whitened(of, factor, block_size=5).numpy() for of in (train, test))
    changed = {"self_influence_train": (psi**2).sum(axis=1), "trak_scores": a @ psi.T}
    save_arrays(tmp_path / "scores", load_arrays(tmp_path / "scores") | changed)
    given = {"n_test": 2, "removals": [1], "top_k": [1, 2, 3, 4, 5], "n_points": 12, "seed": 0}
    given |= {"pairs_per_test": 6, "attacked_per_test": 6, "block_size": 5, "device": "cpu"}
    outputs = {"pairs": "pairs.csv", "top_k": "top_k.csv"}
    call(deletions_script, tmp_path, outputs, inputs=INPUTS | {"cross_leverage": "bounds"}, **given)
    assert (pd.read_csv(tmp_path / "top_k.csv")["epsilon"] < 1e-6).all()


def test_each_pair_is_examined_with_its_own_numbers(tmp_path, monkeypatch):
    """The test point's and the pair's inner products or norms would change places."""
    p = Population(tmp_path, n=9, m=2, loud={3: 5.0})
    bounds = np.random.default_rng(0).uniform(0.1, 0.3, (9, 2))
    save_arrays(tmp_path / "bounds", {"bounds": bounds, "removals": np.array([1, 2])})
    calls = []

    def examine(*arguments, **named):
        calls.append((arguments, named))
        return original(*arguments, **named)

    original = deletions_script.examine_pair
    monkeypatch.setattr(deletions_script, "examine_pair", examine)
    given = {"n_test": 2, "removals": [1, 2], "top_k": [1], "n_points": 5, "seed": 0}
    given |= {"pairs_per_test": 9, "attacked_per_test": 4, "block_size": 5, "device": "cpu"}
    outputs = {"pairs": "pairs.csv", "top_k": "top_k.csv"}
    call(deletions_script, tmp_path, outputs, inputs=INPUTS | {"cross_leverage": "bounds"}, **given)
    assert len(calls) > 10
    for (tau, y, gap, difference, slack, removals), named in calls:
        t = int(np.argmin(np.abs(p.tau - tau).sum(axis=1)))
        np.testing.assert_allclose(tau, p.tau[t], rtol=1e-8, atol=1e-10)
        i, j = min(
            ((i, j) for i in range(9) for j in range(9)),
            key=lambda pair: np.abs(p.psi @ (p.psi[pair[0]] - p.psi[pair[1]]) - y).sum(),
        )
        c = p.psi[i] - p.psi[j]
        np.testing.assert_allclose(y, p.psi @ c, rtol=1e-7, atol=1e-9)
        assert gap == pytest.approx(p.a[t] @ c, rel=1e-7, abs=1e-10)
        assert difference == pytest.approx(np.linalg.norm(c), rel=1e-7)
        np.testing.assert_allclose(slack, 9 - p.si, rtol=1e-9)
        assert removals == [1, 2]
        assert named["norm_test"] == pytest.approx(np.linalg.norm(p.a[t]), rel=1e-8)
        assert named["radius"] == pytest.approx(p.radius, rel=1e-12)
        np.testing.assert_array_equal(named["bounds"], bounds)
        if named["attack"] is not None:
            gram = p.psi[[2, 7]] @ p.psi[[2, 7]].T
            np.testing.assert_allclose(named["attack"](np.array([2, 7])), gram, rtol=1e-8)
    assert sum(named["attack"] is not None for _, named in calls) <= 8
