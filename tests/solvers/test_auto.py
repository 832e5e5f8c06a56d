"""Which solver ``auto`` takes, and why."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import overlapping
from problems import objective_of

from separatrix import (
    L2,
    LBFGS,
    ArraySource,
    DualAscent,
    LeastSquares,
    LinearClassifier,
    Newton,
    Objective,
    get_loss,
)
from separatrix.data.wrapped import MappedSource
from separatrix.numeric.rows import to_dense
from separatrix.rows import CsrRows
from separatrix.solvers import auto, choose


def objective(loss="logistic", l2=0.01, n=90, d=6, weight=None, intercept=True, scale=1.0):
    X, y = overlapping(n, d, scale=scale)
    source = ArraySource(X, y, np.array([-1, 1]), weight)
    return Objective(get_loss(loss), L2(l2), source, intercept)


def test_auto_says_why():
    reasons = {
        "squared": ("LeastSquares", "closed form"),
        "logistic": ("Newton", "small"),
        "squared_hinge": ("Newton", "small"),
        "tanh_squared": ("LBFGS", "gradients are enough"),
        "hinge": ("DualAscent", "dual proves"),
        "perceptron": ("GradientDescent", "kink"),
    }
    for loss, (name, why) in reasons.items():
        solver = choose(objective(loss))
        assert type(solver).__name__ == name
        assert why in solver.reason
        assert why in repr(solver)
    assert type(choose(objective("logistic", d=300))) is LBFGS
    assert type(choose(objective("logistic", n=50_000))) is LBFGS


def test_auto_says_that_weights_become_zero_only_where_they_may():
    X, y = overlapping(90, 6)
    weights = np.arange(1.0, 7.0)
    for l1, says in ((0.0, "penalties of their own"), (0.01, "weights become 0")):
        fit = LinearClassifier(l1=l1, l2=0.01, penalty_weights=weights).fit(X, y)
        assert says in fit.solver_.reason
        assert np.all(fit.coef_ != 0.0) or l1 > 0.0


def test_auto_does_not_factor_sparse_rows():
    X, y = overlapping(60, 5)
    clf = LinearClassifier().fit(sp.csr_array(X), y)
    assert type(clf.solver_) is LBFGS


def test_auto_takes_the_closed_form_where_products_are_cheap(monkeypatch):
    def chosen(n, d, l2, by_blocks=False):
        rng = np.random.default_rng(0)
        y = np.where(np.arange(n) % 2, 1.0, -1.0)
        objective = objective_of(rng.standard_normal((n, d)), y, "squared", l2)
        if by_blocks:
            objective = objective.on_rows(MappedSource(objective.source, lambda block: block))
        return type(choose(objective))

    assert chosen(30_000, 20, 1e-3) is LeastSquares
    assert chosen(4_000, 64, 1e-3) is LeastSquares
    assert chosen(2_000, 128, 1e-3) is LeastSquares
    monkeypatch.setattr(auto, "CLOSED_FORM_VALUES", 2_000 * 128 - 1)
    assert chosen(2_000, 128, 1e-3) is LBFGS
    assert chosen(4_000, 64, 1e-3) is LeastSquares
    assert chosen(2_000, 129, 1e-3) is LBFGS
    assert chosen(1_600, 129, 1e-3, by_blocks=True) is LeastSquares
    assert chosen(1_000, 500, 1e-3) is LBFGS
    assert chosen(1_000, 500, 0.0) is LeastSquares
    assert chosen(300, 500, 1e-3) is LeastSquares


def test_wide_sparse_rows_of_many_classes_go_class_by_class():
    """With and without a bias, few rows and many: every choice is one that can be made."""
    rng = np.random.default_rng(0)
    for n, intercept in ((60, False), (60, True), (600, False)):
        X = sp.random(n, 6000, density=0.005, format="csr", random_state=1)
        y = rng.integers(0, 4, n)
        clf = LinearClassifier(
            "squared_hinge", l2=0.01, fit_intercept=intercept, tol=1e-4, random_state=0
        ).fit(X, y)
        assert type(clf.solver_).__name__ == "CoordinateAscent"
        assert clf.stop_ == "optimal"


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_short_sparse_rows_go_one_by_one(loss):
    """However few values they store and however strong the penalty is, if there is no bias."""
    rng = np.random.default_rng(0)

    def chosen(n, d, l2, intercept=False, positive=False, stored=lambda rows: rows):
        columns = (rng.integers(0, d, (n, 1)) + 7 * np.arange(6)) % d
        values = np.ones((n, 6))
        if positive:  # a word that all rows have
            columns[:, 0], values[:, 0] = 0, 5.0
        rows = CsrRows(values.ravel(), columns.ravel(), 6 * np.arange(n + 1), d)
        source = ArraySource(stored(rows), np.sign(rng.standard_normal(n)), np.array([-1, 1]))
        return type(choose(Objective(get_loss(loss), L2(l2), source, intercept)))

    for l2 in (1e-6, 1e-3, 1e-1):
        assert chosen(4_000, 6_000, l2) is DualAscent
        assert chosen(8_000, 1_600, l2) is DualAscent
        assert chosen(8_000, 1_590, l2) is LBFGS  # more than five rows a feature
        assert chosen(2_000, 1_500, l2) is LBFGS  # as many unknowns as a system may have
        assert chosen(600, 1_200, l2) is DualAscent  # but wide
    assert chosen(1_600, 1_600, 1e-3, stored=to_dense) is LBFGS
    assert chosen(4_000, 6_000, 1e-6, intercept=True) is DualAscent
    assert chosen(4_000, 6_000, 1e-1, intercept=True) is LBFGS
    assert chosen(4_000, 3_900, 1e-6, intercept=True) is LBFGS
    assert chosen(4_000, 6_000, 1e-6, intercept=True, positive=True) is LBFGS


def test_rare_features_go_to_newton_where_the_penalty_is_weak():
    rng = np.random.default_rng(0)
    n, d = 5_000, 40
    common = (rng.random((n, d)) < 0.2).astype(float)
    y = np.sign(common @ rng.standard_normal(d) + rng.standard_normal(n))
    rare = common.copy()
    rare[:, :2] = 0.0
    rare[[1, 2, 3], [0, 1, 1]] = 1.0

    def chosen(X, C=20.0, loss="squared_hinge", l2=None, weight=None, wider=0):
        X = np.hstack([X, np.zeros((n, wider))])
        nonzero = X != 0.0
        starts = np.concatenate([[0], np.cumsum(nonzero.sum(axis=1))])
        rows = CsrRows(X[nonzero], np.nonzero(nonzero)[1], starts, X.shape[1])
        source = ArraySource(rows, y, np.array([-1, 1]), weight)
        l2 = 0.5 / (C * source.weight_sum) if l2 is None else l2
        return choose(Objective(get_loss(loss), L2(l2), source, True))

    assert isinstance(chosen(rare), Newton)
    assert "rare" in chosen(rare).reason
    assert isinstance(chosen(rare, weight=np.full(n, 1e-3)), Newton)
    assert isinstance(chosen(rare, wider=260), Newton)
    for other in (
        chosen(common), chosen(rare, C=5.0), chosen(rare, loss="logistic"), chosen(rare, l2=0.0),
        chosen(rare, weight=np.full(n, 4.0), l2=0.5 / (20.0 * n)), chosen(rare, wider=261),
    ):  # fmt: skip
        assert isinstance(other, LBFGS)
    only_one = rare.copy()
    only_one[:, 1] = common[:, 1]
    assert isinstance(chosen(only_one), LBFGS)
