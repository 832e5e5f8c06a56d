"""Rows with several labels each that come in chunks."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from label_columns import WEIGHT, X, Y
from sklearn.base import clone

from separatrix import GradientDescent, LinearClassifier


@pytest.mark.parametrize("loss", ["hinge", "logistic", "perceptron"])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_partial_fit_is_that_of_each_label(loss, kind):
    solver = GradientDescent(batch_size=1, shuffle=False)
    clf = LinearClassifier(loss, l2=1e-3, solver=solver)
    alone = [clone(clf) for _ in range(4)]
    for start in range(0, len(X), 30):
        at = slice(start, start + 30)
        clf.partial_fit(kind(X[at]), Y[at], sample_weight=WEIGHT[at])
        for c, one in enumerate(alone):
            one.partial_fit(kind(X[at]), Y[at, c], classes=[0, 1], sample_weight=WEIGHT[at])
    assert clf.multilabel_
    assert clf.n_iter_ == 5
    assert np.allclose(clf.coef_, np.vstack([one.coef_ for one in alone]), rtol=1e-12)
    assert np.allclose(clf.intercept_, np.concatenate([one.intercept_ for one in alone]))
    assert np.array_equal(clf.predict(X), np.column_stack([one.predict(X) for one in alone]))


def test_a_chunk_may_lack_a_label_and_have_a_single_row():
    clf = LinearClassifier(l2=1e-3)
    clf.partial_fit(X[:1], Y[:1], classes=np.arange(4))
    clf.partial_fit(X[1:2], np.zeros((1, 4), int))
    assert clf.coef_.shape == (4, 6)
    assert clf.partial_fit(X, sp.csr_array(Y)).score(X, Y) > 0.0


def test_replay_of_a_chunk_that_lacks_a_label():
    clf = LinearClassifier(l2=1e-3)
    given = Y[:20].copy()
    given[:, 1] = 0
    clf.set_params(solver=GradientDescent(batch_size=1)).partial_fit(X[:20], given)
    last = list(clf.trace_.replay(X[:20], given))[-1]
    assert np.array_equal(last.weights[:, :-1], clf.coef_)
    assert last.weights.shape == (4, 7)


def test_partial_fit_refuses_other_labels():
    names = ["a", "b", "c", "d"]
    clf = LinearClassifier(l2=1e-3).partial_fit(X, pd.DataFrame(Y, columns=names))
    assert clf.classes_.tolist() == names
    before = clf.coef_.copy()
    for bad, message in (
        (Y[:, 0], "one label per row, but the model has 4 labels"),
        (pd.DataFrame(Y, columns=names[::-1]), "labels of the earlier calls"),
        (Y[:, :3], "labels of the earlier calls"),
    ):
        with pytest.raises(ValueError, match=message):
            clf.partial_fit(X, bad)
    with pytest.raises(ValueError, match=r"classes=\['a'\].*expected the names or numbers"):
        clf.partial_fit(X, pd.DataFrame(Y, columns=names), classes=["a"])
    of_classes = LinearClassifier().partial_fit(X, Y[:, 0])
    with pytest.raises(ValueError, match="earlier calls had one class per row"):
        of_classes.partial_fit(X, Y)
    assert np.array_equal(clf.coef_, before)


def test_partial_fit_continues_a_fit_unless_a_label_was_constant():
    clf = LinearClassifier(l2=1e-2).fit(X, Y)
    before = clf.coef_.copy()
    clf.partial_fit(X[:10], Y[:10])
    assert not np.array_equal(clf.coef_, before)
    given = Y.copy()
    given[:, 2] = 1
    with pytest.warns(UserWarning, match="every row has the label 2"):
        clf.fit(X, given)
    with pytest.raises(ValueError, match=r"labels \[2\] did not vary"):
        clf.partial_fit(X, Y)
