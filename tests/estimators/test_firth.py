"""bias_reduction="firth" against closed forms and direct maximisation in long double."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from firth_oracles import design, maximum, penalised
from scipy.special import expit
from sklearn.base import clone
from source_kinds import SOURCES, data, every_source

import separatrix
from separatrix import FisherScoring, LinearClassifier, certify, diagnose
from separatrix.models.formula import formula_of


def table(n=40, d=3, seed=0, separated=False):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * np.logspace(0.0, 1.0, d) + 1.0
    noise = 0.0 if separated else 1.0
    y = (X[:, 0] - 1.0 + noise * rng.logistic(size=n) > 0.0).astype(int)
    return X, y


def firth(**options):
    return LinearClassifier(**({"bias_reduction": "firth", "tol": 1e-11} | options))


def coefficients(clf):
    return np.append(clf.coef_[0], clf.intercept_ if clf.fit_intercept else [])


def test_six_rows_that_separate():
    """Published and exact: the slope is 2 ln 7."""
    x = np.array([[0.0], [0.0], [0.0], [1.0], [1.0], [1.0]])
    clf = firth().fit(x, x[:, 0])
    assert clf.stop_ == "stationary"
    assert clf.converged_
    assert clf.gap_ is None
    np.testing.assert_allclose(clf.coef_, [[3.8918202981106265]], rtol=1e-10)
    np.testing.assert_allclose(clf.intercept_, [-np.log(7.0)], rtol=1e-10)
    np.testing.assert_allclose(clf.predict_proba(x)[:, 1], x[:, 0] * 0.75 + 0.125, rtol=1e-9)


@pytest.mark.parametrize("cells", [(3, 1, 0, 4), (10, 0, 0, 7), (1, 0, 0, 1), (5, 3, 2, 8)])
def test_a_saturated_table_adds_a_half_to_every_cell(cells):
    a, b, c, d = cells
    X = np.repeat([[0.0], [0.0], [1.0], [1.0]], cells, axis=0)
    y = np.repeat([0, 1, 0, 1], cells)
    clf = firth().fit(X, y)
    low, high = np.log((b + 0.5) / (a + 0.5)), np.log((d + 0.5) / (c + 0.5))
    np.testing.assert_allclose(coefficients(clf), [high - low, low], rtol=1e-8, atol=1e-10)


@pytest.mark.sampled
@pytest.mark.parametrize("separated", [False, True])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
def test_direct_maximisation_agrees(separated, intercept, weighted):
    X, y = table(25, 2, separated=separated)
    w = np.random.default_rng(1).integers(0, 4, len(y)).astype(float) if weighted else None
    clf = firth(fit_intercept=intercept).fit(X, y, sample_weight=w)
    expected, value = maximum(X, y, w, intercept)
    np.testing.assert_allclose(coefficients(clf), expected, rtol=1e-8, atol=1e-9)
    total = len(y) if w is None else w.sum()
    np.testing.assert_allclose(-clf.objective_ * total, value, rtol=1e-12)


@pytest.mark.parametrize(("n", "d"), [(30, 5), (12, 10), (60, 1), (200, 4)])
def test_the_gradient_of_the_definition_is_zero(n, d):
    """Differences of the penalised likelihood in long double, without any formula for it."""
    X, y = table(n, d, seed=n, separated=n % 4 == 0)
    clf = firth().fit(X, y)
    assert clf.stop_ == "stationary"
    Z, v = design(X), coefficients(clf).astype(np.longdouble)
    for j in range(d + 1):
        step = np.zeros(d + 1, dtype=np.longdouble)
        step[j] = 2.0**-14
        one, two = (penalised(v + k * step, Z, y) - penalised(v - k * step, Z, y) for k in (1, 2))
        assert abs(float((8 * one - two) / (12 * step[j]))) < 1e-7 * n


def test_weights_are_numbers_of_rows():
    X, y = table()
    w = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = firth().fit(X, y, sample_weight=w)
    repeated = firth().fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(coefficients(weighted), coefficients(repeated), rtol=1e-8)
    np.testing.assert_allclose(weighted.objective_, repeated.objective_, rtol=1e-12)
    np.testing.assert_allclose(weighted.intercept_flic_, repeated.intercept_flic_, rtol=1e-8)


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_units_offsets_and_standardize_do_not_matter(offset):
    X, y = table()
    X = np.round(X * 8.0) / 8.0  # exact after the shift
    plain = firth().fit(X, y)
    scale = np.array([2.0**-20, 1.0, 2.0**30])
    for options in ({}, {"standardize": True}):
        other = firth(**options).fit(X * scale + np.array([0.0, offset, 0.0]), y)
        assert other.stop_ == "stationary"
        np.testing.assert_allclose(other.coef_ * scale, plain.coef_, rtol=1e-6)
        np.testing.assert_allclose(
            other.predict_proba(X * scale + [0.0, offset, 0.0]), plain.predict_proba(X), rtol=1e-5
        )


def test_probabilities_have_the_intercept_of_flic():
    X, y = table(60)
    y[:40] = 0  # a rare class
    clf = firth().fit(X, y)
    scores = X @ clf.coef_[0]
    assert clf.intercept_flic_[0] < clf.intercept_[0]
    np.testing.assert_allclose(clf.predict_proba(X)[:, 1], expit(scores + clf.intercept_flic_))
    np.testing.assert_allclose(clf.predict_proba(X)[:, 1].mean(), y.mean(), rtol=1e-10)
    np.testing.assert_allclose(clf.decision_function(X), scores + clf.intercept_flic_)
    np.testing.assert_array_equal(clf.predict(X), clf.predict_proba(X).argmax(axis=1))
    without = firth(fit_intercept=False).fit(X, y)
    assert not hasattr(without, "intercept_flic_")
    again = clf.set_params(bias_reduction=None, l2=0.1).fit(X, y)
    assert not hasattr(again, "intercept_flic_")


@pytest.mark.sampled(4)
@every_source
def test_every_source(kind):
    X, y, classes, weight = data(2, True)
    clf = firth().fit(SOURCES[kind](X, y, classes, weight))
    kept = weight > 0
    expected = firth().fit(X[kept], (y[kept] > 0).astype(int), sample_weight=weight[kept])
    np.testing.assert_allclose(coefficients(clf), coefficients(expected), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(clf.intercept_flic_, expected.intercept_flic_, rtol=1e-7)


def test_storages_of_rows():
    X, y = table()
    X[np.abs(X) < 0.7] = 0.0
    expected = coefficients(firth().fit(X, y))
    frozen = np.asfortranarray(X)
    frozen.flags.writeable = False
    for rows in (sp.csr_array(X), sp.csc_matrix(X), frozen, X.repeat(2, axis=1)[:, ::2]):
        np.testing.assert_allclose(coefficients(firth().fit(rows, y)), expected, rtol=1e-9)
    single = X.astype(np.float32)
    np.testing.assert_array_equal(
        firth().fit(single, y).coef_, firth().fit(single.astype(float), y).coef_
    )


def test_rows_in_many_parts_give_the_same(monkeypatch):
    X, y = table(300)
    expected = coefficients(firth().fit(X, y))
    monkeypatch.setattr("separatrix.objective.firth.VALUES_OF_PART", 1)
    np.testing.assert_allclose(coefficients(firth().fit(X, y)), expected, rtol=1e-9)


def test_a_run_is_interrupted_warm_started_and_saved(tmp_path):
    X, y = table(separated=True)
    clf = firth(warm_start=True).fit(X, y)
    passes, coef = clf.n_iter_, clf.coef_
    assert clf.fit(X, y).n_iter_ == 1 < passes
    np.testing.assert_array_equal(clf.coef_, coef)
    separatrix.save(clf, str(tmp_path / "m.sep"))
    again = separatrix.load(str(tmp_path / "m.sep"))
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))
    assert isinstance(again.solver_, FisherScoring)
    assert clone(clf).bias_reduction == "firth"
    short = firth(max_iter=2)
    with pytest.warns(UserWarning, match="max_iter"):
        short.fit(X, y)
    assert (short.stop_, short.converged_) == ("max_iter", False)


def test_a_checkpoint_goes_on_with_the_same_bits(tmp_path):
    X, y = table(separated=True)
    whole = firth().fit(X, y)
    file = str(tmp_path / "run.ckpt")
    with pytest.warns(UserWarning, match="max_iter"):
        firth(max_iter=3, callbacks=[separatrix.Checkpoint(file)]).fit(X, y)
    resumed = firth(callbacks=[separatrix.Checkpoint(file)]).fit(X, y)
    np.testing.assert_array_equal(resumed.coef_, whole.coef_)
    assert resumed.n_iter_ == whole.n_iter_


def test_a_far_start_and_tol_0():
    X, y = table()
    expected = coefficients(firth().fit(X, y))
    for options in ({"start": np.full(4, 40.0)}, {"start": "random", "random_state": 0},
                    {"start": np.full(4, 1e6)}, {"tol": 0.0}):  # fmt: skip
        clf = firth(**options).fit(X, y)
        assert clf.stop_ == "stationary"
        np.testing.assert_allclose(coefficients(clf), expected, rtol=1e-7)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (lambda X: np.column_stack([X, X[:, 0] - 2.0 * X[:, 1]]), "of 'x3' is not.*combination"),
        (lambda X: np.column_stack([X, np.full(len(X), 0.1)]), "of 'x3' is not.*it is constant"),
        (lambda X: np.column_stack([np.full(len(X), 1e8), X]), "of 'x0' is not.*it is constant"),
        (lambda X: np.column_stack([X, X[:, :1]]), "combination of 'x0'"),
        (lambda X: sp.csr_array(np.column_stack([X, 0.0 * X[:, 0]])), "of 'x3' is not"),
        (lambda X: np.hstack([X] * 20), "40 rows cannot determine 61 coefficients"),
    ],
)
def test_rows_without_full_rank_are_refused(columns, words):
    X, y = table()
    with pytest.raises(ValueError, match=words):
        firth().fit(columns(X), y)


def test_a_constant_feature_without_intercept_is_fine():
    X, y = table()
    clf = firth(fit_intercept=False).fit(np.column_stack([X, np.ones(len(X))]), y)
    np.testing.assert_allclose(clf.coef_[0], coefficients(firth().fit(X, y)), rtol=1e-8)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"l2": 0.1}, "takes the place of a penalty, so l2"),
        ({"solver": separatrix.Newton()}, "has a solver of its own"),
        ({"class_weight": {0: 2.0}}, "changes the likelihood"),
        ({"loss": "hinge"}, "for loss='logistic'"),
        ({"soft_labels": True}, "exclude each other"),
    ],
)
def test_settings_that_are_refused(options, words):
    X, y = table()
    clf = firth(**options)
    with pytest.raises(ValueError, match=words):
        clf.fit(X, y)
    assert not hasattr(clf, "coef_")


def test_what_is_refused():
    X, y = table()
    with pytest.raises(ValueError, match="scale them"):
        firth().fit(X, y, sample_weight=np.full(len(y), 1e-200))
    with pytest.raises(TypeError, match="no other objective"):
        LinearClassifier(solver=FisherScoring()).fit(X, y)
    clf = firth().fit(X, y)
    for ask in (certify, diagnose):
        with pytest.raises(ValueError, match="bias_reduction='firth'"):
            ask(clf, X, y)


def test_an_offset_is_added_to_scores():
    """Two groups with offsets of their own: log odds of tables with a half added to each cell."""
    X = np.repeat([[0.0], [0.0], [1.0], [1.0]], [4, 2, 1, 5], axis=0)
    y = np.repeat([0, 1, 0, 1], [4, 2, 1, 5])
    offset = np.where(X[:, 0] > 0.0, 0.7, -0.3)
    clf = firth().fit(X, y, offset=offset)
    low, high = np.log(2.5 / 4.5) + 0.3, np.log(5.5 / 1.5) - 0.7
    np.testing.assert_allclose(coefficients(clf), [high - low, low], rtol=1e-8)
    probability = clf.predict_proba(X, offset=offset)[:, 1]
    np.testing.assert_allclose(probability.mean(), y.mean(), rtol=1e-10)
    with pytest.raises(ValueError, match="fitted with an offset"):
        clf.predict(X)


def test_exports_have_the_intercept_of_predictions():
    X, y = table(60)
    y[:40] = 0
    formula = formula_of(firth().fit(X, y))
    clf = firth().fit(X, y)
    np.testing.assert_array_equal(formula.intercept, clf.intercept_flic_)


@pytest.mark.parametrize("name", ["bias_reduction", "soft_labels"])
def test_a_search_refuses(name):
    with pytest.raises(TypeError, match=f"has no parameter '{name}'.*use LinearClassifier"):
        separatrix.LinearClassifierCV(**{name: "firth"})
