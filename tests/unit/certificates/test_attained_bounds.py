"""Instances on the edge: each bound is attained, so that a looser or a false constant fails.

Random problems leave a bound so much room that a wrong one holds too. Here the worst case is known
in closed form, and the certificate must end where it begins.
"""

import itertools

import numpy as np
import pytest

from wtrak.certificates.pairs import (
    direct_radius,
    gap_without,
    gaps_after_removal,
    harmful_order,
    interval_radius,
    removal_bound,
    scores_without,
    survives_removal,
    survives_replacement,
    tight_constant,
    top_k_radius,
)
from wtrak.geometry.cross_leverage import row_bounds


def unit(angle):
    """A direction in the plane, by its angle in degrees."""
    return np.array([np.cos(np.radians(angle)), np.sin(np.radians(angle))])


# --- radii ---


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("angle", [89.0, 85.0, 60.0])
def test_direct_radius_is_where_the_worst_move_turns_the_pair(angle, sign):
    """A larger radius would be broken by this move, a smaller one certify too little.

    Mass on the sphere ‖ψ‖ = R at the axis q ∝ â − ĉ moves inwards by a share δ of R. That takes
    r = w(2δ − δ²)R² from the second moment along q; the pair turns at r = 2ρ/(1 + ρ), ρ = cos.
    """
    a, c, radius, delta = 1.3 * unit(0), sign * 0.7 * unit(angle), 1.7, 1e-3
    gap = a @ c
    q = a / np.linalg.norm(a) - np.sign(gap) * c / np.linalg.norm(c)
    q /= np.linalg.norm(q)
    constant = tight_constant(gap, np.linalg.norm(c), np.linalg.norm(a), radius)
    certified = float(direct_radius(np.array(gap), np.array(constant)))

    def gap_at(epsilon):
        moved = epsilon / (delta * radius)
        taken = moved * ((radius * q)[:, None] * (radius * q) * (1 - (1 - delta) ** 2))
        return a @ np.linalg.solve(np.eye(2) - taken, c)

    assert gap_at(0.999 * certified) * gap > 0
    assert gap_at(1.002 * certified) * gap < 0


def test_tight_constant_is_the_steepest_slope_on_the_sphere():
    """Moving radially at the axis of a and c, S changes by exactly R(‖a‖‖b‖ + |a·b|)."""
    for angle, sign in itertools.product((0.0, 35.0, 90.0, 140.0), (1, -1)):
        a, b, radius = 1.3 * unit(0), 0.7 * unit(angle), 1.7
        axis = a / np.linalg.norm(a) + (1 if a @ b >= 0 else -1) * b / np.linalg.norm(b)
        axis *= sign / np.linalg.norm(axis)
        near, far = (r * axis for r in (radius - 1e-6, radius))
        slope = abs((a @ far) * (b @ far) - (a @ near) * (b @ near)) / 1e-6
        found = tight_constant(a @ b, np.linalg.norm(b), np.linalg.norm(a), radius)
        assert found == pytest.approx(slope, rel=1e-5)


def test_intervals_touch_at_their_radius():
    """τ ± ε·L of the two points would overlap below the radius, or be apart beyond it."""
    gaps, first, second = np.array([3.0, -3.0]), np.array([1.0, 1.0]), np.array([0.5, 2.0])
    found = interval_radius(gaps, first, second)
    np.testing.assert_allclose(found * first + found * second, np.abs(gaps), rtol=1e-15)


@pytest.mark.parametrize(
    ("gap", "difference", "expected"),
    [
        # |Δ|/(R(‖a‖‖c‖ + |Δ|)) by hand, with ‖a‖ = 2 and R = 3.
        (2.0, 1.0, 1 / 6),  # parallel: Δ = ‖a‖‖c‖
        (-1.0, 1.0, 1 / 9),
        (1.0, 2.0, 1 / 15),
        (0.0, 1.0, 0.0),
    ],
)
def test_direct_radius_by_hand(gap, difference, expected):
    """Another size of the gap, or of the constant, would be certified."""
    constant = tight_constant(gap, difference, 2.0, 3.0)
    assert direct_radius(np.array(gap), np.array(constant)) == pytest.approx(expected, rel=1e-12)


