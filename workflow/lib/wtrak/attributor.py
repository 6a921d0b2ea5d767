"""Attribution of predictions to training examples, on plain arrays."""

import numpy as np
import pandas as pd
import torch
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from wtrak.arguments import (
    check_integer,
    check_positive,
    class_numbers,
    random_generator,
    training_rows,
    usable_device,
)
from wtrak.certificates.pairs import difference_norms, direct_radius, tight_constant
from wtrak.certificates.verdicts import removal_verdicts
from wtrak.certificates.wasserstein import deletion_distances
from wtrak.errors import InputError, as_input_errors
from wtrak.geometry.covariance import add_ridge, factorise, second_moment
from wtrak.geometry.cross_leverage import largest_cross_leverages, row_bounds
from wtrak.geometry.gradients import GRADIENTS, append_constant
from wtrak.geometry.gram import inner_products
from wtrak.geometry.scores import score, whitened
from wtrak.labels.duplicates import exact_copies
from wtrak.labels.head_scores import cross_entropy, gradients_at
from wtrak.labels.out_of_fold import draw_folds, held_out_logits
from wtrak.labels.ranking import suspects
from wtrak.linear_head import FLOATS, LinearHead, class_logits, encode

# Training points, at most, whose deletion distances give the median "one deletion".
DELETIONS = 500
# Two scores no further apart than this share of their largest possible size are tied: the rest of
# their difference is rounding.
TIE = 1e-10


