"""``Stop(validation=..., patience=...)`` and ``Stop(seconds=...)``: when runs end."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import separatrix
from separatrix import (
    L2,
    ArraySource,
    Checkpoint,
    GradientDescent,
    LinearClassifier,
    LinearClassifierCV,
    Objective,
    Perceptron,
    Stop,
    get_loss,
    minimize,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(90, 40)) * rng.uniform(0.1, 5.0, 40) + 1.0
y = np.where(X[:, 0] / 3.0 + rng.normal(size=90) > 0.3, "b", "a")
HELD_OUT = slice(60, 90)
ROWS, LABELS = X[:60], y[:60]
STOP = Stop(validation=(X[HELD_OUT], y[HELD_OUT]), patience=4)
DESCENT = GradientDescent(batch_size=1, learning_rate=0.01)


def oracle_loss(coef, intercept, rows=X[HELD_OUT], labels=y[HELD_OUT]):
    """Mean logistic loss."""
    margins = np.where(labels == "b", 1.0, -1.0) * (rows @ coef.ravel() + intercept)
    return np.logaddexp(0.0, -margins).mean()


class Losses:
    """The loss of the held-out rows after every pass, from the weights of the callback."""

    def __init__(self):
        self.found, self.weights = [], []

    def __call__(self, step, info):
        self.weights.append(step.weights.copy())
        self.found.append(oracle_loss(step.weights[:, :-1], step.weights[:, -1]))


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_fit_ends_when_the_loss_of_other_rows_rises(standardize, sparse):
    rows = sp.csr_array(ROWS) if sparse else ROWS
    seen = Losses()
    clf = LinearClassifier(
        solver=DESCENT, l2=1e-6, standardize=standardize, stop=STOP, random_state=0,
        callbacks=[seen],
    ).fit(rows, LABELS)  # fmt: skip
    best = int(np.argmin(seen.found))
    assert clf.stop_ == clf.trace_.stop == "validation"
    assert not clf.converged_
    assert clf.n_iter_ == best + 1 + 4 == len(seen.found)
    np.testing.assert_allclose(clf.history_["validation_loss"], seen.found, rtol=1e-9)
    np.testing.assert_allclose(clf.coef_, seen.weights[best][:, :-1], rtol=1e-12)
    np.testing.assert_allclose(oracle_loss(clf.coef_, clf.intercept_), min(seen.found), rtol=1e-9)


def test_without_the_rule_the_run_goes_on():
    plain = Losses()
    with pytest.warns(Warning, match="max_iter=40"):
        LinearClassifier(
            solver=DESCENT, l2=1e-6, max_iter=40, random_state=0, callbacks=[plain]
        ).fit(ROWS, LABELS)
    assert len(plain.found) == 40
    assert plain.found[-1] > min(plain.found)


def test_a_run_that_converges_keeps_its_minimum():
    stop = Stop(validation=STOP.validation, patience=1000)
    early = LinearClassifier(l2=0.1, stop=stop).fit(ROWS, LABELS)
    late = LinearClassifier(l2=0.1).fit(ROWS, LABELS)
    assert early.stop_ == late.stop_ == "optimal"
    np.testing.assert_array_equal(early.coef_, late.coef_)
    assert len(early.history_["validation_loss"]) == early.n_iter_


def test_a_run_out_of_passes_returns_the_best_of_them():
    seen = Losses()
    stop = Stop(validation=STOP.validation, patience=1000)
    with pytest.warns(Warning, match="max_iter=30"):
        clf = LinearClassifier(
            solver=DESCENT, l2=1e-6, max_iter=30, stop=stop, random_state=0, callbacks=[seen]
        ).fit(ROWS, LABELS)
    assert (clf.stop_, clf.n_iter_) == ("max_iter", 30)
    np.testing.assert_allclose(oracle_loss(clf.coef_, clf.intercept_), min(seen.found), rtol=1e-9)
    assert min(seen.found) < seen.found[-1]


def test_perceptrons_averages_and_several_classes():
    labels = np.digitize(X[:, 0] + rng.normal(size=90), [-1.0, 1.0])
    stop = Stop(validation=(X[HELD_OUT], labels[HELD_OUT]), patience=3)
    for clf in (
        Perceptron(stop=stop, patience=None, random_state=0),
        LinearClassifier(solver=GradientDescent(batch_size=1, average=True), stop=stop, l2=1e-6,
                         random_state=0),
        LinearClassifier("hinge", solver=DESCENT, stop=stop, l2=1e-6, class_weight="balanced",
                         random_state=0),
    ):  # fmt: skip
        clf.fit(ROWS, labels[:60])
        losses = clf.history_["validation_loss"]
        assert clf.stop_ == "validation"
        assert clf.n_iter_ == len(losses) == int(np.argmin(losses)) + 4
        assert clf.coef_.shape == (3, 40)


def sources():
    classes = np.array(["a", "b"])
    return [
        ArraySource(np.ascontiguousarray(X[at]), np.where(y[at] == "b", 1.0, -1.0), classes)
        for at in (slice(60), HELD_OUT)
    ]


def test_minimize_takes_a_source():
    training, held_out = sources()
    seen = Losses()
    result = minimize(
        Objective(get_loss("logistic"), L2(1e-6), training), DESCENT,
        stop=Stop(validation=held_out, patience=4), callbacks=[seen], seed=0,
    )  # fmt: skip
    assert result.stop == "validation"
    np.testing.assert_allclose(result.history["validation_loss"], seen.found, rtol=1e-9)
    np.testing.assert_array_equal(result.weights, seen.weights[int(np.argmin(seen.found))])


def test_rows_that_a_source_holds_out(tmp_path):
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(40)]).assign(kind=y)
    table.to_csv(tmp_path / "rows.csv", index=False)
    source = separatrix.read(tmp_path / "rows.csv", target="kind", validation=0.3)
    stop = Stop(validation=True, patience=4)
    clf = LinearClassifier(
        solver=DESCENT, l2=1e-6, standardize=True, stop=stop, random_state=0
    ).fit(source)
    losses = clf.history_["validation_loss"]
    assert (clf.stop_, clf.n_iter_) == ("validation", int(np.argmin(losses)) + 5)
    separatrix.save(clf, tmp_path / "m.sep")
    loaded = separatrix.load(tmp_path / "m.sep")
    assert (loaded.stop_, loaded.stop) == ("validation", stop)
    assert loaded.stop.validation is True


def test_a_resumed_run_has_the_same_bits(tmp_path):
    given = {"solver": DESCENT, "l2": 1e-6, "stop": STOP, "random_state": 0}
    whole = LinearClassifier(**given).fit(ROWS, LABELS)
    assert whole.n_iter_ > 4
    for cut in range(1, whole.n_iter_):
        run = Checkpoint(tmp_path / f"{cut}.ckpt", every=1)
        with pytest.warns(Warning, match="max_iter"):
            LinearClassifier(**given, max_iter=cut, callbacks=[run]).fit(ROWS, LABELS)
        resumed = LinearClassifier(**given, callbacks=[run]).fit(ROWS, LABELS)
        assert (resumed.stop_, resumed.n_iter_) == ("validation", whole.n_iter_)
        np.testing.assert_array_equal(resumed.coef_, whole.coef_)
        np.testing.assert_array_equal(
            resumed.history_["validation_loss"], whole.history_["validation_loss"]
        )
    other = Stop(validation=(X[61:], y[61:]), patience=4)
    with pytest.raises(ValueError, match=r"rows for early stopping .* are not the same"):
        LinearClassifier(**given | {"stop": other}, callbacks=[run]).fit(ROWS, LABELS)


def test_a_run_ends_after_its_time(tmp_path):
    run = Checkpoint(tmp_path / "run.ckpt", every=1)
    given = {"solver": DESCENT, "l2": 1e-6, "max_iter": 50, "callbacks": [run], "random_state": 0}
    clf = LinearClassifier(**given, stop=Stop(seconds=1e-9)).fit(ROWS, LABELS)
    assert (clf.stop_, clf.trace_.stop, clf.n_iter_) == ("seconds", "seconds", 1)
    again = LinearClassifier(**given, stop=Stop(seconds=1e-9)).fit(ROWS, LABELS)
    assert (again.stop_, again.n_iter_) == ("seconds", 1)
    with pytest.warns(Warning, match="max_iter=50"):
        more = LinearClassifier(**given, stop=Stop(seconds=1e9)).fit(ROWS, LABELS)
    assert (more.stop_, more.n_iter_) == ("max_iter", 50)
    separatrix.save(clf.set_params(callbacks=()), tmp_path / "m.sep")
    assert separatrix.load(tmp_path / "m.sep").stop == Stop(seconds=1e-9)
    training, _ = sources()
    objective = Objective(get_loss("logistic"), L2(1e-6), training)
    assert minimize(objective, DESCENT, stop=Stop(seconds=1e-9)).stop == "seconds"


@pytest.mark.parametrize(
    ("stop", "message"),
    [
        (lambda: Stop(validation=0.1, patience=5), "must be a pair"),
        (lambda: Stop(validation=(X, y)), "validation needs patience"),
        (lambda: Stop(seconds=0.0), "seconds must be"),
        (lambda: Stop(validation=(X, y), patience=0), "patience must be"),
        (lambda: Stop(patience=3), "give validation, too"),
        (lambda: Stop(tol=1e-3), "tol is a parameter of the estimator"),
        (lambda: Stop(validation=True, patience=3), "holds out no rows"),
        (lambda: Stop(validation=(X, np.where(y == "a", "c", y)), patience=3), "labels ['c']"),
        (lambda: Stop(validation=(X[:, 1:], y), patience=3), "39 features"),
        (lambda: Stop(validation=(np.full((1, 40), np.nan), ["a"]), patience=3), "NaN"),
    ],
)
def test_refused_before_the_first_step(stop, message):
    clf = LinearClassifier()
    with pytest.raises(ValueError, match=re.escape(message)):
        clf.set_params(stop=stop()).fit(ROWS, LABELS)
    assert not hasattr(clf, "coef_")


def test_other_refusals(tmp_path):
    with pytest.raises(TypeError, match="stop must be None or rules"):
        Perceptron(stop=60).fit(ROWS, LABELS)
    clf = LinearClassifier(stop=STOP).fit(ROWS, LABELS)
    with pytest.raises(TypeError, match=r"set_params\(stop=None\)"):
        separatrix.save(clf, tmp_path / "m.sep")
    separatrix.save(clf.set_params(stop=None), tmp_path / "m.sep")
    training, held_out = sources()
    objective = Objective(get_loss("logistic"), L2(1e-6), training)
    with pytest.raises(TypeError, match="minimize takes"):
        minimize(objective, DESCENT, stop=STOP)
    other = ArraySource(held_out.block().X, held_out.y, np.array(["a", "c"]))
    with pytest.raises(ValueError, match=r"have the classes \['a', 'c'\]"):
        minimize(objective, DESCENT, stop=Stop(validation=other, patience=3))


def test_estimators_with_the_rule_are_cloned():
    clf = clone(LinearClassifier(stop=STOP))
    assert clf.stop.patience == 4
    np.testing.assert_array_equal(clf.stop.validation[0], X[HELD_OUT])
    assert clone(LinearClassifierCV(stop=STOP)).stop.patience == 4