def test_a_radius_of_a_top_set_is_that_of_its_weakest_pair():
    """A pair within the set, or one already outside, would decide it."""
    scores = np.array([5.0, 4.0, 3.0, 2.0])
    to_others = np.array([[0.0, 0.1, 4.0, 6.0], [0.1, 0.0, 3.0, 5.0]])
    assert top_k_radius(scores, np.array([0, 1]), to_others) == 3.0


# --- removals ---


def test_one_removal_turns_a_pair_exactly_at_its_gap():
    """A pair would survive a removal that ties it, or fall to one that leaves it."""
    points = np.array([[3.0, 1.0], [0.5, 0.2], [1.0, 2.0]])
    a, c = np.array([1.0, 0.4]), np.array([-0.6, 1.1])
    x, y, slack = points @ a, points @ c, len(points) * 5 - (points**2).sum(axis=1)
    shifts = np.array(
        [a @ (15 * np.linalg.inv(15 * np.eye(2) - np.outer(k, k)) - np.eye(2)) @ c for k in points]
    )
    np.testing.assert_allclose(gaps_after_removal(0.7, x, y, slack), 0.7 + shifts, rtol=1e-12)
    edge = -shifts.min()
    assert edge > 0
    assert survives_removal(edge * 1.0001, x, y, slack)
    assert not survives_removal(edge * 0.9999, x, y, slack)
    # A negative gap is turned by what raises it.
    assert survives_removal(-shifts.max() * 1.0001, x, y, slack)
    assert not survives_removal(-shifts.max() * 0.9999, x, y, slack)
    # A tie is no order.
    assert not survives_removal(1.0, np.array([1.0]), np.array([-1.0]), np.array([1.0]))


def gap_after_replacement(point, new, n, a, c):
    """a·c when `point` is replaced by `new`: explicit inverse, relative to n."""
    return n * (a @ np.linalg.solve(n * np.eye(2) - np.outer(point, point) + np.outer(new, new), c))


def turning_radius(point, n, a, c):
    """The least R at which a point of the ball in the place of `point` ties the pair."""
    inverse = n * np.linalg.inv(n * np.eye(2) - np.outer(point, point))
    u, v = inverse @ a, inverse @ c
    _, vectors = np.linalg.eigh(np.outer(u, v) + np.outer(v, u))

    def turned(radius):
        ends = [gap_after_replacement(point, radius * q, n, a, c) for q in vectors.T]
        return min(np.array(ends) * np.sign(a @ c)) <= 0

    low, high = 0.0, 100 * np.sqrt(n)
    assert not turned(low)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if turned(middle) else (middle, high)
    return high


def test_a_replacement_that_ties_a_pair_turns_it():
    """R² = n takes exactly the gap of parallel a and c."""
    zero, given = np.zeros(1), {"norm_test": 1.0, "difference": 1.0, "n": 4}
    assert not survives_replacement(1.0, zero, zero, np.array([4.0]), radius=2.0, **given)
    assert survives_replacement(1.0, zero, zero, np.array([4.0]), radius=1.999, **given)


def point_that_leaves(left, leverage, between, n):
    """A point of that leverage whose removal leaves the gap `left` of a at 0°, c at γ = `between`.

    cos γ + leverage/(1 − leverage)·cos θ·cos(θ − γ) = left.
    """
    if leverage == 0:
        return np.zeros(2)
    cosine = np.cos(np.radians(between))
    rest = 2 * (left - cosine) * (1 - leverage) / leverage - cosine
    return np.sqrt(leverage * n) * unit((np.degrees(np.arccos(rest)) + between) / 2)


