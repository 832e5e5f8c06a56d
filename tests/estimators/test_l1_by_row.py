"""l1 row by row: fits, streams, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import quiet
from l1_oracles import Net, problem
from sklearn.base import clone

from separatrix import (
    Checkpoint,
    GradientDescent,
    InverseScaling,
    LinearClassifier,
)

ORDERED = GradientDescent(1, shuffle=False, learning_rate=InverseScaling(0.3))


@pytest.mark.sampled
@quiet
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("batch_size", [1, 8])
def test_it_comes_near_the_minimum_with_exact_zeros(k, batch_size):
    X, y = problem(n=400, k=k)
    given = {"l1": 0.05, "l2": 1e-3, "max_iter": 300, "random_state": 0}
    clf = LinearClassifier(**given, solver=GradientDescent(batch_size)).fit(X, y)
    net = Net("logistic", X, y, 0.05, 1e-3)
    best = LinearClassifier(l1=0.05, l2=1e-3, tol=1e-12).fit(X, y)
    assert best.objective_ <= clf.objective_ <= 1.01 * best.objective_
    np.testing.assert_allclose(
        clf.objective_, net.value(np.column_stack([clf.coef_, clf.intercept_])), rtol=1e-12
    )
    assert 0 < clf.gap_ < 0.05 * clf.objective_
    assert (clf.coef_ == 0.0).mean() > 0.5 * (best.coef_ == 0.0).mean() > 0.1
    assert not (clf.zero_ & clf.selected_).any()


@quiet
@pytest.mark.parametrize("k", [2, 3])
def test_dense_and_sparse_rows_and_any_threads_agree(k):
    X, y = problem(n=200, k=k)
    X[np.abs(X) < 0.8] = 0.0
    given = {"l1": 0.02, "max_iter": 5, "random_state": 1, "tol": None}
    for solver in (GradientDescent(1, learning_rate=0.05), GradientDescent(16)):
        clf = LinearClassifier(**given, solver=solver)
        dense, sparse = clone(clf).fit(X, y), clone(clf).fit(sp.csr_array(X), y)
        np.testing.assert_allclose(dense.coef_, sparse.coef_, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(dense.selected_, sparse.selected_)
        assert not dense.selected_.all()
        alone = clone(clf).set_params(n_jobs=1).fit(X, y)
        np.testing.assert_array_equal(alone.coef_, dense.coef_)


@quiet
@pytest.mark.parametrize("k", [2, 3])
def test_a_stream_is_a_pass_over_all(k):
    X, y = problem(n=120, k=k)
    given = {"l1": 0.05, "solver": ORDERED}
    whole = LinearClassifier(**given, max_iter=2, tol=None).fit(X, y)
    parts = LinearClassifier(**given)
    for at in 2 * [0, 30, 60, 90]:
        parts.partial_fit(X[at : at + 30], y[at : at + 30], classes=range(k))
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(parts.selected_, whole.selected_)
    assert not whole.selected_.all()
    forgets = LinearClassifier(**given)
    for at in 2 * [0, 30, 60, 90]:
        forgets.partial_fit(X[at : at + 30], y[at : at + 30], classes=range(k))
        del forgets._stream.state["received"]
    assert not np.allclose(forgets.coef_, whole.coef_)  # what was received counts


@quiet
def test_a_stream_by_itself_selects_and_goes_on_after_a_change_of_l1():
    X, y = problem(n=2000)
    clf = LinearClassifier(l1=0.05, random_state=0)
    for at in range(0, 2000, 100):
        clf.partial_fit(X[at : at + 100], y[at : at + 100])
    selected = clf.selected_.sum()
    assert 0 < selected < X.shape[1]
    assert not clf.zero_.any()
    assert clf.gap_ is None
    fit = LinearClassifier(l1=0.05).fit(X, y)
    assert clf.objective_ < 1.1 * Net("logistic", X[-100:], y[-100:], 0.05, 1e-4).value(
        np.column_stack([fit.coef_, fit.intercept_])
    )
    clf.set_params(l1=0.0)
    for at in range(0, 2000, 100):
        clf.partial_fit(X[at : at + 100], y[at : at + 100])
    assert clf.selected_.all()
    clf.set_params(l1=0.4)
    for at in range(0, 2000, 100):
        clf.partial_fit(X[at : at + 100], y[at : at + 100])
    assert not clf.selected_.all()


@quiet
@pytest.mark.parametrize(
    "solver", [GradientDescent(1), ORDERED, GradientDescent(16), GradientDescent()]
)
def test_a_run_that_was_cut_goes_on_with_the_same_bits(solver, tmp_path):
    X, y = problem(n=150)
    given = {"l1": 0.05, "solver": solver, "random_state": 3, "tol": 1e-9}
    whole = LinearClassifier(**given, max_iter=9).fit(X, y)
    keep = Checkpoint(tmp_path / "run", every=1)
    LinearClassifier(**given, max_iter=4, callbacks=[keep]).fit(X, y)
    again = LinearClassifier(**given, max_iter=9, callbacks=[keep]).fit(X, y)
    np.testing.assert_array_equal(again.coef_, whole.coef_)
    np.testing.assert_array_equal(again.intercept_, whole.intercept_)
    steps = list(whole.trace_.replay(X, y))
    np.testing.assert_array_equal(steps[-1].weights[:, :-1], whole.coef_)


@quiet
def test_weights_seen_before_are_no_cycle():
    """What weights have received differs, and they might leave 0 in a later pass."""
    X, y = np.array([[1.0], [-1.0]]), np.array([1, 0])
    solver = GradientDescent(1, shuffle=False, learning_rate=0.01)
    clf = LinearClassifier(l1=2.0, solver=solver, max_iter=20, tol=None, fit_intercept=False)
    with pytest.warns(UserWarning, match="no feature is selected"):
        clf.fit(X, y)
    assert clf.stop_ == "max_iter"
    assert not clf.coef_.any()


@pytest.mark.parametrize(
    ("solver", "given", "why"),
    [
        (GradientDescent(1, average=True), {}, "takes l1 without average=True"),
        (GradientDescent(8), {"penalty_weights": np.ones(15)}, "l1 without penalty_weights"),
        ("auto", {"penalty_weights": np.ones(15)}, "l1 without penalty_weights"),
        (GradientDescent(1), {"groups": "classes"}, "l1 without groups"),
        ("auto", {"groups": np.arange(15) // 3}, "l1 without groups"),
    ],
)
def test_what_rows_one_at_a_time_cannot_do_is_refused(solver, given, why):
    X, y = problem()
    clf = LinearClassifier(l1=0.1, solver=solver, **given)
    if solver != "auto":
        with pytest.raises(ValueError, match=why):
            clf.fit(X, y)
    with pytest.raises(ValueError, match=why):
        clf.partial_fit(X, y)
    assert not hasattr(clf, "coef_")
