"""The linear head as a scikit-learn classifier."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from wtrak import InputError, LinearHead


@parametrize_with_checks([LinearHead()])
def test_keeps_the_conventions_of_scikit_learn(estimator, check):
    """It would fail in pipelines, grid searches or cross-validation."""
    check(estimator)


def problem(n_classes, n=150, dtype=np.float64):
    rng = np.random.default_rng(n_classes)
    y = rng.integers(n_classes, size=n)
    centres = rng.standard_normal((n_classes, 5))
    return (centres[y] + rng.standard_normal((n, 5))).astype(dtype), y


@pytest.mark.parametrize("n_classes", [2, 4])
def test_agrees_with_scikit_learn_at_the_matched_penalty(n_classes):
    """The penalty would mean something else than the documentation says."""
    x, y = problem(n_classes)
    head = LinearHead(penalty=0.02).fit(x, y)
    rows = 2 if n_classes == 2 else 1
    other = LogisticRegression(C=rows / (len(y) * 0.02), solver="newton-cholesky", tol=1e-10)
    other.fit(x, y)
    np.testing.assert_allclose(head.coef_, other.coef_, atol=1e-6)
    difference = head.intercept_ - other.intercept_
    # Of more than two classes the intercepts may all shift alike.
    np.testing.assert_allclose(difference, difference[0] if n_classes > 2 else 0, atol=1e-6)
    np.testing.assert_allclose(head.predict_proba(x), other.predict_proba(x), atol=1e-7)
    np.testing.assert_allclose(
        head.decision_function(x), other.decision_function(x) + difference, atol=1e-6
    )


@pytest.mark.parametrize("n_classes", [2, 3])
def test_text_labels_give_the_same_head(n_classes):
    """Names of classes would change what is learnt, or come back as numbers."""
    x, y = problem(n_classes)
    names = np.array(["newt", "asp", "toad"])[:n_classes]
    order = np.argsort(names)
    plain = LinearHead().fit(x, np.argsort(order)[y])
    named = LinearHead().fit(x, names[y])
    assert list(named.classes_) == sorted(names)
    np.testing.assert_array_equal(named.coef_, plain.coef_)
    np.testing.assert_array_equal(named.predict(x), named.classes_[plain.predict(x)])


def test_integers_and_single_precision_are_taken_as_they_are():
    """Integers would overflow, or float64 features lose digits."""
    x, y = problem(3)
    whole = np.round(x * 10).astype(np.int16)
    np.testing.assert_array_equal(
        LinearHead().fit(whole, y).coef_, LinearHead().fit(whole.astype(float), y).coef_
    )
    # A shift that float32 cannot hold beside the features' own digits.
    shifted = x + 1e4
    near = LinearHead(tolerance=1e-6).fit(shifted, y)
    np.testing.assert_allclose(near.coef_, LinearHead().fit(x, y).coef_, atol=1e-4)
    single = LinearHead().fit(x.astype(np.float32), y)
    np.testing.assert_allclose(single.coef_, LinearHead().fit(x, y).coef_, atol=1e-4)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"penalty": 0}, "penalty is 0, expected a number above 0"),
        ({"penalty": "l2"}, "penalty is 'l2'"),
        ({"penalty": np.inf}, "penalty is inf"),
        ({"tolerance": -1e-8}, "tolerance is -1e-08"),
        ({"max_iterations": 2.5}, "max_iterations is 2.5, expected an integer"),
        ({"max_iterations": 1}, "recipe's tolerance 1e-08 .*max_iterations, tolerance or penalty"),
    ],
)
def test_settings_out_of_range_are_named(settings, message):
    """A user would search the error in the data, or under another name."""
    with pytest.raises(InputError, match=message) as caught:
        LinearHead(**settings).fit(*problem(3))
    assert isinstance(caught.value, ValueError)


def test_one_class_and_unusable_scales_are_errors():
    """A head would come back that says nothing, or a bare error of torch."""
    x, y = problem(3)
    with pytest.raises(InputError, match="y holds one class only"):
        LinearHead().fit(x, np.full(len(y), "asp"))
    with pytest.raises(InputError, match="scales of the features"):
        LinearHead().fit(x * np.array([1, 1, 1, 1, 1e12]) + 1e12, y)
    with pytest.raises(InputError, match=r"scales of the features.*raise penalty"):
        LinearHead().fit(x * 1e200, y)


def test_a_fit_says_nothing(capsys):
    """Every fit would write the log lines of the workflow to the terminal."""
    LinearHead().fit(*problem(3))
    assert capsys.readouterr() == ("", "")