def edge_of_replacement(points, n, a, c):
    """The largest R at which `survives_replacement` certifies."""
    x, y, slack = points @ a, points @ c, n - (points**2).sum(axis=1)
    norms = {"norm_test": np.linalg.norm(a), "difference": np.linalg.norm(c)}

    low, high = 0.0, np.sqrt(n)
    for _ in range(60):
        middle = (low + high) / 2
        holds = survives_replacement(a @ c, x, y, slack, **norms, radius=middle, n=n)
        low, high = (middle, high) if holds else (low, middle)
    return low


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("leverage", [0.0, 0.3, 0.5, 0.9])
def test_replacement_ends_where_the_worst_point_turns_the_pair(leverage, sign):
    """It would end beyond the least R at which some point ties the pair, or far before it.

    The point to be replaced leaves a small gap, so that a small R is enough and nothing is lost in
    the denominator n + ψ'ᵀA⁻¹ψ'; its leverage is not small, so that the stretch counts.
    """
    n, between = 2000, 89.5
    point = point_that_leaves(0.001, leverage, between, n)
    a, c = unit(0), sign * unit(between)
    points = np.stack([point, np.zeros(2)])
    edge = min(turning_radius(k, n, a, c) for k in points)
    assert 0.985 * edge < edge_of_replacement(points, n, a, c) <= edge


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    ("leverage", "between", "left"),
    [(0.0, 60.0, 0.5), (0.3, 80.0, 0.01), (0.5, 60.0, 0.8), (0.8, 60.0, 0.01), (0.7, 75.0, 0.2)],
)
def test_replacement_is_certified_as_its_proof_says(leverage, between, left, sign):
    """R²(‖A⁻¹a‖‖A⁻¹c‖ + |A⁻¹a·A⁻¹c|)/(2n) reaches the gap without the point: explicit inverses."""
    n = 50
    a, c = 1.5 * unit(0), sign * 0.8 * unit(between)
    point = point_that_leaves(left, leverage, between, n)
    inverse = n * np.linalg.inv(n * np.eye(2) - np.outer(point, point))
    u, v = inverse @ a, inverse @ c
    widest = np.linalg.norm(u) * np.linalg.norm(v) + abs(u @ v)
    expected = np.sqrt(2 * n * abs(a @ v) / widest)
    assert edge_of_replacement(point[None], n, a, c) == pytest.approx(expected, rel=1e-9)
    assert expected < turning_radius(point, n, a, c)


@pytest.mark.parametrize("scale", [1.0, 3.0])
@pytest.mark.parametrize("sign", [1, -1])
def test_removal_bound_is_attained_by_two_points(scale, sign):
    """N = (I − O)⁻¹ acts on u with 1/(1 − r) and on v with 1/(1 + r): nothing is lost."""
    p, q, r, n = 1.5, 0.4, 0.3, 50.0
    slack = np.array([20.0, 40.0, 30.0])
    root = np.sqrt(slack)
    # The third point widens the gap: neither the bound nor α is to know of it.
    x = scale * root * np.array([(p + q) / 2, (p - q) / 2, 5.0])
    y = sign / scale * root * np.array([(q - p) / 2, -(p + q) / 2, 1.0])
    cross = r * np.outer(root, root)
    gap = sign * n
    k = [0, 1]
    after = gap_without(gap, x[k], y[k], slack[k], cross[:2, :2])
    found = removal_bound(gap, x, y, slack, np.array([r, r, 0.0]), 2)
    assert found == pytest.approx((gap - after) * sign, rel=1e-12)
    # u = (p, p) and v = (q, −q): ¼(uᵀNu − vᵀNv) by hand.
    assert found == pytest.approx((p**2 / (1 - r) - q**2 / (1 + r)) / 2, rel=1e-12)


def test_removal_bound_sums_the_largest_effects_that_are_harmful():
    """Removals that widen the gap, or more of them than asked for, would count."""
    x, y, slack = np.array([-3.0, -2.0, -1.0, 4.0]), np.ones(4), np.full(4, 2.0)
    none = np.zeros(4)
    assert removal_bound(1.0, x, y, slack, none, 1) == 1.5
    assert removal_bound(1.0, x, y, slack, none, 2) == 2.5
    assert removal_bound(1.0, x, y, slack, none, 4) == 3.0
    assert removal_bound(-1.0, x, y, slack, none, 2) == 2.0
    assert removal_bound(1.0, np.zeros(4), y, slack, none, 2) == 0.0
    # Without any effect of first order, α = 1 and r(x²/D)/2/(1 − r²) is left.
    found = removal_bound(1.0, x, np.zeros(4), slack, np.full(4, 0.5), 2)
    assert found == pytest.approx(0.25 * (8.0 + 4.5) / 0.75, rel=1e-12)


