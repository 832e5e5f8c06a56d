"""Fits that went wrong, each by one cause, and what tries the remedy."""

from __future__ import annotations

import json
import warnings

import numpy as np
from conftest import CORNERS, LOGIC, overlapping
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import separatrix
from separatrix import (
    GradientDescent,
    KernelPerceptron,
    LinearClassifier,
    Perceptron,
    diagnose,
)


def clouds(n=200, d=3, seed=0, far=4.0, k=2):
    """Clouds around points far apart: separable with room to spare."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    centres = rng.standard_normal((k, d))
    centres *= far / np.linalg.norm(centres, axis=1, keepdims=True)
    if k == 2:
        centres[1] = -centres[0]
    return 0.5 * rng.standard_normal((n, d)) + centres[y], y


def separable_without_penalty(k=2):
    X, y = clouds(k=k)
    return LinearClassifier(l2=0.0, max_iter=50), X, y


def quasi_separable():
    x = np.array([0.0, 1.0, 2.0, 3.0, 3.0, 4.0, 5.0, 6.0])
    return LinearClassifier(l2=0.0, max_iter=50), x[:, None], np.repeat([0, 1], 4)


def step_above_the_limit(batch=None, step=10.0):
    X, y = overlapping(200, 3)
    solver = GradientDescent(batch, learning_rate=step)
    return LinearClassifier("squared", solver=solver, max_iter=20), 0.3 * X, y


def logistic_step_above_the_limit():
    X, y = overlapping(200, 3)
    solver = GradientDescent(learning_rate=50.0)
    return LinearClassifier(solver=solver, max_iter=50, l2=1e-2), X, y


def scales():
    X, y = clouds(400, 4, far=1.0)
    return LinearClassifier(l2=1e-2), X * [1e2, 1e-2, 1e-2, 1e-2], y


def scales_of_a_perceptron():
    X, y = clouds(300, 3, far=2.5)
    return Perceptron(5, random_state=0, patience=None), X * [1e-4, 1.0, 1e3] + [0, 1, 5e3], y


def constant_features():
    X, y = overlapping(200, 3)
    X = np.column_stack([X, np.full(200, 7.0), np.zeros(200)])
    return LinearClassifier(l2=1e-2), X, y


def duplicate_features():
    X, y = overlapping(200, 3)
    X = np.column_stack([X, 32.0 + 1.8 * X[:, 0], -X[:, 0], X[:, 2]])
    return LinearClassifier(l2=1e-2), X, y


def sorted_rows():
    X, y = clouds(400, 10, far=0.6)
    order = np.argsort(y, kind="stable")
    solver = GradientDescent(1, shuffle=False, learning_rate=0.5)
    return LinearClassifier("hinge", solver=solver, max_iter=20), X[order], y[order]


def sorted_rows_of_a_perceptron():
    X, y = clouds(400, 5, far=1.5)
    order = np.argsort(y, kind="stable")
    return Perceptron(3, shuffle=False), X[order], y[order]


def dominant_class():
    rng = np.random.default_rng(0)
    y = (rng.random(600) < 0.04).astype(int)
    return LinearClassifier(l2=1e-2), rng.standard_normal((600, 3)) + 0.8 * y[:, None], y


def weighed_classes():
    X, y = overlapping(400, 3)
    return LinearClassifier(l2=1e-3, class_weight={int(y.min()): 1.0, int(y.max()): 5.0}), X, y


def penalty_too_large():
    X, y = clouds(200, 3, far=1.5)
    return LinearClassifier(l2=10.0), X, y


def penalty_too_small():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 30))
    y = (X[:, 0] + 0.3 * rng.standard_normal(40) > 0).astype(int)
    return LinearClassifier(l2=1e-9), X, y


def cycling():
    return Perceptron(shuffle=False), CORNERS, np.array(LOGIC["xor"])


def cycling_in_a_kernel():
    clf = KernelPerceptron("linear", shuffle=False)
    return clf, CORNERS, np.array(LOGIC["xor"])


def tanh_stuck():
    X, y = clouds(200, 2)
    w = LinearClassifier().fit(X, y).coef_[0]
    return LinearClassifier("tanh_squared", start=np.append(-20.0 * w, 0.0)), X, y


def float32_exhausted():
    X, y = clouds(100, 2)
    return LinearClassifier(), (1e8 + 20.0 * X).astype(np.float32), y


def not_separable(k=2):
    X, y = overlapping(200, 2) if k == 2 else clouds(200, 2, far=0.5, k=k)
    return Perceptron(random_state=0), X, y


def stopped_at_max_iter():
    X, y = overlapping(200, 4)
    return LinearClassifier(l2=1e-2, solver=separatrix.LBFGS(), max_iter=2), X, y


def stopped_in_plain_descent():
    X, y = overlapping(200, 4)
    solver = GradientDescent(learning_rate=1e-3)
    return LinearClassifier(l2=1e-2, solver=solver, max_iter=20), X, y


def perceptron_stopped_at_max_iter():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    a = X @ [1.0, 2.0, -1.0] + 0.3
    return Perceptron(2, random_state=0), X[np.abs(a) > 0.05], a[np.abs(a) > 0.05] > 0


def stopped_by_a_callback():
    X, y = overlapping(200, 4)
    return LinearClassifier(l2=1e-2, callbacks=(lambda step, info: True,)), X, y


FIRST = [
    ("separable without penalty", separable_without_penalty),
    ("separable without penalty", lambda: separable_without_penalty(3)),
    ("separable without penalty", quasi_separable),
    ("step above 2/L", step_above_the_limit),
    ("step above 2/L", lambda: step_above_the_limit(5, 1.1)),
    ("step above 2/L", logistic_step_above_the_limit),
    ("different scales", scales),
    ("different scales", scales_of_a_perceptron),
    ("constant features", constant_features),
    ("duplicate features", duplicate_features),
    ("rows sorted by class", sorted_rows),
    ("rows sorted by class", sorted_rows_of_a_perceptron),
    ("one dominant class", dominant_class),
    ("class weights change probabilities", weighed_classes),
    ("penalty too large", penalty_too_large),
    ("penalty too small", penalty_too_small),
    ("cycling", cycling),
    ("cycling", cycling_in_a_kernel),
    ("tanh loss stuck", tanh_stuck),
    ("float32 exhausted", float32_exhausted),
    ("not separable", not_separable),
    ("not separable", lambda: not_separable(3)),
    ("stopped early", stopped_at_max_iter),
    ("stopped early", stopped_in_plain_descent),
    ("stopped early", perceptron_stopped_at_max_iter),
    ("stopped early", stopped_by_a_callback),
]


def fitted(clf, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clf.fit(X, y)


def mended(remedy, clf, X, y):
    """What the line of code makes of clf, X and y."""
    names = {
        "clf": clf, "X": X, "y": y, "separatrix": separatrix, "np": np,
        "make_pipeline": make_pipeline, "StandardScaler": StandardScaler,
    }  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(remedy, names)
    return names["clf"], names["X"], names["y"]


def check(cause, clf, X, y):
    """The cause comes first; the line mends it; the report can be shown and stored."""
    diagnosis = diagnose(fitted(clf, X, y), X, y)
    causes = [finding.cause for finding in diagnosis.findings]
    assert causes[:1] == [cause], str(diagnosis)
    first = diagnosis.findings[0]
    again = diagnose(*mended(first.remedy, clf, X, y))
    assert [finding.cause for finding in again.findings][:1] != [cause], str(again)
    assert not diagnosis
    assert str(diagnosis).startswith(f"1. {first.sentence}\n   {first.remedy}")
    assert first.evidence
    assert json.loads(json.dumps(diagnosis.to_dict()))["findings"][0]["cause"] == cause
    return diagnosis


ONCE = [(cause, case) for cause, case in FIRST if case.__name__ != "<lambda>"]


def sampled(X, y):
    return LinearClassifier(l2=1e-2).fit(X, y), X, y


def healthy():
    X, y = overlapping(300, 4)
    return LinearClassifier(l2=1e-2).fit(X, y), X, y
