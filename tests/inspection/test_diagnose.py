"""Each cause is the first sentence somewhere, its line mends it, and a good fit is left alone."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import CORNERS, LOGIC, overlapping
from inspection.cases import (
    FIRST,
    check,
    clouds,
    fitted,
    step_above_the_limit,
)

from separatrix import (
    GradientDescent,
    KernelPerceptron,
    LinearClassifier,
    LinearClassifierCV,
    Perceptron,
    diagnose,
)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("cause", "case"), FIRST)
def test_it_comes_first_and_its_line_mends_it(cause, case):
    check(cause, *case())


@pytest.mark.parametrize("cause", dict(FIRST))
def test_every_cause_that_is_documented_is_tested(cause):
    reported = " ".join(diagnose.__doc__.split())
    words = {"rows sorted by class", "cycling", "float32 exhausted", "step above 2/L"}
    short = {
        "different scales": "on different scales",
        "stopped early": "stopped early",
        "constant features": "constant and duplicate features",
        "duplicate features": "constant and duplicate features",
        "penalty too large": "penalty too large or too small",
        "penalty too small": "penalty too large or too small",
    }
    assert (cause if cause in words else short.get(cause, cause)) in reported


HEALTHY = [
    (LinearClassifier(l2=1e-2), overlapping(300, 4)),
    (LinearClassifier("squared", l2=1e-2), overlapping(300, 4)),
    (LinearClassifier("squared_hinge", l2=1e-2), overlapping(300, 4)),
    (LinearClassifier("tanh_squared", l2=1e-2), overlapping(300, 4)),
    (LinearClassifier(l2=1e-3), clouds(200, 3, k=4)),
    (LinearClassifier(l2=0.0), overlapping(500, 2)),
    (LinearClassifierCV(l2s=5, scoring=None), overlapping(300, 4)),
    (Perceptron(random_state=0), clouds()),
    (Perceptron(random_state=0), clouds(k=3)),
    (Perceptron(update="batch", start="sum"), clouds()),
    (Perceptron(shuffle=False), (CORNERS, np.array(LOGIC["and"]))),
    (KernelPerceptron(random_state=0), clouds()),
    (KernelPerceptron(random_state=0), clouds(k=3)),
]


@pytest.mark.parametrize(("clf", "data"), HEALTHY)
def test_nothing_wrong_found(clf, data):
    X, y = data
    diagnosis = diagnose(clf.fit(X, y), X, y)
    assert diagnosis.healthy, str(diagnosis)
    assert diagnosis
    assert diagnosis.findings == ()
    text = str(diagnosis)
    assert text.startswith("Nothing wrong found: the fit stopped with")
    assert repr(clf.stop_) in text
    assert f"{clf.score(X, y):.1%}" in text
    assert "\n" not in text
    assert diagnosis.to_dict()["healthy"]


def test_wild_scales_that_do_no_harm_are_not_mentioned():
    X, y = overlapping(300, 3)
    clf = LinearClassifier(l2=0.0).fit(X * [1e6, 1.0, 1e-6], y)  # Newton is blind to scales
    assert diagnose(clf, X * [1e6, 1.0, 1e-6], y).healthy


def test_a_long_step_that_converges_all_the_same_is_not_mentioned():
    X, y = overlapping(200, 3)
    solver = GradientDescent(learning_rate=3.0)  # 2/L is 2.7, but at the minimum it is flatter
    clf = LinearClassifier(l2=1e-2, solver=solver, tol=1e-8).fit(X, y)
    assert "step above 2/L" not in [f.cause for f in diagnose(clf, X, y).findings]


def test_the_limit_of_the_step_is_that_of_the_plainest_numpy():
    clf, X, y = step_above_the_limit()
    finding = diagnose(fitted(clf, X, y), X, y).findings[0]
    Z = np.column_stack([X, np.ones(len(X))])
    curvature = 2.0 * np.linalg.eigvalsh(Z.T @ Z / len(X))[-1] + 2.0 * clf.l2
    np.testing.assert_allclose(finding.evidence["limit"], 2.0 / curvature, rtol=1e-12)
    assert finding.evidence["rises"] == np.sum(np.diff(clf.history_["objective"]) > 0)


def test_what_remains_is_never_more_than_what_is_left():
    X, y = overlapping(200, 4)
    best = LinearClassifier(l2=1e-2, tol=1e-12).fit(X, y).objective_
    for passes in (1, 2, 5, 20):
        solver = GradientDescent(learning_rate=0.1)
        clf = LinearClassifier(l2=1e-2, solver=solver, max_iter=passes)
        (finding,) = diagnose(fitted(clf, X, y), X, y).findings
        left = finding.evidence["share_left"]
        if finding.evidence["gap"] is None:
            assert 0.0 < left <= (clf.objective_ - best) / clf.objective_
        else:
            assert left >= (clf.objective_ - best) / clf.objective_


def test_an_objective_that_overflowed():
    X, y = overlapping(200, 3)
    solver = GradientDescent(learning_rate=10.0)
    clf = LinearClassifier("squared", solver=solver, max_iter=140, tol=None)
    assert not np.isfinite(fitted(clf, X, y).objective_)
    first = diagnose(clf, X, y).findings[0]
    assert first.cause == "step above 2/L"
    assert first.evidence["rises"] > 50