def test_harmful_order_by_hand():
    """The effect of a removal would have another sign or size."""
    x, y, slack = np.array([1.0, -3.0, 2.0]), np.array([2.0, 1.0, -4.0]), np.array([1.0, 2.0, 4.0])
    rows, effects = harmful_order(0.5, x, y, slack, 2)
    assert rows.tolist() == [2, 1] and effects.tolist() == [2.0, 1.5]
    rows, effects = harmful_order(-0.5, x, y, slack, 3)
    assert rows.tolist() == [0, 1, 2] and effects.tolist() == [2.0, -1.5, -2.0]


def test_scores_without_a_set_are_those_of_explicit_inverses():
    """Points would act on themselves, or in the space of another set."""
    rng = np.random.default_rng(0)
    n, points = 12, rng.standard_normal((3, 2))
    tests, train = rng.standard_normal((4, 2)), rng.standard_normal((5, 2))
    inverse = n * np.linalg.inv(n * np.eye(2) - points.T @ points)
    found = scores_without(
        tests @ train.T,
        tests @ points.T,
        train @ points.T,
        n - (points**2).sum(axis=1),
        points @ points.T,
    )
    np.testing.assert_allclose(found, tests @ inverse @ train.T, rtol=1e-12)


# --- bounds on how removals act on one another ---


def listed(matrix, count):
    """The `count` largest |O_kl| of each row and their partners, in a fixed order of ties."""
    matrix = np.abs(matrix).copy()
    np.fill_diagonal(matrix, -1.0)
    partners = np.argsort(-matrix, axis=1, kind="stable")[:, :count]
    return np.take_along_axis(matrix, partners, axis=1), partners


def enclosed(matrix, bounds, sizes):
    """Whether −diag(r) ⪯ O_K ⪯ diag(r) for every set K of some sizes."""
    return all(
        np.linalg.eigvalsh(np.diag(bounds[list(k)]) + sign * matrix[np.ix_(k, k)]).min() >= -1e-12
        for size in sizes
        for k in itertools.combinations(range(len(matrix)), size)
        for sign in (1, -1)
    )


def test_row_bounds_allow_for_the_error_of_what_was_computed():
    """A pair whose O is as far above its computed value as it may be would break its bound."""
    values, partners = listed(np.full((4, 4), 0.5), 3)
    errors = np.array([0.01, 0.02, 0.03, 0.04])
    true = np.full((4, 4), 0.51)
    np.fill_diagonal(true, 0.0)
    bounds = row_bounds(values, partners, errors, 2)
    np.testing.assert_allclose(bounds, 0.5 + errors, rtol=1e-12)
    assert enclosed(true, bounds, [2])


@pytest.mark.parametrize("size", [2, 3, 4])
def test_row_bounds_of_small_loads_are_gershgorins(size):
    """More or fewer than size − 1 partners would be summed: a bound too wide, or none."""
    rng = np.random.default_rng(size)
    matrix = rng.uniform(0.01, 0.2, (6, 6))
    matrix = (matrix + matrix.T) / 2
    for count in range(size - 1, 6):
        bounds = row_bounds(*listed(matrix, count), np.zeros(6), size)
        off = np.sort(matrix - np.diag(matrix.diagonal() + 1), axis=1)[:, ::-1]
        np.testing.assert_allclose(bounds, off[:, : size - 1].sum(axis=1), rtol=1e-12)


def test_row_bounds_of_a_clique_are_attained():
    """Every set of a clique with equal O reaches r = (size − 1)·O."""
    matrix = np.full((5, 5), 0.2)
    np.fill_diagonal(matrix, 0.0)
    bounds = row_bounds(*listed(matrix, 4), np.zeros(5), 3)
    np.testing.assert_allclose(bounds, 0.4, rtol=1e-12)
    assert enclosed(matrix, bounds, [3])
    assert not enclosed(matrix, 0.999 * bounds, [3])


