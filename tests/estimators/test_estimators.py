"""The scikit-learn face: parameters, labels, containers, errors, going on."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from conftest import CORNERS, LOGIC, overlapping, quiet
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.utils.validation import _get_feature_names

from separatrix import (
    LBFGS,
    GradientDescent,
    LinearClassifier,
    Newton,
    Perceptron,
)

X, Y = overlapping(80, 4)
BOTH = [Perceptron(random_state=0), LinearClassifier(random_state=0)]


# ---- labels and containers ---------------------------------------------------------------


@pytest.mark.parametrize(
    "labels",
    [
        [0, 1], [-1, 1], [1, 2], ["no", "yes"], [False, True], [2.0, 5.0],
        np.array(["a", "b"], dtype=object),
    ],
)  # fmt: skip
@pytest.mark.parametrize("estimator", BOTH)
def test_labels_of_any_kind(estimator, labels):
    labels = np.asarray(labels)
    y = labels[(Y > 0).astype(int)]
    reference = clone(estimator).fit(X, Y)
    clf = clone(estimator).fit(X, y)
    np.testing.assert_array_equal(clf.classes_, labels)
    np.testing.assert_array_equal(clf.coef_, reference.coef_)
    np.testing.assert_array_equal(clf.predict(X) == labels[1], reference.predict(X) > 0)
    assert clf.predict(X).dtype == labels.dtype


@pytest.mark.parametrize("estimator", BOTH)
def test_containers_agree(estimator):
    reference = clone(estimator).fit(X, Y)
    names = list("abcd")
    for container in (
        pd.DataFrame(X, columns=names),
        pl.DataFrame(X, schema=names),
        np.asfortranarray(X),
        X.tolist(),
        np.repeat(X, 2, axis=0)[::2],
    ):
        clf = clone(estimator).fit(container, Y)
        np.testing.assert_array_equal(clf.coef_, reference.coef_)
        np.testing.assert_array_equal(
            clf.decision_function(container), reference.decision_function(X)
        )
        # scikit-learn 1.8 reads the names of pandas alone, and of older versions of polars.
        if _get_feature_names(container) is not None:
            np.testing.assert_array_equal(clf.feature_names_in_, names)
    with pytest.raises(ValueError, match="feature names should match"):
        clone(estimator).fit(pd.DataFrame(X, columns=names), Y).predict(
            pd.DataFrame(X, columns=names[::-1])
        )


@pytest.mark.parametrize("estimator", [*BOTH, Perceptron(update="batch")])
@pytest.mark.parametrize("make", [sp.csr_array, sp.csr_matrix, sp.csc_array, sp.coo_array])
def test_sparse_containers_agree(estimator, make):
    integers = np.random.default_rng(0).integers(-2, 3, X.shape).astype(float)
    exact = clone(estimator).set_params(tol=1e-12)
    dense = clone(exact).fit(integers, Y)
    sparse = clone(exact).fit(make(integers), Y)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(
        sparse.decision_function(make(integers)), dense.decision_function(integers), atol=1e-6
    )


def test_unsorted_and_duplicate_entries_are_put_in_order_without_touching_the_users():
    data, indices, indptr = np.array([1.0, 2, 3, 4, 1]), np.array([2, 0, 1, 1, 2]), [0, 2, 4, 5]
    messy = sp.csr_array((data, indices, indptr), shape=(3, 3))
    tidy = messy.toarray()
    y = [0, 1, 1]
    np.testing.assert_array_equal(
        Perceptron(shuffle=False).fit(messy, y).coef_, Perceptron(shuffle=False).fit(tidy, y).coef_
    )
    np.testing.assert_array_equal(messy.indices, indices)
    np.testing.assert_array_equal(messy.data, data)


def test_long_indices_are_taken_as_they_are():
    csr = sp.csr_array(X)
    csr.indices, csr.indptr = csr.indices.astype(np.int64), csr.indptr.astype(np.int64)
    np.testing.assert_array_equal(
        LinearClassifier().fit(csr, Y).coef_, LinearClassifier().fit(sp.csr_array(X), Y).coef_
    )


def test_empty_sparse_rows_and_columns():
    empty = sp.csr_array((6, 3))
    clf = Perceptron(max_iter=5).fit(empty, [0, 1, 1, 1, 1, 1])
    np.testing.assert_array_equal(clf.coef_, [[0, 0, 0]])


@pytest.mark.parametrize("estimator", BOTH)
@pytest.mark.parametrize(
    ("rows", "labels", "message"),
    [
        ([[np.nan], [1.0]], [0, 1], "NaN"),
        ([[np.inf], [1.0]], [0, 1], "infinity"),
        ([[1.0], [2.0]], [0, 0], r"only one class: \[0\]"),
        ([[1.0], [2.0]], [0.5, 0.7], "Unknown label type"),
        ([[1.0], [2.0]], [0], "inconsistent numbers of samples"),
        ([1.0, 2.0], [0, 1], "Reshape your data"),
        ([["a"], ["b"]], [0, 1], "could not convert"),
    ],
)
def test_bad_data(estimator, rows, labels, message):
    clf = clone(estimator)
    with pytest.raises(ValueError, match=message):
        clf.fit(rows, labels)
    with pytest.raises(NotFittedError):
        clf.predict(X)


@pytest.mark.parametrize("estimator", BOTH)
@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.where(Y > 0, 1.0, 0.0), "only one class"),
        (np.zeros(80), "zero for every row"),
        (-np.ones(80), "must not be negative"),
        (np.full(80, np.nan), "NaN or infinity"),
        (np.ones(79), r"shape \(79,\), expected \(80,\)"),
        (np.ones((80, 2)), "1D array or scalar"),
    ],
)
def test_bad_weights(estimator, weight, message):
    with pytest.raises(ValueError, match=message):
        clone(estimator).fit(X, Y, sample_weight=weight)


def test_a_class_weight_of_zero_leaves_one_class():
    with pytest.raises(ValueError, match=r"class_weight=.* leaves rows of only one class: \[1.0\]"):
        LinearClassifier(class_weight={-1: 0.0}).fit(X, Y)
    with pytest.raises(ValueError, match="class_weight must be finite and not negative"):
        LinearClassifier(class_weight={-1: -2.0}).fit(X, Y)


def test_balanced_weights_count_repetition():
    rows = np.where(Y > 0, 3, 1)
    repeated = LinearClassifier(class_weight="balanced").fit(
        np.repeat(X, rows, 0), np.repeat(Y, rows)
    )
    weighted = LinearClassifier(class_weight="balanced").fit(X, Y, sample_weight=rows)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-10)


# ---- what is fitted ----------------------------------------------------------------------


def test_attributes_and_their_shapes():
    clf = Perceptron(max_iter=30, random_state=0).fit(X, Y)
    assert clf.coef_.shape == (1, 4)
    assert clf.intercept_.shape == (1,)
    assert clf.embedding_strengths_.shape == (80,)
    assert clf.embedding_strengths_.sum() == clf.n_updates_
    assert (type(clf.n_iter_), type(clf.n_updates_), type(clf.converged_)) == (int, int, bool)
    assert clf.n_features_in_ == 4
    assert list(clf.history_) == ["pass", "objective", "mistakes", "norm", "seconds"]
    frame = pd.DataFrame(clf.history_)
    assert len(frame) == clf.n_iter_ == len(pl.DataFrame(clf.history_))
    assert np.all(np.diff(frame["seconds"]) >= 0)
    flat = Perceptron(max_iter=3, fit_intercept=False).fit(X, Y)
    np.testing.assert_array_equal(flat.intercept_, [0.0])


def test_the_objective_is_exact_and_the_same_for_every_solver():
    for solver in (LBFGS(), Newton(), "auto"):
        clf = LinearClassifier(l2=0.01, solver=solver).fit(X, Y)
        margins = Y * (X @ clf.coef_[0] + clf.intercept_[0])
        value = np.mean(np.log1p(np.exp(-margins))) + 0.01 * np.sum(clf.coef_**2)
        assert isinstance(clf.objective_, float)
        np.testing.assert_allclose(clf.objective_, value, rtol=1e-13)


def test_probabilities_only_where_the_loss_defines_them():
    clf = LinearClassifier().fit(X, Y)
    p = clf.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_allclose(p[:, 1], 1 / (1 + np.exp(-clf.decision_function(X))))
    np.testing.assert_allclose(clf.predict_log_proba(X), np.log(p))
    np.testing.assert_array_equal(clf.predict_log_proba(X * 1e5).min() < -1000, True)
    for other in (LinearClassifier("hinge"), LinearClassifier("squared"), Perceptron()):
        assert not hasattr(other, "predict_proba")
    with pytest.raises(AttributeError):
        LinearClassifier("hinge").predict_proba(X)


def test_on_the_boundary_the_larger_class_is_predicted():
    clf = Perceptron(max_iter=1, shuffle=False).fit(CORNERS, LOGIC["xor"])
    clf.coef_, clf.intercept_ = np.zeros((1, 2)), np.zeros(1)
    np.testing.assert_array_equal(clf.predict(CORNERS), [1, 1, 1, 1])


def test_strengths_without_rows_say_why():
    clf = LinearClassifier().fit(X, Y)
    with pytest.raises(AttributeError, match="all rows at once"):
        _ = clf.embedding_strengths_


@quiet
def test_the_perceptron_loss_learns_nothing_at_its_minimum():
    """With l2 > 0 the only minimum of the perceptron loss is (w, b) = 0: keep the pocket."""
    solver = GradientDescent(learning_rate=0.01)
    clf = LinearClassifier("perceptron", l2=0.5, solver=solver, start="sum", max_iter=3000)
    clf.fit(X, Y)
    steps = list(clf.trace_.replay(X, Y))
    assert np.linalg.norm(steps[-1].weights) < 1e-3 * np.linalg.norm(steps[0].weights)
    margins = [Y * (X @ step.weights[0, :-1] + step.weights[0, -1]) for step in steps]
    fewest = min(int(np.sum(m <= 0)) for m in margins)
    assert np.sum(Y * clf.decision_function(X) <= 0) == fewest < np.sum(margins[-1] <= 0)
    assert clf.objective_ > 0.0  # which zero weights would reach
    assert clf.stop_ != "optimal"


def test_convergence_warning_only_for_the_linear_classifier(recwarn):
    Perceptron(max_iter=1).fit(X, Y)
    assert not recwarn.list
    with pytest.warns(ConvergenceWarning, match=r"max_iter=2.*raise max_iter"):
        LinearClassifier(max_iter=2, solver=LBFGS()).fit(X, Y)


def test_a_failed_refit_leaves_the_earlier_fit_untouched():
    for estimator in BOTH:
        clf = clone(estimator).fit(X, Y)
        before = {name: copy.deepcopy(value) for name, value in vars(clf).items()}
        scores = clf.decision_function(X)
        with pytest.raises(ValueError, match="NaN"):
            clf.fit(np.full((3, 2), np.nan), [0, 1, 1])
        with pytest.raises(ValueError, match="only one class"):
            clf.fit(np.ones((3, 2)), [1, 1, 1])

        def fail(step, info):
            raise RuntimeError("stop here")

        clf.set_params(callbacks=(fail,))
        with pytest.raises(RuntimeError, match="stop here"):
            clf.fit(X[:, :2], Y)
        clf.set_params(callbacks=())
        assert vars(clf).keys() == before.keys()
        assert clf.n_features_in_ == 4
        np.testing.assert_array_equal(clf.decision_function(X), scores)


@pytest.mark.parametrize("estimator", BOTH)
def test_fitted_estimators_pickle_clone_and_copy(estimator):
    clf = clone(estimator).fit(X, Y)
    for other in (pickle.loads(pickle.dumps(clf)), copy.deepcopy(clf)):
        np.testing.assert_array_equal(other.decision_function(X), clf.decision_function(X))
        other.partial_fit(X, Y)
    assert not hasattr(clone(clf), "coef_")


@pytest.mark.parametrize(
    "seed", [lambda: 3, lambda: np.int64(3), lambda: np.random.default_rng(3),
             lambda: np.random.RandomState(3)]
)  # fmt: skip
def test_seeds_of_every_kind(seed):
    """Each starts and shuffles alike whenever it is made anew; none says more than others."""

    def fitted(seed):
        clf = Perceptron(max_iter=3, random_state=seed, start="random", keep="last").fit(X, Y)
        return clf.trace_.start, clf.coef_

    for one, other in zip(fitted(seed()), fitted(seed()), strict=True):
        np.testing.assert_array_equal(one, other)
    for one, other in zip(fitted(seed()), fitted(None), strict=True):
        assert not np.array_equal(one, other)
    if isinstance(seed(), np.integer):
        np.testing.assert_array_equal(fitted(seed())[1], fitted(3)[1])


def test_equal_seeds_equal_fits_and_generators_move_on():
    def coefficients(seed):
        return Perceptron(max_iter=3, random_state=seed, keep="last").fit(X, Y).coef_

    np.testing.assert_array_equal(coefficients(7), coefficients(7))
    generator = np.random.default_rng(7)
    assert not np.array_equal(coefficients(generator), coefficients(generator))


def test_overflow_is_an_error_that_says_what_to_do():
    clf = LinearClassifier("squared", solver=GradientDescent(learning_rate=1.0), tol=None)
    with pytest.raises(ValueError, match=r"overflowed floating point in pass \d+.*scale the feat"):
        clf.fit(X * 1e100, Y)
    assert not hasattr(clf, "coef_")


def test_metadata_routing():
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            LinearClassifier()
            .set_fit_request(sample_weight=True)
            .set_score_request(sample_weight=True),
            {"l2": [1e-3, 1e-2]},
            cv=2,
        ).fit(X, Y, sample_weight=np.ones(80))
    assert search.best_score_ > 0.7
