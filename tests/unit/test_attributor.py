"""The attributor on plain arrays, against explicit φ, inverse Q and every removal."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from reference import covariance, explicit
from wtrak import Attributor, InputError, LinearHead
from wtrak.geometry.gradients import Gradients, residuals

RIDGE = 0.02


@parametrize_with_checks([Attributor()])
def test_keeps_the_conventions_of_scikit_learn(estimator, check):
    """It could not be cloned, pickled or given data frames as other estimators can."""
    check(estimator)


def problem(n=40, m=6, n_classes=3, p=4, seed=0):
    """Features and labels of n training and m test examples."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((n_classes, p))
    y = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=n + m - n_classes)])
    x = centres[y] + rng.standard_normal((n + m, p))
    return x[:n], y[:n], x[n:], y[n:]


def explicit_phi(head, x, labels, gradient="loss"):
    """φ in all C·(p + 1) dimensions; two classes at logits (−z/2, z/2)."""
    z = x @ np.atleast_2d(head.coef_).T + head.intercept_
    z = np.hstack([-z / 2, z / 2]) if z.shape[1] == 1 else z
    h = np.column_stack([x, np.ones(len(x))])
    return explicit(Gradients(residuals(z, labels, gradient), h, np.arange(len(x))))


@pytest.mark.parametrize("gradient", ["loss", "margin", "logit"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_are_those_of_explicit_gradients(gradient, n_classes):
    """Scores and self-influences would be of another Q, basis, label or point."""
    x, y, x_test, y_test = problem(n_classes=n_classes)
    a = Attributor(ridge=RIDGE, gradient=gradient, block_size=7).fit(x, y)
    phi = explicit_phi(a.head_, x, y, gradient)
    inverse = np.linalg.inv(covariance(phi, RIDGE))
    np.testing.assert_allclose(
        a.self_influence_, np.einsum("nd,de,ne->n", phi, inverse, phi), rtol=1e-9
    )
    for labels, scores in (
        (y_test, a.scores(x_test, y_test)),
        (a.head_.predict(x_test), a.scores(x_test)),
    ):
        expected = explicit_phi(a.head_, x_test, labels, gradient) @ inverse @ phi.T
        assert scores.shape == (6, 40)
        np.testing.assert_allclose(scores, expected, rtol=1e-8, atol=1e-10)


HEADS = [
    LinearHead(penalty=0.1),
    LogisticRegression(C=0.3),
    LogisticRegression(C=0.3, fit_intercept=False),
    SGDClassifier(loss="log_loss", random_state=0),
    RidgeClassifier(),
]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("head", HEADS, ids=lambda head: type(head).__name__)
def test_heads_of_scikit_learn_are_fitted_and_read(head, n_classes):
    """Scores would be of the default head, or of a binary one with its sign turned."""
    x, y, x_test, y_test = problem(n_classes=n_classes)
    a = Attributor(head, ridge=RIDGE).fit(x, y)
    assert not hasattr(head, "coef_")
    assert type(a.head_) is type(head)
    phi, phi_test = (explicit_phi(a.head_, *data) for data in ((x, y), (x_test, y_test)))
    expected = phi_test @ np.linalg.solve(covariance(phi, RIDGE), phi.T)
    np.testing.assert_allclose(a.scores(x_test, y_test), expected, rtol=1e-7, atol=1e-10)
    issues = a.label_issues()
    assert sorted(issues["index"]) == list(range(40))


def test_a_helpful_example_lowers_the_loss():
    """Helping and harming examples would be exchanged."""
    x, y, x_test, y_test = problem(n=80, seed=3)
    a = Attributor(LinearHead(penalty=0.05), ridge=RIDGE).fit(x, y)
    top = a.top(x_test[:1], y_test[:1], k=3)

    def loss_without(row):
        head = LinearHead(penalty=0.05).fit(np.delete(x, row, axis=0), np.delete(y, row))
        return -np.log(head.predict_proba(x_test[:1])[0, y_test[0]])

    before = -np.log(a.head_.predict_proba(x_test[:1])[0, y_test[0]])
    for row in top.itertuples():
        change = loss_without(row.train) - before
        assert (change > 0) == (row.direction == "helps")


def test_top_lists_the_largest_of_either_sign():
    """Others would be shown as most helpful, or examples that help among those that harm."""
    x, y, x_test, y_test = problem()
    names = np.array(["asp", "newt", "toad"])
    a = Attributor(ridge=RIDGE).fit(x, names[y])
    top = a.top(x_test, names[y_test], k=30)
    scores = a.scores(x_test, names[y_test]).to_numpy()
    assert list(top.columns) == ["test", "direction", "rank", "train", "label", "score"]
    for (test, direction), part in top.groupby(["test", "direction"]):
        signed = scores[test] * (1 if direction == "helps" else -1)
        order = np.argsort(-signed)[: min(30, (signed > 0).sum())]
        np.testing.assert_array_equal(part["train"], order)
        np.testing.assert_array_equal(part["rank"], np.arange(1, len(order) + 1))
        np.testing.assert_array_equal(part["score"], scores[test, order])
        np.testing.assert_array_equal(part["label"], names[y[order]])
    assert set(top["direction"]) == {"helps", "harms"}


def test_label_issues_are_of_heads_that_saw_neither_the_example_nor_a_copy():
    """A wrong label would be known by heart, from the example itself or from its copy."""
    x, y, _, _ = problem(n=60, p=80, seed=1)
    # More features than examples, so that a head knows by heart every label that it has seen.
    x[41:44] = x[40]
    y[40:44] = (y[40] + 1) % 3
    a = Attributor(LinearHead(penalty=1e-4), ridge=RIDGE, folds=4).fit(x, y)
    with_one = LinearHead(penalty=1e-4).fit(
        np.delete(x, [41, 42, 43], 0), np.delete(y, [41, 42, 43])
    )
    for head in (a.head_, with_one):
        assert head.predict_proba(x[40:41])[0, y[40]] > 0.9
    issues = a.label_issues()
    assert list(issues["rank"]) == list(range(1, 61))
    assert issues["out_of_fold_loss"].is_monotonic_decreasing
    copies = issues.set_index("index").loc[[40, 41, 42, 43], "p_given"]
    assert (copies < 0.5).all()
    np.testing.assert_allclose(copies, copies.iloc[0], rtol=1e-9)


def test_label_issues_name_labels_and_probabilities_of_their_example():
    """A correction would be suggested for another example, or with another's probability."""
    x, y, _, _ = problem(n=60)
    names = np.array(["asp", "newt", "toad"])
    folds = 60  # one example each: leave-one-out
    issues = Attributor(LinearHead(0.05), ridge=RIDGE, folds=folds).fit(x, names[y]).label_issues()
    columns = ["index", "given_label", "suggested_label", "p_given", "p_suggested"]
    assert list(issues.columns) == [*columns, "out_of_fold_loss", "self_influence", "rank"]
    for row in issues.iloc[::9].itertuples():
        others = np.delete(np.arange(60), row.index)
        head = LinearHead(0.05).fit(x[others], names[y[others]])
        p = dict(
            zip(head.classes_, head.predict_proba(x[row.index : row.index + 1])[0], strict=True)
        )
        assert row.given_label == names[y[row.index]]
        assert row.suggested_label == max(p, key=p.get)
        assert row.p_given == pytest.approx(p[row.given_label], rel=1e-6)
        assert row.p_suggested == pytest.approx(max(p.values()), rel=1e-6)
        assert row.out_of_fold_loss == pytest.approx(-np.log(row.p_given))


@pytest.mark.parametrize("head", [None, LogisticRegression()], ids=["own", "scikit-learn"])
def test_a_class_that_one_fold_alone_has_is_most_suspicious(head):
    """One rare example would break the list, or shift the columns of the other classes."""
    x, y, _, _ = problem(n=60)
    y[:] = 2 * y
    y[7] = 3
    issues = Attributor(head, ridge=RIDGE).fit(x, y).label_issues()
    first = issues.iloc[0]
    assert (first["index"], first["given_label"], first["p_given"]) == (7, 3, 0)
    assert np.isinf(first["out_of_fold_loss"])
    assert first["suggested_label"] != 3
    assert set(issues["suggested_label"]) <= {0, 2, 4}


def test_orders_are_certified_as_all_removals_say():
    """An order would be called safe that a few removals turn."""
    n, seen = 11, set()
    for seed, ridge in itertools.product(range(3), (RIDGE, 2.0)):
        x, y, x_test, y_test = problem(n=n, m=5, seed=seed, p=2)
        x = x.astype(np.float32).astype(float)
        a = Attributor(LinearHead(0.3), ridge=ridge, block_size=4).fit(x, y)
        second = np.array([1, 3, 5, 7, 9])
        frame = a.certify_order(x_test, 0, second, y_test, removals=(1, 2, 3))
        phi = explicit_phi(a.head_, x, y)
        phi_test = explicit_phi(a.head_, x_test, y_test)
        gaps_without = {}
        for size in (0, 1, 2, 3):
            for k in itertools.combinations(range(n), size):
                kept = np.delete(np.arange(n), list(k))
                q = phi[kept].T @ phi[kept] / n + ridge * np.eye(phi.shape[1])
                tau = phi_test @ np.linalg.solve(q, phi.T)
                gaps_without[k] = tau[:, 0] - tau[np.arange(5), second]
        np.testing.assert_allclose(frame["gap"], gaps_without[()], rtol=1e-7)
        turned = {
            size: np.any(
                [
                    np.sign(g) != np.sign(gaps_without[()])
                    for k, g in gaps_without.items()
                    if len(k) <= size
                ],
                axis=0,
            )
            for size in (1, 2, 3)
        }
        assert list(frame["removals_1"] == "turns") == list(turned[1])
        assert set(frame["removals_1"]) <= {"holds", "turns"}
        for size in (1, 2, 3):
            for verdict, truth in zip(frame[f"removals_{size}"], turned[size], strict=True):
                assert verdict == "undecided" or (verdict == "turns") == truth
                seen.add((size, verdict))
    assert {(3, "turns"), (2, "turns"), (1, "holds"), (1, "turns")} <= seen
    assert any(verdict == "holds" for size, verdict in seen if size > 1)


def test_radius_is_that_of_explicit_whitened_points():
    """The certified distance would be of another pair, or in another unit."""
    x, y, x_test, y_test = problem()
    a = Attributor(ridge=RIDGE).fit(x, y)
    frame = a.certify_order(x_test, [0, 1, 2, 3, 4, 5], 9, y_test, removals=[1])
    phi, phi_test = (explicit_phi(a.head_, *data) for data in ((x, y), (x_test, y_test)))
    root = np.linalg.cholesky(np.linalg.inv(covariance(phi, RIDGE)))
    psi, psi_test = phi @ root, phi_test @ root
    distances = np.linalg.norm(psi[:, None] - psi[None], axis=2)
    unit = np.median(distances.sum(axis=1) / 39) / 40
    assert a.one_deletion_ == pytest.approx(unit)
    largest = np.linalg.norm(psi, axis=1).max()
    for t, row in frame.iterrows():
        c = psi[t] - psi[9]
        gap = psi_test[t] @ c
        norms = np.linalg.norm(psi_test[t]) * np.linalg.norm(c)
        assert row["gap"] == pytest.approx(gap)
        assert row["radius"] == pytest.approx(abs(gap) / (largest * (norms + abs(gap))))
        assert row["radius_in_deletions"] == pytest.approx(row["radius"] / unit)


def test_the_order_of_copies_is_not_certified():
    """Rounding would pass for an order, and be certified."""
    x, y, x_test, _ = problem(n=66, p=20)
    # The last block has one row, whose products round otherwise.
    x[65], y[65] = x[3], y[3]
    a = Attributor(block_size=5).fit(x, y)
    scores = a.scores(x_test)
    assert (scores[3] != scores[65]).any()
    frame = a.certify_order(x_test, 3, 65, removals=(1, 3))
    assert (frame[["gap", "radius"]] == 0).all(axis=None)
    assert (frame[["removals_1", "removals_3"]] == "turns").all(axis=None)


def test_near_copies_have_no_larger_radius_than_any_pair_can():
    """Rounding would make their difference zero beside a gap that is not, and double the radius."""
    certified = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        x, y = rng.standard_normal((40, 4)), rng.integers(3, size=40)
        scales = 10.0 ** -np.arange(4, 12)
        x[1:9], y[1:9] = x[0] + scales[:, None] * rng.standard_normal((8, 4)), y[0]
        a = Attributor(ridge=RIDGE).fit(x, y)
        # |Δ| ≤ ‖a‖‖c‖, so that |Δ|/(R(‖a‖‖c‖ + |Δ|)) is at most 1/(2R).
        largest = 1 / (2 * np.sqrt(a.self_influence_.max()))
        for k in range(1, 9):
            radii = a.certify_order(rng.standard_normal((5, 4)), 0, k)["radius"]
            assert (radii <= largest * (1 + 1e-9)).all()
            certified += (radii > 0).sum()
    assert certified > 100


def test_larger_numbers_of_removals_may_come_later():
    """Bounds that were kept for few removals would be used for many."""
    x, y, x_test, _ = problem()
    a = Attributor(ridge=1.0).fit(x, y)
    a.certify_order(x_test, 0, 1, removals=(2,))
    later = a.certify_order(x_test, 0, 1, removals=(1, 2, 8))
    fresh = Attributor(ridge=1.0).fit(x, y).certify_order(x_test, 0, 1, removals=(1, 2, 8))
    pd.testing.assert_frame_equal(later, fresh)
    # A second fit forgets the first.
    a.fit(x[20:], y[20:])
    fresh = Attributor(ridge=1.0).fit(x[20:], y[20:]).certify_order(x_test, 0, 1, removals=[2, 8])
    pd.testing.assert_frame_equal(a.certify_order(x_test, 0, 1, removals=[2, 8]), fresh)


def test_data_frames_are_taken_by_their_columns():
    """Columns in another order would be taken for others without a word."""
    x, y, x_test, y_test = problem()
    names = list("abcd")
    frame = pd.DataFrame(x, columns=names, index=range(100, 140))
    test = pd.DataFrame(x_test, columns=names)
    named = Attributor(ridge=RIDGE).fit(frame, pd.Series(y, index=frame.index))
    plain = Attributor(ridge=RIDGE).fit(x, y)
    assert list(named.feature_names_in_) == names
    scores = named.scores(test, pd.Series(y_test))
    pd.testing.assert_frame_equal(scores, plain.scores(x_test, y_test))
    pd.testing.assert_frame_equal(named.label_issues(), plain.label_issues())
    with pytest.raises(ValueError, match="feature names"):
        named.scores(test[list("dcba")])


def test_the_state_decides_the_folds():
    """Two runs of a script would show two lists, or any state the same."""
    x, y, _, _ = problem(n=60)

    def issues(state):
        return Attributor(ridge=RIDGE, random_state=state).fit(x, y).label_issues()

    for make in (lambda: 3, lambda: np.random.default_rng(3), lambda: np.random.RandomState(3)):
        pd.testing.assert_frame_equal(issues(make()), issues(make()))
    assert not issues(3).equals(issues(4))
    assert not issues(None).equals(issues(None))
    a = Attributor(ridge=RIDGE, random_state=np.random.default_rng(3)).fit(x, y)
    pd.testing.assert_frame_equal(a.label_issues(), a.label_issues())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"ridge": 0}, "ridge is 0, expected a number above 0"),
        ({"gradient": "losses"}, "gradient is 'losses', expected one of loss, margin, logit"),
        ({"folds": 1}, "folds is 1, expected an integer, 2 or more"),
        ({"block_size": 0}, "block_size is 0"),
        ({"device": "abacus"}, "device is 'abacus'"),
        ({"head": KNeighborsClassifier()}, "head: KNeighbors.* has no coef_"),
    ],
)
def test_settings_out_of_range_are_named(settings, message):
    """A user would search the error in the data."""
    x, y, _, _ = problem()
    with pytest.raises(InputError, match=message):
        Attributor(**settings).fit(x, y)


