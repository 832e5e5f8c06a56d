"""Fits without a penalty: a proven minimum where there is one, and the right word where not."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import quiet
from sklearn.exceptions import ConvergenceWarning

from separatrix import (
    LBFGS,
    GradientDescent,
    LinearClassifier,
    Newton,
    certify,
)
from separatrix.proofs.free_features import MOST_VARIABLES

# J in long double, and Newton's method for its minimum: no code is shared with the library.
LONG = np.longdouble


def columns_of(loss, y, k):
    """Signs, one column per class, or the single one of two classes; None for the softmax."""
    if k == 2:
        return np.where(y == 1, 1.0, -1.0)[:, None]
    return None if loss == "logistic" else 2.0 * np.eye(k)[y] - 1.0


def parts(loss, S, y, k):
    """Loss of each row, its gradient (n, c) and second derivative (n, c, c) by the scores."""
    t = columns_of(loss, y, k)
    if t is None:
        p = np.exp(S - S.max(axis=1, keepdims=True))
        total = p.sum(axis=1, keepdims=True)
        p = p / total
        own = np.arange(len(y)), y
        H = p[:, :, None] * np.eye(k) - p[:, :, None] * p[:, None, :]
        return np.log(total[:, 0]) + S.max(axis=1) - S[own], p - np.eye(k)[y], H
    m = t * S
    if "logistic" in loss:
        e = np.exp(-np.abs(m))
        value = np.log1p(e) + np.maximum(-m, 0)
        p = np.where(m > 0, e, 1) / (1 + e)
        slope, bend = -p, p * (1 - p)
    else:
        below = (m < 1) | (loss == "squared")
        value, slope, bend = (np.where(below, f, 0) for f in ((1 - m) ** 2, 2 * (m - 1), 2 + 0 * m))
    return value.sum(axis=1), t * slope, bend[:, :, None] * np.eye(t.shape[1])


def minimum(loss, X, y, weight, intercept=True):
    """The minimum of J in long double, from Newton steps on centred columns."""
    k, c = int(y.max()) + 1, np.asarray(weight, LONG) / np.sum(weight, dtype=LONG)
    A = np.asarray(sp.csr_array(X).toarray(), LONG)
    if intercept:
        A = np.column_stack([A - c @ A, np.ones(len(A), LONG)])
    sizes = np.sqrt(c @ A**2)
    A = A / np.where(sizes > 0, sizes, 1)  # a constant column has rounding left of it, or 0
    columns = k if k > 2 else 1
    W = np.zeros((columns, A.shape[1]), LONG)

    def value(W):
        return c @ parts(loss, A @ W.T, y, k)[0]

    for _ in range(60):
        _, G, H = parts(loss, A @ W.T, y, k)
        g = (c[:, None] * G).T @ A
        if np.abs(g).max() < 1e-17:
            break
        hessian = np.einsum("i,iab,ij,il->ajbl", c, H, A, A).reshape(W.size, W.size)
        step = np.linalg.lstsq(hessian.astype(float), g.ravel().astype(float), rcond=1e-13)[0]
        step, size = step.reshape(W.shape), LONG(1)
        while value(W - size * step) > value(W) and size > 1e-6:
            size /= 2
        W = W - size * step
    return value(W)


def overlapping(n, d, k, rng):
    X = rng.standard_normal((n, d))
    scores = X @ rng.standard_normal((k, d)).T + 2.0 * rng.gumbel(size=(n, k))
    return X, scores.argmax(axis=1)


def assert_proven(clf, loss, X, y, weight=None, intercept=True):
    weight = np.ones(len(y)) if weight is None else weight
    least = minimum(loss, X, y, weight, intercept)
    assert clf.stop_ == "optimal"
    assert clf.converged_
    assert 0.0 <= clf.gap_ <= max(clf.tol, 1e-14) * clf.objective_
    assert clf.objective_ - clf.gap_ <= least * (1 + LONG(1e-17))
    assert clf.objective_ >= least * (1 - LONG(1e-12))


CASES = [
    (loss, k)
    for loss in ("logistic", "squared", "squared_hinge", "one_vs_rest_logistic")
    for k in (2, 3)
    if not (loss == "one_vs_rest_logistic" and k == 2)
]


@pytest.mark.sampled
@pytest.mark.parametrize(("loss", "k"), CASES)
@pytest.mark.parametrize("solver", ["auto", LBFGS()], ids=["auto", "lbfgs"])
def test_overlapping_rows_have_a_proven_minimum(loss, k, solver, rng):
    X, y = overlapping(150, 3, k, rng)
    clf = LinearClassifier(loss, l2=0.0, solver=solver, tol=1e-9).fit(X, y)
    assert_proven(clf, loss, X, y)


@pytest.mark.parametrize(("loss", "k"), CASES)
def test_the_bound_holds_with_weights_and_without_an_intercept(loss, k, rng):
    X, y = overlapping(120, 3, k, rng)
    weight = rng.integers(0, 4, len(y)).astype(float)
    clf = LinearClassifier(loss, l2=0.0, tol=1e-9, fit_intercept=False)
    clf.fit(X, y, sample_weight=weight)
    some = weight > 0
    assert_proven(clf, loss, X[some], y[some], weight[some], intercept=False)


@pytest.mark.parametrize("given", [{}, {"standardize": True}], ids=["as given", "standardised"])
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
def test_offsets_and_scales(given, offset, rng):
    X, y = overlapping(200, 3, 2, rng)
    X = X * [1e-4, 1.0, 1e4] + offset * np.array([1e-4, 1.0, 1e4])
    assert_proven(LinearClassifier(l2=0.0, **given).fit(X, y), "logistic", X, y)


def test_sparse_rows_float32_and_read_only_arrays(rng):
    X, y = overlapping(200, 3, 2, rng)
    X[rng.random(X.shape) < 0.5] = 0.0
    X = X.astype(np.float32)
    X.setflags(write=False)
    for rows in (X, sp.csr_array(X), np.asfortranarray(X)):
        assert_proven(LinearClassifier(l2=0.0).fit(rows, y), "logistic", X, y)


def test_collinear_features(rng):
    """All indicators of a category, a constant column, and a column twice."""
    x, y = overlapping(300, 1, 2, rng)
    X = np.column_stack([x, x, np.eye(4)[rng.integers(0, 4, len(x))], np.ones(len(x))])
    for rows in (X, sp.csr_array(X)):
        clf = LinearClassifier(l2=0.0, tol=1e-9).fit(rows, y)
        assert_proven(clf, "logistic", X, y)


@quiet
def test_separable_rows_have_no_bound(rng):
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    complete = LinearClassifier(l2=0.0).fit(X, [0, 0, 0, 1])
    quasi = LinearClassifier(l2=0.0).fit(X[[0, 1, 2, 3, 3]], [0, 0, 1, 1, 0])
    for clf in (complete, quasi):
        assert clf.stop_ == "no minimum"
        assert clf.gap_ is None
        assert not clf.converged_


def test_the_squared_hinge_attains_0_on_separable_rows():
    clf = LinearClassifier("squared_hinge", l2=0.0).fit([[-1.0], [1.0]], [0, 1])
    assert clf.objective_ == 0.0
    assert clf.gap_ in (None, 0.0)


def test_gradient_descent_is_optimal_or_says_how_far_it_is(rng):
    X, y = overlapping(200, 2, 2, rng)
    least = minimum("logistic", X, y, np.ones(len(y)))
    clf = LinearClassifier(l2=0.0, solver=GradientDescent(), tol=1e-4).fit(X, y)
    assert clf.stop_ in ("optimal", "tol")
    assert clf.gap_ is not None
    assert clf.objective_ - clf.gap_ <= least <= clf.objective_


def test_a_fit_cut_short_has_no_false_bound(rng):
    X, y = overlapping(200, 2, 2, rng)
    least = minimum("logistic", X, y, np.ones(len(y)))
    for max_iter in range(1, 6):
        with pytest.warns(ConvergenceWarning):
            clf = LinearClassifier(l2=0.0, solver=LBFGS(), tol=1e-14, max_iter=max_iter).fit(X, y)
        assert clf.stop_ == "max_iter"
        if clf.gap_ is not None:
            assert clf.objective_ - clf.gap_ <= least


def test_no_second_derivative_of_very_many_features(rng, monkeypatch):
    """Where it would take too long the fit ends with "tol", as before, and without a bound."""
    monkeypatch.setattr("separatrix.proofs.free_features.FEW_VARIABLES", 3)
    monkeypatch.setattr("separatrix.proofs.free_features.VARIABLES_A_READ", 0)
    assert MOST_VARIABLES > 3
    X, y = overlapping(200, 3, 2, rng)
    clf = LinearClassifier(l2=0.0, solver=Newton()).fit(X, y)
    assert clf.stop_ == "tol"
    assert clf.gap_ is None


def test_another_librarys_fit_without_a_penalty_is_proven(rng):
    from sklearn.linear_model import LogisticRegression

    X, y = overlapping(200, 3, 2, rng)
    model = LogisticRegression(C=np.inf, tol=1e-6).fit(X, y)
    found = certify(model, X, y)
    assert found.proven
    assert found.bound <= minimum("logistic", X, y, np.ones(len(y))) <= found.objective
    assert found.relative_gap < 1e-6


def test_features_that_are_combinations_up_to_rounding_prove_nothing(rng):
    """Weights of 1e15 could make use of the rounding errors, and J be lower there."""
    x = rng.standard_normal((40, 1)) + 1.7
    X, y = np.column_stack([x, x - 4.0]), (rng.random(40) < 0.5).astype(int)
    assert np.any(X[:, 1] + 4.0 != X[:, 0])
    for loss in ("logistic", "squared", "squared_hinge"):
        clf = LinearClassifier(loss, l2=0.0).fit(X, y)
        assert clf.gap_ is None
        assert clf.stop_ in ("tol", "closed form")


def test_exact_combinations_that_are_not_sums(rng):
    x, y = overlapping(200, 2, 2, rng)
    x = np.round(8.0 * x)
    X = np.column_stack([x, (2.0 * x[:, 0] - 3.0 * x[:, 1]) / 4.0])
    for given in ({}, {"standardize": True}):
        assert_proven(LinearClassifier(l2=0.0, **given).fit(X, y), "logistic", X, y)


@pytest.mark.parametrize("power", [4.0, 8.0, 12.75, 14.0])
@pytest.mark.parametrize("solver", ["auto", LBFGS()], ids=["auto", "lbfgs"])
def test_confident_rows_do_not_hide_rounding(power, solver):
    """Two rows of weight 1 and two of weight e on the other sides: the infimum is known."""
    e = LONG(10.0) ** LONG(-power)
    weight = np.array([1.0, 1.0, float(e), float(e)])
    clf = LinearClassifier(l2=0.0, tol=1e-4, solver=solver)
    clf.fit([[1.0], [-1.0], [1.0], [-1.0]], [1, 0, 0, 1], sample_weight=weight)
    e = LONG(float(e))
    p = e / (1 + e)  # of the wrong class, on both sides
    least = -p * np.log(p) - (1 - p) * np.log1p(-p)
    if clf.gap_ is not None:
        assert LONG(clf.objective_) - LONG(clf.gap_) <= least * (1 + LONG(1e-15))
    assert clf.objective_ >= least * (1 - LONG(1e-12))
