"""``KernelPerceptron(stop=...)``: when a run ends, and which weights it returns."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import separatrix
from separatrix import Checkpoint, KernelPerceptron, Perceptron, Stop

rng = np.random.default_rng(0)
X = rng.normal(size=(150, 6))
SCORE = X[:, 0] + X[:, 1] * X[:, 2]
Y = np.where(SCORE + 0.8 * rng.normal(size=150) > 0, "b", "a")
THREE = np.digitize(SCORE + 0.8 * rng.normal(size=150), [-0.7, 0.7])
ROWS, OTHERS = slice(90), slice(90, 150)
SETTINGS = {"max_iter": 60, "patience": None, "random_state": 0}


def oracle(clf, y=Y):
    """The mean perceptron loss of the held-out rows, by scores of Python."""
    scores = clf.decision_function(X[OTHERS])
    labels = y[OTHERS]
    if scores.ndim == 1:
        return np.maximum(0.0, -np.where(labels == clf.classes_[1], scores, -scores)).mean()
    own = scores[np.arange(len(labels)), labels]
    return np.maximum(0.0, scores.max(axis=1) - own).mean()


def fitted(passes, y=Y, **options):
    """The same run cut off after some passes: its weights, without early stopping."""
    settings = SETTINGS | options | {"max_iter": passes}
    with warnings.catch_warnings(action="ignore"):
        return KernelPerceptron(**settings).fit(X[ROWS], y[ROWS])


@pytest.mark.sampled
@pytest.mark.parametrize("options", [
    {}, {"keep": "average"}, {"keep": "last"}, {"budget": 12}, {"kernel": "laplacian"},
    {"kernel": "poly", "degree": 2, "keep": "last"}, {"learning_rate": 0.3, "keep": "last"},
])  # fmt: skip
@pytest.mark.parametrize("y", [Y, THREE], ids=["two", "three"])
def test_a_run_ends_when_the_loss_of_other_rows_rises(options, y):
    stop = Stop(validation=(X[OTHERS], y[OTHERS]), patience=3)
    clf = KernelPerceptron(**SETTINGS | options, stop=stop).fit(X[ROWS], y[ROWS])
    losses = clf.history_["validation_loss"]
    best = int(np.argmin(losses))
    assert clf.stop_ == "validation"
    assert not clf.converged_
    assert clf.n_iter_ == len(losses) == best + 1 + 3
    assert oracle(clf, y) == pytest.approx(losses[best], rel=1e-9)
    shown = "last" if "budget" in options else options.get("keep", "average")
    for passes in (1, best + 1, best + 2):
        cut = fitted(passes, y, **options | {"keep": shown})
        if cut.stop_ == "max_iter":
            assert oracle(cut, y) == pytest.approx(losses[passes - 1], rel=1e-9)
        if passes == best + 1:
            np.testing.assert_array_equal(cut.dual_coef_, clf.dual_coef_)
            np.testing.assert_array_equal(cut.support_, clf.support_)
    whole = fitted(clf.n_iter_, y, **options)
    assert clf.n_updates_ == whole.n_updates_
    np.testing.assert_array_equal(clf.embedding_strengths_, whole.embedding_strengths_)


def test_the_linear_kernel_ends_as_the_perceptron_does():
    stop = Stop(validation=(X[OTHERS], Y[OTHERS]), patience=3)
    given = {"max_iter": 60, "patience": None, "random_state": 0, "stop": stop}
    for keep in ("last", "average"):
        primal = Perceptron(keep=keep, **given).fit(X[ROWS], Y[ROWS])
        dual = KernelPerceptron("linear", keep=keep, **given).fit(X[ROWS], Y[ROWS])
        assert primal.stop_ == dual.stop_ == "validation"
        np.testing.assert_allclose(
            dual.history_["validation_loss"], primal.history_["validation_loss"], rtol=1e-9
        )
        np.testing.assert_allclose(dual.coef_, primal.coef_, rtol=1e-9)


def test_votes_end_with_the_best_pass():
    stop = Stop(validation=(X[OTHERS], Y[OTHERS]), patience=3)
    clf = KernelPerceptron(**SETTINGS, keep="voted", stop=stop).fit(X[ROWS], Y[ROWS])
    best = int(np.argmin(clf.history_["validation_loss"]))
    cut = fitted(best + 1, keep="voted")
    np.testing.assert_array_equal(cut.decision_function(X), clf.decision_function(X))


def test_other_kinds_of_rows():
    kernel = (X @ X.T + 1.0) ** 2
    same = KernelPerceptron("poly", degree=2, gamma=1.0, **SETTINGS)
    known = KernelPerceptron("precomputed", **SETTINGS)
    sparse = clone(same)
    for clf, K in ((same, X), (known, kernel[:, ROWS]), (sparse, sp.csr_array(X))):
        clf.set_params(stop=Stop(validation=(K[OTHERS], Y[OTHERS]), patience=3))
        clf.fit(K[ROWS], Y[ROWS])
        assert clf.stop_ == "validation"
        np.testing.assert_allclose(
            clf.history_["validation_loss"], same.history_["validation_loss"], rtol=1e-9
        )
    held_out = separatrix.ArraySource(
        np.ascontiguousarray(X[OTHERS]), np.where(Y[OTHERS] == "b", 1.0, -1.0),
        np.array(["a", "b"]),
    )  # fmt: skip
    stop = Stop(validation=held_out, patience=3)
    again = clone(same).set_params(stop=stop).fit(X[ROWS], Y[ROWS])
    np.testing.assert_array_equal(again.dual_coef_, same.dual_coef_)


def test_a_run_that_converges_keeps_its_weights():
    stop = Stop(validation=(X[OTHERS], Y[OTHERS]), patience=1000)
    early = KernelPerceptron("rbf", gamma=5.0, stop=stop, **SETTINGS).fit(X[ROWS], Y[ROWS])
    late = KernelPerceptron("rbf", gamma=5.0, **SETTINGS).fit(X[ROWS], Y[ROWS])
    assert early.stop_ == late.stop_ == "no mistakes"
    np.testing.assert_array_equal(early.dual_coef_, late.dual_coef_)
    assert len(early.history_["validation_loss"]) == early.n_iter_


def test_a_run_ends_after_its_time(tmp_path):
    clf = KernelPerceptron(stop=Stop(seconds=1e-9), **SETTINGS).fit(X[ROWS], Y[ROWS])
    assert (clf.stop_, clf.trace_.stop, clf.n_iter_) == ("seconds", "seconds", 1)
    separatrix.save(clf, tmp_path / "m.sep")
    loaded = separatrix.load(tmp_path / "m.sep")
    assert loaded.stop == Stop(seconds=1e-9)
    np.testing.assert_array_equal(loaded.decision_function(X), clf.decision_function(X))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("options", [{}, {"budget": 12}, {"keep": "voted"}])
def test_a_resumed_run_has_the_same_bits(tmp_path, options):
    stop = Stop(validation=(X[OTHERS], Y[OTHERS]), patience=3)
    given = SETTINGS | options | {"stop": stop}
    whole = KernelPerceptron(**given).fit(X[ROWS], Y[ROWS])
    assert whole.n_iter_ >= 4
    for cut in range(1, whole.n_iter_):
        run = Checkpoint(tmp_path / f"{cut}.ckpt", every=1)
        KernelPerceptron(**given | {"max_iter": cut}, callbacks=[run]).fit(X[ROWS], Y[ROWS])
        resumed = KernelPerceptron(**given, callbacks=[run]).fit(X[ROWS], Y[ROWS])
        assert (resumed.stop_, resumed.n_iter_) == ("validation", whole.n_iter_)
        np.testing.assert_array_equal(resumed.decision_function(X), whole.decision_function(X))
    other = Stop(validation=(X[91:], Y[91:]), patience=3)
    with pytest.raises(ValueError, match="early stopping"):
        KernelPerceptron(**given | {"stop": other}, callbacks=[run]).fit(X[ROWS], Y[ROWS])


@pytest.mark.parametrize(
    ("stop", "message"),
    [
        (Stop(validation=True, patience=3), "these rows hold out no others"),
        (Stop(validation=(X, np.where(Y == "a", "c", Y)), patience=3), "labels ['c']"),
        (Stop(validation=(X[:, 1:], Y), patience=3), "X has 5 columns; expected 6"),
        (Stop(validation=(X[1:], Y), patience=3), "149 rows and y has 150"),
        (Stop(validation=(np.full((1, 6), np.nan), ["a"]), patience=3), "NaN"),
        (Stop(tol=1e-3), "tol is a parameter of the estimator"),
        (Stop(patience=3), "give validation, too"),
    ],
)
def test_refused_before_the_first_step(stop, message):
    clf = KernelPerceptron(stop=stop)
    with pytest.raises(ValueError, match=re.escape(message)):
        clf.fit(X[ROWS], Y[ROWS])
    assert not hasattr(clf, "dual_coef_")
    with pytest.raises(TypeError, match="stop must be None or rules"):
        clf.set_params(stop=60).fit(X, Y)