def test_row_bounds_allow_for_heavy_partners_that_are_not_listed():
    """A point of raised weight that is on nobody's list would load the rows it belongs to.

    Point 0 is overloaded by point 1 and gets a heavier weight; points 2 to 4 are as near to it as
    to each other, and list each other alone.
    """
    near, heavy = 0.4495, 0.4555
    matrix = np.zeros((6, 6))
    matrix[0, 1] = matrix[1, 0] = heavy
    for k, m in itertools.permutations((0, 2, 3, 4), 2):
        matrix[k, m] = near
    for k, m in itertools.permutations((2, 3, 4), 2):
        matrix[k, m] = near + 1e-6
    values, partners = listed(matrix, 2)
    assert not np.isin(partners[2:5], [0]).any()
    bounds = row_bounds(values, partners, np.zeros(6), 3)
    assert enclosed(matrix, bounds, [2, 3])


def test_row_bounds_bring_an_overloaded_row_below_one():
    """One hub would leave all sets without a bound; and its weight must load its partners."""
    matrix = np.zeros((8, 8))
    matrix[0, 1:] = matrix[1:, 0] = 0.6
    values, partners = listed(matrix, 7)
    bounds = row_bounds(values, partners, np.zeros(8), 3)
    assert bounds.max() < 0.9
    assert enclosed(matrix, bounds, [2, 3])
    # r_0·r_k = 2·0.6·0.6: what the weights shift is not lost.
    np.testing.assert_allclose(bounds[0] * bounds[1:], 0.72, rtol=1e-12)


def naive_row_bounds(matrix, count, errors, size):
    """`row_bounds` row by row, from the whole matrix of which `count` a row are listed."""
    n, weights = len(matrix), np.ones(len(matrix))
    values, partners = listed(matrix, count)
    for _ in range(30):
        sums = []
        for k in range(n):
            loads = [
                (value + errors[k]) * weights[partner]
                for value, partner in zip(values[k], partners[k], strict=True)
            ]
            if count < n - 1:
                unlisted = (values[k, -1] + errors[k]) * max(weights)
                loads = [max(load, unlisted) for load in loads]
            sums.append(sum(sorted(loads)[len(loads) - size + 1 :]) / weights[k])
        if max(sums) < 0.9:
            break
        weights = [w * max(s / 0.85, 1) ** 0.5 for w, s in zip(weights, sums, strict=True)]
    return np.array(sums)


@pytest.mark.parametrize(
    ("n", "count", "size", "scale"),
    [
        (6, 5, 3, 0.5),
        (6, 4, 3, 0.5),
        (6, 3, 3, 0.5),
        (6, 2, 3, 0.5),
        (40, 39, 5, 0.24),
        (40, 38, 5, 0.24),
        (40, 30, 4, 0.34),
        (40, 4, 5, 0.25),
    ],
)
def test_row_bounds_are_those_of_a_naive_form(n, count, size, scale):
    """Rows would be summed over other partners, or weights shift more than it takes."""
    rng = np.random.default_rng(n + count)
    matrix = rng.uniform(0, 0.3, (n, n)) * scale
    matrix[0, :] = matrix[:, 0] = rng.uniform(0.8, 1, n) * scale
    matrix = np.triu(matrix, 1) + np.triu(matrix, 1).T
    errors = rng.uniform(0, 1e-3, n)
    expected = naive_row_bounds(matrix, count, errors, size)
    found = row_bounds(*listed(matrix, count), errors, size)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_row_at_the_limit_is_still_lightened():
    """0.45 + 0.45 is not below 0.9."""
    matrix = np.zeros((5, 5))
    matrix[0, 1:] = matrix[1:, 0] = 0.45
    bounds = row_bounds(*listed(matrix, 4), np.zeros(5), 3)
    np.testing.assert_allclose(bounds[0], 0.9 / np.sqrt(0.9 / 0.85), rtol=1e-12)
    # Between 0.85 and 0.9 all stays as it is.
    matrix *= 0.44 / 0.45
    bounds = row_bounds(*listed(matrix, 4), np.zeros(5), 3)
    np.testing.assert_allclose(bounds, [0.88, 0.44, 0.44, 0.44, 0.44], rtol=1e-12)


def test_row_bounds_stop_when_no_weights_help():
    """Rounds without end; and what cannot be bounded must not seem to be."""
    values, partners = listed(np.full((4, 4), 0.7), 3)
    bounds = row_bounds(values, partners, np.zeros(4), 3)
    np.testing.assert_allclose(bounds, 1.4, rtol=1e-9)
