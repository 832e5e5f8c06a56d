"""Class weights for several labels: each label is weighted as the fit to it alone would be."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from label_columns import UNSCALED, WEIGHT, X, Y, assert_as_columns, columns
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.multiclass import OneVsRestClassifier

import separatrix
from separatrix import (
    LBFGS,
    CoordinateAscent,
    CoordinateDescent,
    DualAscent,
    GradientDescent,
    LinearClassifier,
    LinearClassifierCV,
    Newton,
    ProximalNewton,
)
from separatrix.losses import Logistic, from_dict
from separatrix.losses.multilabel import WeightedMultiLabel

ROWS = (X - X.mean(axis=0)) / X.std(axis=0)
GIVEN = ["balanced", {0: 1.0, 1: 7.5}, {1: 0.01}]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("given", GIVEN, ids=["balanced", "more", "less"])
@pytest.mark.parametrize("loss", ["logistic", "squared", "squared_hinge", "tanh_squared", "hinge"])
def test_every_loss_with_row_weights(loss, given):
    convex = loss != "tanh_squared"
    clf = LinearClassifier(loss, l2=0.05, tol=TIGHTLY[convex], class_weight=given, random_state=0)
    fitted = assert_as_columns(clf, ROWS, Y, atol=1e-4, sample_weight=WEIGHT)
    assert fitted.stop_ == ("optimal" if convex else "tol")


TIGHTLY = {True: 1e-10, False: 1e-13}


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("loss", "solver"),
    [
        ("logistic", LBFGS()),
        ("logistic", Newton()),
        ("logistic", GradientDescent()),
        ("logistic", ProximalNewton()),
        ("logistic", CoordinateDescent()),
        ("logistic", CoordinateAscent()),
        ("squared_hinge", CoordinateAscent()),
        ("squared", LBFGS()),
        ("hinge", DualAscent()),
    ],
    ids=repr,
)
def test_every_solver(loss, solver):
    clf = LinearClassifier(
        loss, l2=0.05, solver=solver, tol=1e-9, class_weight="balanced", random_state=0
    )
    fitted = clone(clf).fit(ROWS, Y)
    coef, _, J = columns(clf.set_params(solver="auto"), ROWS, Y)
    assert fitted.stop_ == "optimal"
    assert np.allclose(fitted.coef_, coef, atol=1e-4)
    assert fitted.objective_ - fitted.gap_ <= J <= fitted.objective_ * (1.0 + 1e-8)


@pytest.mark.sampled
@pytest.mark.parametrize(
    "parameters",
    [
        {"fit_intercept": False}, {"penalty_weights": [0, 1, 1, 0, 1, 2]}, {"l2": 0.0},
        {"l1": 0.03, "l2": 0.0},
    ],
    ids=["no bias", "free features", "no penalty", "l1"],
)  # fmt: skip
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_penalties_have_proofs(parameters, storage):
    given = {"l2": 1e-2, "tol": 1e-9, "class_weight": "balanced"} | parameters
    fitted = assert_as_columns(LinearClassifier(**given), storage(ROWS), Y, atol=1e-4)
    assert fitted.stop_ == "optimal"
    assert fitted.gap_ <= 1e-9 * fitted.objective_


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "hinge"])
def test_unscaled_features(loss):
    clf = LinearClassifier(loss, l2=1e-4, class_weight={1: 30.0}, random_state=0)
    _, _, J = columns(clf, UNSCALED, Y)
    clf.fit(UNSCALED, Y)
    assert clf.stop_ == "optimal"
    assert clf.objective_ - clf.gap_ <= J <= clf.objective_ * (1.0 + 1e-6)


def test_the_bound_is_below_a_minimum_that_scipy_finds():
    clf = LinearClassifier(l2=0.05, class_weight={0: 1.0, 1: 4.0}, tol=1e-10).fit(ROWS, Y)
    rows, least = np.column_stack([ROWS, np.ones(len(X))]), 0.0
    for y in Y.T:
        weight, sign = np.where(y == 1, 4.0, 1.0), 2.0 * y - 1.0

        def value(w, weight=weight, sign=sign):
            losses = np.logaddexp(0.0, -sign * (rows @ w))
            return np.average(losses, weights=weight) + 0.05 * w[:-1] @ w[:-1]

        least += minimize(value, np.zeros(7), tol=1e-12).fun
    assert clf.objective_ - clf.gap_ <= least <= clf.objective_ + 1e-9


@pytest.mark.parametrize("l2", [0.0, 1e-2])
def test_an_offset(l2):
    offset = np.random.default_rng(4).normal(size=len(X))
    clf = LinearClassifier(l2=l2, class_weight={1: 5.0}, tol=1e-9)
    coef, _, J = columns(clf, ROWS, Y, offset=offset)
    clf.fit(ROWS, Y, offset=np.repeat(offset[:, None], 4, axis=1))
    assert clf.stop_ == "optimal"
    assert np.allclose(clf.coef_, coef, atol=1e-4)
    assert clf.objective_ - clf.gap_ <= J <= clf.objective_ * (1.0 + 1e-8)


def test_as_scikit_learn():
    theirs = OneVsRestClassifier(
        LogisticRegression(C=10.0, class_weight="balanced", tol=1e-10, max_iter=10_000)
    ).fit(ROWS, Y)
    l2 = 1.0 / (2.0 * 10.0 * len(X))  # "balanced" weights sum to the number of rows
    ours = LinearClassifier(l2=l2, class_weight="balanced", tol=1e-12).fit(ROWS, Y)
    coef = np.vstack([each.coef_ for each in theirs.estimators_])
    assert np.allclose(ours.coef_, coef, atol=1e-5)
    assert np.array_equal(ours.predict(ROWS), theirs.predict(ROWS))


def test_more_columns_than_the_loop_for_two_classes_takes(monkeypatch):
    clf = LinearClassifier(l2=1e-2, class_weight="balanced", tol=1e-10)
    few = clone(clf).fit(ROWS, Y, WEIGHT)
    monkeypatch.setattr("separatrix.loops.batch.FEW_COLUMNS", 0)
    many = clone(clf).fit(ROWS, Y, WEIGHT)
    assert np.allclose(few.coef_, many.coef_, atol=1e-9)
    mistakes = [each.history_["mistakes"] for each in (few, many)]
    assert np.allclose(*mistakes)


@pytest.mark.sampled(1)
@pytest.mark.filterwarnings("ignore:.*max_iter", "ignore:.*is not compiled")
@pytest.mark.parametrize("size", [1, 8])
def test_rows_in_batches_and_single_rows(size):
    best = LinearClassifier(l2=0.1, class_weight="balanced").fit(ROWS, Y)
    solver = GradientDescent(batch_size=size, average=True)
    clf = clone(best).set_params(solver=solver, max_iter=30, tol=None, random_state=0)
    clf.fit(ROWS, Y)
    assert best.objective_ - best.gap_ <= clf.objective_ <= 1.01 * best.objective_


def test_standardised_features_have_one_scale_for_all_labels():
    clf = LinearClassifier(l2=1e-2, class_weight="balanced", tol=1e-10)
    a = clone(clf).set_params(standardize=True).fit(X, Y)
    b = clone(clf).fit(ROWS, Y)
    assert np.allclose(a.coef_ * a.scale_, b.coef_, atol=1e-6)
    assert np.isclose(a.objective_, b.objective_, rtol=1e-9)


def test_constant_labels_and_a_single_one_that_varies():
    one = np.column_stack([np.ones(len(X), int), Y[:, 0], np.zeros(len(X), int)])
    clf = LinearClassifier(l2=1e-2, class_weight={1: 3.0}, tol=1e-10)
    with pytest.warns(UserWarning, match="has the label"):
        fitted = clone(clf).fit(ROWS, one)
    assert np.array_equal(fitted.coef_[1], clone(clf).fit(ROWS, Y[:, 0]).coef_[0])
    with pytest.warns(UserWarning, match="has the label"):
        fitted = clone(clf).fit(ROWS, np.column_stack([one, Y[:, 1]]))
    expected, _, _ = columns(clf, ROWS, Y[:, :2])
    assert np.allclose(fitted.coef_[[1, 3]], expected, atol=1e-5)


def test_files_and_held_out_rows(tmp_path):
    names = ["p", "q", "r", "s"]
    table = pd.DataFrame(ROWS, columns=list("abcdef"))
    table[names] = Y
    table.to_csv(tmp_path / "rows.csv", index=False)
    clf = LinearClassifier(l2=1e-2, class_weight="balanced", tol=1e-9)
    source = separatrix.read(tmp_path / "rows.csv", target=names)
    assert np.allclose(clone(clf).fit(source).coef_, clone(clf).fit(ROWS, Y).coef_, atol=1e-9)
    held = separatrix.read(tmp_path / "rows.csv", target=names, validation=0.3)
    clf.fit(held)
    rows = held.validation.sample(1000)
    margins = np.where(rows.y > 0, 1.0, -1.0) * clf.decision_function(rows)
    # Held-out rows are measured without class weights, as with two classes.
    loss = np.logaddexp(0.0, -margins).sum(axis=1).mean()
    assert np.isclose(clf.history_["validation_loss"][-1], loss)


def test_model_files_replays_and_certificates(tmp_path):
    clf = LinearClassifier(l2=1e-2, class_weight={0: 1.0, 1: 2.5}).fit(ROWS, Y)
    separatrix.save(clf, tmp_path / "m.sep")
    loaded = separatrix.load(tmp_path / "m.sep")
    assert loaded.trace_.loss == clf.trace_.loss
    last = list(loaded.trace_.replay(ROWS, Y))[-1]
    assert np.array_equal(last.weights[:, :-1], clf.coef_)
    found = separatrix.certify(loaded, ROWS, Y)
    assert found.proven
    assert np.isclose(found.objective, clf.objective_, rtol=1e-12)
    assert "class_weight={0: 1.0, 1: 2.5}" in str(found)


def test_a_path():
    found = separatrix.path(ROWS, Y, strengths=4, class_weight="balanced", tol=1e-9)
    fit = found.at(found.strengths[2])
    expected = LinearClassifier(l1=fit.l1, l2=0.0, class_weight="balanced", tol=1e-9)
    assert np.allclose(fit.coef_, columns(expected, ROWS, Y)[0], atol=1e-5)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({0: 0.0, 1: 1.0}, "expected weights above 0 for rows with several labels"),
        ({2: 1.0}, r"labels \[2\], which are not among the classes \[0, 1\]"),
        ("heavy", "must be a dict, 'balanced' or None"),
        ({1: np.inf}, "must be finite"),
        ({1: -1.0}, "not negative"),
    ],
)
def test_bad_weights_leave_the_model_as_it_was(given, message):
    clf = LinearClassifier().fit(ROWS, Y)
    before = clf.coef_.copy()
    with pytest.raises(ValueError, match=message):
        clf.set_params(class_weight=given).fit(ROWS, Y)
    assert np.array_equal(clf.coef_, before)


def test_a_search_and_chunks_refuse_them():
    search = LinearClassifierCV(class_weight="balanced", scoring="loss", cv=KFold(3))
    with pytest.raises(ValueError, match=r"use LinearClassifier, or scikit-learn's OneVsRest"):
        search.fit(ROWS, Y)
    with pytest.raises(ValueError, match=r"needs all rows at once.*call fit"):
        LinearClassifier(class_weight={0: 1.0, 1: 2.0}).partial_fit(ROWS, Y)


BAD = ["12", [], [[1.0]], [[1.0, 2.0, 3.0]], [[1.0, -1.0]], [[1.0, np.nan]], [[1, "a"]], 3.0]


@pytest.mark.parametrize("weights", BAD, ids=map(str, BAD))
def test_weights_from_a_file_are_checked(weights):
    loss = WeightedMultiLabel(Logistic(), ((0.5, 2.0), (1.0, 1.0)))
    assert from_dict(loss.to_dict()) == loss
    with pytest.raises(ValueError, match="two numbers above 0 for each label"):
        from_dict(loss.to_dict() | {"weights": weights})


def test_with_an_offset_every_label_is_a_fit_to_it_alone():
    rng = np.random.default_rng(3)
    X, offset = rng.standard_normal((80, 2)), rng.standard_normal((80, 3))
    Y = (X @ rng.standard_normal((2, 3)) + offset + rng.standard_normal((80, 3)) > 0.5).astype(int)
    settings = {"l2": 1e-2, "tol": 1e-10, "class_weight": "balanced"}
    clf = LinearClassifier(**settings).fit(X, Y, offset=offset)
    assert clf.stop_ == "optimal"
    for label in range(3):
        alone = LinearClassifier(**settings).fit(X, Y[:, label], offset=offset[:, label])
        assert clf.coef_[label] == pytest.approx(alone.coef_[0], abs=1e-5)
        assert clf.intercept_[label] == pytest.approx(alone.intercept_[0], abs=1e-5)
