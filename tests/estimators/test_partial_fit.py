"""Going on from an earlier fit: warm starts, and ``partial_fit`` on rows that come in chunks."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import overlapping
from sklearn.exceptions import ConvergenceWarning

import separatrix
from separatrix import (
    LBFGS,
    GradientDescent,
    InverseScaling,
    LeastSquares,
    LinearClassifier,
    Perceptron,
)

X, Y = overlapping(80, 4)
BOTH = [Perceptron(random_state=0), LinearClassifier(random_state=0)]


def test_warm_start_goes_on_from_the_weights():
    clf = LinearClassifier(solver=LBFGS(), warm_start=True, tol=1e-10).fit(X, Y)
    first = clf.n_iter_
    assert clf.fit(X, Y).n_iter_ < first
    with pytest.raises(ValueError, match="features and the earlier fit had 4"):
        clf.fit(X[:, :2], Y)
    with pytest.raises(ValueError, match="not those of the earlier fit"):
        clf.fit(X, np.where(Y > 0, "a", "b"))


@pytest.mark.parametrize("keep", ["last", "average"])
def test_partial_fit_is_one_pass_and_goes_on(keep):
    whole = Perceptron(4, shuffle=False, keep=keep, patience=None).fit(X, Y)
    parts = Perceptron(shuffle=False, keep=keep)
    for _ in range(4):
        parts.partial_fit(X, Y)
    np.testing.assert_array_equal(parts.coef_, whole.coef_)
    assert parts.n_iter_ == 4
    assert parts.n_updates_ == whole.n_updates_
    assert len(parts.history_["pass"]) == 4
    np.testing.assert_array_equal(parts.history_["pass"], [1, 2, 3, 4])


def test_partial_fit_in_chunks_is_a_pass_over_all():
    whole = Perceptron(1, shuffle=False, keep="average").fit(X, Y)
    chunks = Perceptron(shuffle=False, keep="average")
    for at in range(0, 80, 16):
        chunks.partial_fit(X[at : at + 16], Y[at : at + 16], classes=[-1, 1])
    np.testing.assert_allclose(chunks.coef_, whole.coef_, rtol=1e-13)
    assert chunks.n_iter_ == 5


def test_partial_fit_goes_on_with_steps_and_penalty():
    solver = GradientDescent(1, shuffle=False, learning_rate=InverseScaling(0.5))
    with pytest.warns(ConvergenceWarning):
        whole = LinearClassifier(solver=solver, max_iter=3, tol=None).fit(X, Y)
    parts = LinearClassifier(solver=solver)
    for _ in range(3):
        parts.partial_fit(X, Y)
    np.testing.assert_array_equal(parts.coef_, whole.coef_)


def test_partial_fit_with_auto_learns_from_a_stream():
    rows, labels = overlapping(4000, 5, seed=2)
    clf = LinearClassifier(random_state=0)
    for at in range(0, 4000, 50):
        clf.partial_fit(rows[at : at + 50], labels[at : at + 50])
    best = LinearClassifier().fit(rows, labels)
    assert type(clf.solver_) is GradientDescent
    assert clf.score(rows, labels) > best.score(rows, labels) - 0.01


def test_fit_then_partial_fit():
    clf = LinearClassifier(random_state=0).fit(X, Y)
    before = clf.coef_.copy()
    clf.partial_fit(X, Y)
    assert not np.array_equal(clf.coef_, before)
    assert clf.score(X, Y) > 0.55
    assert clf.n_iter_ > 1


def test_partial_fit_and_classes():
    clf = Perceptron()
    with pytest.raises(ValueError, match=r"only one class, \[1\].*pass classes="):
        clf.partial_fit([[1.0]], [1])
    clf.partial_fit([[1.0]], [1], classes=[0, 1])
    clf.partial_fit([[2.0]], [0])
    with pytest.raises(ValueError, match=r"labels \[2\], which are not among.*pass classes="):
        clf.partial_fit([[2.0]], [2])
    with pytest.raises(ValueError, match="differ from those of the first call"):
        clf.partial_fit([[2.0]], [0], classes=[0, 2])
    with pytest.raises(ValueError, match="features"):
        clf.partial_fit([[2.0, 1.0]], [0])
    assert clf.n_iter_ == 2


@pytest.mark.parametrize(
    ("clf", "message"),
    [
        (LinearClassifier(solver=LBFGS()), r"LBFGS\(\) needs all rows.*GradientDescent\(batch_s"),
        (LinearClassifier("squared", solver=LeastSquares()), "needs all rows at once"),
        (LinearClassifier(solver=GradientDescent()), "needs all rows at once"),
        (Perceptron(update="batch"), "use update='online'"),
        (Perceptron(class_weight="balanced"), "compute_class_weight"),
        (LinearClassifier(class_weight="balanced"), "class_weight={label: weight"),
    ],
)
def test_partial_fit_refuses_what_needs_all_rows(clf, message):
    with pytest.raises(ValueError, match=message):
        clf.partial_fit(X, Y)
    assert not hasattr(clf, "classes_")


@pytest.mark.parametrize("clf", [LinearClassifier(), Perceptron()], ids=repr)
def test_partial_fit_refuses_a_source_and_rows_without_labels(clf):
    with pytest.raises(TypeError, match=r"partial_fit takes arrays.*call fit\(source\)"):
        clf.partial_fit(separatrix.read(lambda: [(X, Y)]))
    with pytest.raises(ValueError, match="requires y to be passed"):
        clf.partial_fit(X)
    assert not hasattr(clf, "classes_")
