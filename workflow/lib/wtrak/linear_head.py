"""Multinomial logistic regression as a scikit-learn classifier: the head of `Attributor`."""

import numpy as np
import torch
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from wtrak.arguments import check_integer, check_positive
from wtrak.errors import InputError, as_input_errors
from wtrak.geometry.gradients import append_constant
from wtrak.geometry.head import train_head

# float32 stays as it is; everything else becomes float64.
FLOATS = (np.float64, np.float32)


def encode(y):
    """Classes in sorted order, and the number of each label among them.

    Raises
    ------
    InputError
        If there are fewer than two classes.
    """
    check_classification_targets(y)
    classes, labels = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise InputError(f"y holds one class only, {classes[0]}; two classes are needed")
    return classes, labels


def class_logits(head, features):
    """Logits of a fitted linear classifier, shape (N, C), float64.

    A single row of coefficients gives the log-odds z of the second of two classes; the logits
    (−z/2, z/2) have the same softmax, and sum to zero as those of more classes do.

    Parameters
    ----------
    head : object
        With ``coef_``, shape (C, p) or (1, p), and ``intercept_``.
    features : numpy.ndarray, shape (N, p)
    """
    z = features.astype(np.float64, copy=False) @ np.atleast_2d(head.coef_).T + head.intercept_
    return np.hstack([-z / 2, z / 2]) if z.shape[1] == 1 else z


class LinearHead(ClassifierMixin, BaseEstimator):
    """Multinomial logistic regression, fitted to its optimum.

    It minimises mean cross-entropy + ½·penalty·‖W‖² over the weights W of all C classes, two
    included; the intercepts are free of the penalty. scikit-learn's ``LogisticRegression`` has the
    same optimum at C = 1/(n·penalty) for more than two classes, and at C = 2/(n·penalty) for two,
    as it penalises the difference of both rows once.

    Memory is two float64 copies of X, and p² numbers.

    Parameters
    ----------
    penalty : float
        Above 0. The scale of the features matters to it.
    tolerance : float
        Euclidean norm of the objective's gradient to reach. To miss it is an error, as what is
        computed from a head assumes its optimum.
    max_iterations : int
        Of L-BFGS.

    Attributes
    ----------
    classes_ : numpy.ndarray, shape (C,)
    coef_ : numpy.ndarray, shape (C, p), or (1, p) for two classes
    intercept_ : numpy.ndarray, shape (C,), or (1,) for two classes
    n_features_in_ : int
        p, without the constant.
    feature_names_in_ : numpy.ndarray, shape (p,)
        If X was a DataFrame.
    n_iter_ : int
        Iterations of L-BFGS.
    """

    def __init__(self, penalty=1e-3, tolerance=1e-8, max_iterations=5000):
        self.penalty = penalty
        self.tolerance = tolerance
        self.max_iterations = max_iterations

    def fit(self, X, y):
        """Fit to features X (n, p) and labels y (n,) of any kind; returns self.

        Raises
        ------
        InputError
            A ValueError: a setting is out of range, y holds one class, or the fit misses its
            tolerance.
        """
        X, y = validate_data(self, X, y, dtype=FLOATS, ensure_min_samples=2)
        check_positive("penalty", self.penalty)
        check_positive("tolerance", self.tolerance)
        check_integer("max_iterations", self.max_iterations, 1)
        self.classes_, labels = encode(y)
        recipe = {
            "optimizer": "lbfgs",
            "weight_decay": self.penalty,
            "gradient_norm": self.tolerance,
            "max_iterations": self.max_iterations,
        }
        with as_input_errors(weight_decay="penalty", gradient_norm="tolerance"):
            weight, _, record = train_head(
                append_constant(X, X.dtype),
                labels,
                len(self.classes_),
                recipe,
                torch.device("cpu"),
                report=lambda message: None,
            )
        rows = weight if len(weight) > 2 else weight[1:] - weight[:1]
        self.coef_, self.intercept_ = rows[:, :-1].copy(), rows[:, -1].copy()
        self.n_iter_ = record["iterations"]
        return self

    def decision_function(self, X):
        """Logits, shape (N, C); for two classes the log-odds of the second, shape (N,)."""
        z = self._logits(X)
        return z[:, 1] - z[:, 0] if len(self.classes_) == 2 else z

    def predict_proba(self, X):
        """Probabilities of ``classes_``, shape (N, C)."""
        return softmax(self._logits(X), axis=1)

    def predict(self, X):
        """The most probable class of each row, shape (N,)."""
        best = self._logits(X).argmax(axis=1)
        return self.classes_[best]

    def _logits(self, X):
        check_is_fitted(self)
        return class_logits(self, validate_data(self, X, dtype=FLOATS, reset=False))