def test_arguments_out_of_range_are_named():
    """A user would get a wrong answer, or an error that names no argument."""
    x, y, x_test, y_test = problem()
    a = Attributor(ridge=RIDGE).fit(x, y)
    bad = {
        "X_test has 3 features, but .* 4": lambda: a.scores(x_test[:, :3]),
        "X_test: Expected 2D array": lambda: a.scores(x_test[0]),
        "X_test: Input X_test contains NaN": lambda: a.scores(np.full((1, 4), np.nan)),
        r"y_test has shape \(5,\), expected \(6,\)": lambda: a.scores(x_test, y_test[:5]),
        "y_test holds 7, which is none": lambda: a.top(x_test, np.full(6, 7)),
        "k is 0": lambda: a.top(x_test, k=0),
        "first names a row outside 0 to 39": lambda: a.certify_order(x_test, 40, 1),
        "second names a row outside": lambda: a.certify_order(x_test, 0, -1),
        "second has shape .*expected an integer": lambda: a.certify_order(x_test, 0, [1, 2]),
        "first has .* type float64": lambda: a.certify_order(x_test, 0.5, 1),
        "first and second are both row 3 for test example 0": lambda: a.certify_order(x_test, 3, 3),
        "removals is 40, expected an integer, 1 to 39": lambda: a.certify_order(
            x_test, 0, 1, removals=[40]
        ),
        "removals is empty": lambda: a.certify_order(x_test, 0, 1, removals=[]),
        "X contains NaN": lambda: Attributor().fit(np.full((4, 2), np.nan), [0, 1, 0, 1]),
        "y holds one class only": lambda: Attributor().fit(x, np.zeros(40)),
        "all 6 examples are of one group": lambda: (
            Attributor().fit(np.ones((6, 2)), [0, 1] * 3).label_issues()
        ),
    }
    for message, call in bad.items():
        with pytest.raises(ValueError, match=message):
            call()
