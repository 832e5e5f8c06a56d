"""Runs of all labels: starts, replays, paths, checkpoints, threads."""

import numpy as np
import pytest
from label_columns import UNSCALED, X, Y, columns
from sklearn.base import clone

import separatrix
from separatrix import LBFGS, LinearClassifier


def test_warm_start_and_start():
    clf = LinearClassifier(l2=1e-2, warm_start=True, solver=LBFGS()).fit(X, Y)
    first = clf.n_iter_
    assert clf.fit(X, Y).n_iter_ < first
    with pytest.raises(ValueError, match="labels, or which of them vary"):
        clf.fit(X, Y[:, :3])
    with pytest.raises(ValueError, match="earlier fit"):
        clf.fit(X, Y[:, 0])
    W = np.column_stack([clf.coef_, clf.intercept_])
    again = LinearClassifier(l2=1e-2, start=W, solver=LBFGS()).fit(X, Y)
    assert again.n_iter_ < first
    with pytest.raises(ValueError, match="start"):
        LinearClassifier(start=W[:2]).fit(X, Y)


def test_a_fit_to_classes_after_one_to_labels():
    clf = LinearClassifier(l2=1e-2).fit(X, Y)
    clf.fit(X, Y[:, 0])
    assert not clf.multilabel_
    assert clf.predict(X).shape == (len(X),)
    assert np.array_equal(clf.coef_, LinearClassifier(l2=1e-2).fit(X, Y[:, 0]).coef_)


def test_replay():
    clf = LinearClassifier(l2=1e-2, solver=LBFGS()).fit(X, Y)
    steps = list(clf.trace_.replay(X, Y))
    assert np.array_equal(steps[-1].weights[:, :-1], clf.coef_)
    assert len(steps) == clf.n_iter_


def test_a_path():
    found = separatrix.path(X, Y, strengths=5, tol=1e-9)
    fit = found.at(found.strengths[2])
    assert fit.multilabel_
    coef, _, _ = columns(LinearClassifier(l1=fit.l1, l2=0.0, tol=1e-9), X, Y)
    assert np.allclose(fit.coef_, coef, atol=1e-5)


def test_a_run_of_columns_goes_on_with_the_same_bits(tmp_path):
    clf = LinearClassifier("hinge", l2=1e-5, tol=1e-9, random_state=0)
    whole = clone(clf).fit(UNSCALED, Y)
    assert "column by column" in repr(whole.solver_)
    path = tmp_path / "fit.sep"
    halt = [separatrix.Checkpoint(path), lambda step, info: info.iteration == 3]
    clone(clf).set_params(callbacks=halt).fit(UNSCALED, Y)
    again = clone(clf).set_params(callbacks=[separatrix.Checkpoint(path)]).fit(UNSCALED, Y)
    assert again.n_iter_ == whole.n_iter_ > 3
    assert np.array_equal(again.coef_, whole.coef_)
    assert again.gap_ == whole.gap_


@pytest.mark.sampled(1)
@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared_hinge"])
def test_bits_do_not_depend_on_threads(loss, monkeypatch):
    monkeypatch.setattr("separatrix.data.arrays.BLOCK_BYTES", 1024)
    monkeypatch.setattr("separatrix.data.arrays.BLOCK_ROWS_PER_SUM", 0)
    one, three = (
        LinearClassifier(loss, l2=1e-3, n_jobs=n, random_state=0).fit(X, Y) for n in (1, 3)
    )
    assert np.array_equal(one.coef_, three.coef_)
    assert one.gap_ == three.gap_