class Attributor(BaseEstimator):
    """Which training examples a linear classifier's predictions rest on.

    The score of training example i for test example t is τ = φ_tᵀQ⁻¹φ_i with
    Q = (1/n) Σφφᵀ + λI (the paper's equation 5), where φ is an example's gradient in the weights
    and intercepts of the head. Features are taken as given: what a change of the training set does
    to the network that made them is outside all that is said here.

    Memory is O(d² + (block_size + 500)·d + n·p), where d = (C − 1)·(p + 1) for C classes and p
    features, or C·(p + 1) for the gradient ``logit``. At the peak, `fit` holds about 2.5·d² float64
    numbers: 2 GB at d = 10,000 and 8 GB at 20,000. Time is O(n·d² + d³). Each method says what it
    adds.

    Parameters
    ----------
    head : estimator, optional
        A linear classifier with ``coef_`` and ``intercept_`` after `fit`, of scikit-learn or like
        it; it is cloned. Its decision function is read as logits, so it should be a logistic
        regression. By default `LinearHead`.
    ridge : float
        λ, above 0.
    gradient : {"loss", "margin", "logit"}
        What φ is the gradient of: the cross-entropy, TRAK's margin log p/(1 − p), or the logit of
        the label.
    folds : int
        For `label_issues`, at least 2.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None
        Of the folds, and of the training points whose median deletion is the unit. It is drawn
        from in `fit` alone.
    block_size : int
        Rows at a time.
    device : str or torch.device
        Where the geometry is computed; heads are fitted on the processor.

    Attributes
    ----------
    classes_ : numpy.ndarray, shape (C,)
    head_ : estimator
        Fitted to all training examples.
    self_influence_ : numpy.ndarray, shape (n,)
        φᵀQ⁻¹φ (definition 5.2), in [0, n).
    one_deletion_ : float
        Median natural W₁ distance that deleting one training example moves the training
        distribution; over 500 of them where there are more.
    n_features_in_ : int
    feature_names_in_ : numpy.ndarray, shape (p,)
        If X was a DataFrame.
    """

    def __init__(
        self,
        head=None,
        ridge=1e-4,
        gradient="loss",
        folds=5,
        random_state=0,
        block_size=1024,
        device="cpu",
    ):
        self.head = head
        self.ridge = ridge
        self.gradient = gradient
        self.folds = folds
        self.random_state = random_state
        self.block_size = block_size
        self.device = device

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def fit(self, X, y):
        """Fit the head and its geometry.

        Parameters
        ----------
        X : array or DataFrame, shape (n, p)
            Numbers; float32 stays as it is, everything else becomes float64.
        y : array, shape (n,)
            Labels of any kind, two classes or more.

        Returns
        -------
        Attributor
            Itself.

        Raises
        ------
        InputError
            A ValueError that names the argument.
        """
        X, y = validate_data(self, X, y, dtype=FLOATS, ensure_min_samples=2)
        if self.gradient not in GRADIENTS:
            raise InputError(
                f"gradient is {self.gradient!r}, expected one of {', '.join(GRADIENTS)}"
            )
        check_positive("ridge", self.ridge)
        check_integer("folds", self.folds, 2)
        check_integer("block_size", self.block_size, 1)
        device = usable_device(self.device)
        self.classes_, labels = encode(y)
        rng = random_generator(self.random_state)
        self.head_ = self._fitted_head(X, y)
        if not np.array_equal(getattr(self.head_, "classes_", self.classes_), self.classes_):
            raise InputError(
                f"head: {self.head_!r} has the classes {self.head_.classes_}, y has {self.classes_}"
            )
        n = len(X)
        with as_input_errors():
            z = class_logits(self.head_, X)
            train = gradients_at(z, labels, append_constant(X, X.dtype), self.gradient)
            moment = second_moment(train, block_size=self.block_size, device=device)
            factor = factorise(add_ridge(moment, self.ridge))
        del moment
        rows = np.sort(rng.choice(n, size=min(n, DELETIONS), replace=False))
        anchors = whitened(train.take(rows), factor, block_size=self.block_size)
        of_train = score(train, factor, anchors[:0], anchors, block_size=self.block_size)
        self.self_influence_ = of_train.self_influence
        self.one_deletion_ = float(np.median(deletion_distances(of_train.mean_distances, n)))
        self._train, self._labels, self._factor = train, labels, factor
        self._folds_seed, self._cross_leverages = int(rng.integers(2**63)), None
        return self

    def scores(self, X_test, y_test=None):
        """Scores τ of all training examples for each test example.

        With the loss gradient a positive score means that training on the example lowers the loss
        of the test example at its label: it helps. Adds memory O(m·(n + d)).

        Parameters
        ----------
        X_test : array or DataFrame, shape (m, p)
        y_test : array, shape (m,), optional
            Labels at which the gradients of the test examples are taken; by default those that the
            head predicts.

        Returns
        -------
        pandas.DataFrame, shape (m, n), float64
            Test examples by training examples, both numbered from 0.
        """
        tau = self._products(self._whitened_test(X_test, y_test))
        return pd.DataFrame(
            tau,
            index=pd.RangeIndex(len(tau), name="test"),
            columns=pd.RangeIndex(tau.shape[1], name="train"),
        )

    def top(self, X_test, y_test=None, k=10):
        """The training examples that help and that harm each test example most.

        Parameters
        ----------
        X_test, y_test
            As in `scores`, and so is the memory.
        k : int
            Of either direction, at most: examples of a score of the other sign are not listed.

        Returns
        -------
        pandas.DataFrame
            Columns test, direction ("helps" or "harms"), rank (from 1), train (row of X), label (of
            the training example) and score; the strongest first.
        """
        check_integer("k", k, 1)
        parts = []
        for test, tau in enumerate(self.scores(X_test, y_test).to_numpy()):
            for direction, sign in (("helps", 1), ("harms", -1)):
                rows = np.argsort(-sign * tau, kind="stable")[:k]
                rows = rows[sign * tau[rows] > 0]
                parts.append(
                    pd.DataFrame(
                        {
                            "test": test,
                            "direction": direction,
                            "rank": np.arange(1, len(rows) + 1),
                            "train": rows,
                            "label": self.classes_[self._labels[rows]],
                            "score": tau[rows],
                        }
                    )
                )
        return pd.concat(parts, ignore_index=True)

    def label_issues(self):
        """Training examples in the order in which a person should look at their labels.

        By cross-validation: each example is judged by a head that has seen neither it nor an exact
        copy of it. Fits ``folds`` heads, and adds memory O(n·(p + C)).

        Returns
        -------
        pandas.DataFrame
            One row an example, largest out-of-fold loss first. Columns: index (row of X),
            given_label, suggested_label (the most probable one), p_given and p_suggested (the
            probabilities of the two), out_of_fold_loss (−log p_given, in nats; infinite where no
            other fold has the label), self_influence and rank (from 1).
        """
        check_is_fitted(self)
        X, labels = self._train.activations[:, :-1], self._labels

        def fit(seen, held):
            head = self._fitted_head(X[seen], self.classes_[labels[seen]])
            z = np.full((held.sum(), len(self.classes_)), -np.inf)
            z[:, np.unique(labels[seen])] = class_logits(head, X[held])
            return z

        rng = np.random.default_rng(self._folds_seed)
        with as_input_errors():
            folds = min(self.folds, len(X))
            part = draw_folds(len(X), folds, rng, exact_copies(X), labels, self.classes_)
            z = held_out_logits(part, len(self.classes_), fit)
        loss = cross_entropy(z, labels)
        frame = suspects(
            np.arange(len(X)),
            labels,
            {"self_influence": self.self_influence_, "loss": loss, "out_of_fold_loss": loss},
            z,
            self.classes_,
            "out_of_fold_loss",
        ).infer_objects()
        columns = ["index", "given_label", "suggested_label", "p_given", "p_suggested"]
        return frame[[*columns, "out_of_fold_loss", "self_influence", "rank"]]

    def certify_order(self, X_test, first, second, y_test=None, removals=(1, 2, 5, 10)):
        """Whether the order of two training examples' scores survives changes of the training set.

        Everything holds the features and the head fixed: gradients φ stay as they are, and a change
        of the training set acts through Q alone. Nothing is said of a head that is fitted anew, or
        of a network that is trained anew.

        Adds memory O((m + q)·(n + d)) for q different training examples, and for removals of more
        than one O(n·d + block_size·n), in float32.

        Parameters
        ----------
        X_test, y_test
            As in `scores`.
        first, second : int or array of int, shape (m,)
            Rows of X: one pair for all test examples, or one for each.
        removals : sequence of int
            Numbers of training examples, from 1 to n − 1.

        Returns
        -------
        pandas.DataFrame
            One row a test example. Columns test, first, second, and

            gap
                τ of `first` less τ of `second`.
            radius
                The gap keeps its sign under every change of the training distribution by less than
                this W₁ distance in the natural metric ‖Q^{-1/2}(φ − φ')‖, to first order, as long
                as no example has a larger self-influence than the largest of the training set.
            radius_in_deletions
                The same in units of ``one_deletion_``.
            removals_1, …
                For each m in `removals`: "holds" if it is proved that no removal of at most m
                training examples turns or ties the gap, whichever they are; "turns" if such a
                removal was found; "undecided" otherwise. For m = 1 it is never undecided. Scores
                that are equal up to rounding have no order to keep: "turns".
        """
        check_is_fitted(self)
        n, removals = len(self._train), list(removals)
        if not removals:
            raise InputError("removals is empty, expected numbers of training examples")
        for m in removals:
            check_integer("removals", m, 1, n - 1)
        queries = self._whitened_test(X_test, y_test)
        first = training_rows("first", first, len(queries), n)
        second = training_rows("second", second, len(queries), n)
        if same := np.flatnonzero(first == second).tolist():
            raise InputError(
                f"first and second are both row {first[same[0]]} for test example {same[0]}; the "
                "order is of two different training examples"
            )
        distinct = np.unique(np.concatenate([first, second]))
        points = whitened(self._train.take(distinct), self._factor, block_size=self.block_size)
        tau, gram = np.split(self._products(torch.cat([queries, points])), [len(queries)])
        places = np.searchsorted(distinct, [first, second])
        norms_test = queries.norm(dim=1).cpu().numpy()
        bounds = self._removal_bounds(removals)
        radius = float(np.sqrt(self.self_influence_.max()))
        slack, rows = n - self.self_influence_, []
        for t, (i, j, place_i, place_j) in enumerate(zip(first, second, *places, strict=True)):
            gap, y = tau[t, i] - tau[t, j], gram[place_i] - gram[place_j]
            sizes = self.self_influence_[[i, j]]
            if abs(gap) <= TIE * norms_test[t] * np.sqrt(sizes.max()):
                gap = 0.0
            difference = difference_norms(*sizes, gram[place_i, j], len(self._factor))
            epsilon = direct_radius(gap, tight_constant(gap, difference, norms_test[t], radius))
            row = {"test": t, "first": i, "second": j, "gap": gap, "radius": float(epsilon)}
            row["radius_in_deletions"] = row["radius"] / self.one_deletion_
            verdicts = removal_verdicts(gap, tau[t], y, slack, bounds, self._inner_products_of)
            rows.append(row | {f"removals_{m}": verdicts[m] for m in removals})
        return pd.DataFrame(rows)

    def _removal_bounds(self, removals):
        """Bounds of the cross-leverages for `removal_bound`, by number of removals."""
        needed = max(removals)
        if needed > 1 and (self._cross_leverages is None or self._cross_leverages[0] < needed):
            # One more than is summed, so that the bound on what is not listed is not the last
            # one summed.
            largest = largest_cross_leverages(
                self._train,
                self._factor,
                self.self_influence_,
                needed,
                block_size=self.block_size,
            )
            self._cross_leverages = needed, largest
        return {m: row_bounds(*self._cross_leverages[1], m) if m > 1 else None for m in removals}

    def _products(self, points):
        """Inner products of whitened points with all training examples, shape (q, n)."""
        return inner_products(self._train, points, self._factor, block_size=self.block_size)

    def _inner_products_of(self, rows):
        """Inner products ψ_k·ψ_l of a few training examples, shape (rows, rows)."""
        psi = whitened(self._train.take(rows), self._factor, block_size=self.block_size)
        return (psi @ psi.T).cpu().numpy()

    def _whitened_test(self, X_test, y_test):
        """Whitened gradients ψ of test examples, shape (m, d)."""
        check_is_fitted(self)
        try:
            X = check_array(X_test, dtype=FLOATS, input_name="X_test")
        except ValueError as error:
            raise InputError(f"X_test: {error}") from error
        if X.shape[1] != self.n_features_in_:
            raise InputError(
                f"X_test has {X.shape[1]} features, but the attributor was fitted to "
                f"{self.n_features_in_}"
            )
        # Of the names of columns only.
        validate_data(self, X_test, reset=False, skip_check_array=True)
        z = class_logits(self.head_, X)
        labels = (
            z.argmax(axis=1) if y_test is None else class_numbers(y_test, self.classes_, len(X))
        )
        test = gradients_at(z, labels, append_constant(X, X.dtype), self.gradient)
        return whitened(test, self._factor, block_size=self.block_size)

    def _fitted_head(self, X, y):
        head = LinearHead() if self.head is None else clone(self.head)
        head.fit(X, y)
        if not hasattr(head, "coef_") or not hasattr(head, "intercept_"):
            raise InputError(
                f"head: {head!r} has no coef_ and intercept_ after fit; give a linear classifier"
            )
        return head
