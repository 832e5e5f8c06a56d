"""Each cause is the first sentence somewhere, its line mends it, and a good fit is left alone."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import CORNERS, LOGIC, overlapping
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import separatrix
from separatrix import (
    Diagnosis,
    GradientDescent,
    KernelPerceptron,
    LinearClassifier,
    LinearClassifierCV,
    Perceptron,
    diagnose,
)
from separatrix.inspection.diagnose.fitted import fitted_model


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


def penalty_too_large():
    X, y = clouds(200, 3, far=1.5)
    return LinearClassifier(l2=10.0), X, y


def penalty_too_small():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 60))
    y = (X[:, 0] + 0.3 * rng.standard_normal(80) > 0).astype(int)
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
    X, y = clouds(300, 2)
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


@pytest.mark.parametrize(("cause", "case"), FIRST)
def test_it_comes_first_and_its_line_mends_it(cause, case):
    check(cause, *case())


@pytest.mark.parametrize("cause", dict(FIRST))
def test_every_cause_that_is_documented_is_tested(cause):
    told = " ".join(diagnose.__doc__.split())
    words = {"rows sorted by class", "cycling", "float32 exhausted", "step above 2/L"}
    short = {
        "different scales": "on different scales",
        "stopped early": "stopped early",
        "constant features": "constant and duplicate features",
        "duplicate features": "constant and duplicate features",
        "penalty too large": "penalty too large or too small",
        "penalty too small": "penalty too large or too small",
    }
    assert (cause if cause in words else short.get(cause, cause)) in told


# ---- a good fit is left alone ------------------------------------------------------------


def no_progress_with_penalty():
    X, y = clouds(200, 3)
    return Perceptron(30, l2=1e-3, random_state=0), X, y


HEALTHY = [
    (LinearClassifier(l2=1e-2), overlapping(300, 4)),
    (LinearClassifier("squared", l2=1e-2), overlapping(300, 4)),
    (LinearClassifier("squared_hinge", l2=1e-2), overlapping(300, 4)),
    (LinearClassifier("tanh_squared", l2=1e-2), overlapping(300, 4)),
    (LinearClassifier(l2=1e-3), clouds(200, 3, k=4)),
    (LinearClassifier(l2=0.0), overlapping(500, 2)),
    (LinearClassifierCV(l2s=5), overlapping(300, 4)),
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


# ---- forms of data and of estimators -----------------------------------------------------

ONCE = [(cause, case) for cause, case in FIRST if case.__name__ != "<lambda>"]


@pytest.mark.parametrize(
    ("cause", "case"),
    [pair for pair in ONCE if pair[1] not in (scales_of_a_perceptron, float32_exhausted)],
)
def test_sparse_rows(cause, case):
    clf, X, y = case()
    if case is duplicate_features:
        X[:, 3] -= 32.0
    check(cause, clf, sp.csr_array(X), y)


def test_sparse_float32():
    X, y = clouds(300, 2)
    check("float32 exhausted", LinearClassifier(), sp.csr_array((1e8 + 20 * X).astype("f4")), y)


SCALED_AWAY = ("different scales", "float32 exhausted", "step above 2/L", "tanh loss stuck")


@pytest.mark.parametrize(("cause", "case"), [pair for pair in ONCE if pair[0] not in SCALED_AWAY])
def test_the_end_of_a_pipeline(cause, case):
    clf, X, y = case()
    piped = make_pipeline(StandardScaler(), clf)
    diagnosis = diagnose(fitted(piped, X, y), X, y)
    (finding,) = (finding for finding in diagnosis.findings if finding.cause == cause)
    again = diagnose(*mended(finding.remedy, piped, X, y))
    assert cause not in [finding.cause for finding in again.findings]


def test_a_pipeline_of_one_step():
    X, y = overlapping()
    assert diagnose(make_pipeline(LinearClassifier(l2=1e-2)).fit(X, y), X, y)


def test_scales_that_a_pipeline_makes():
    X, y = clouds(400, 4, far=1.0)
    stretch = StandardScaler(with_mean=False).fit(X)
    stretch.scale_ = np.array([1e-2, 1e2, 1e2, 1e2])
    from sklearn.frozen import FrozenEstimator

    clf = make_pipeline(FrozenEstimator(stretch), LinearClassifier(l2=1e-2))
    check("different scales", clf, X, y)


def test_names_of_features():
    pandas = pytest.importorskip("pandas")
    clf, X, y = constant_features()
    frame = pandas.DataFrame(X, columns=["a", "b", "c", "always", "never"])
    finding = diagnose(clf.fit(frame, y), frame, y).findings[0]
    assert "'always', 'never'" in finding.sentence
    assert finding.evidence["features"] == ["'always'", "'never'"]
    clf, rest, y = mended(finding.remedy, clf, frame, y)
    assert rest.shape[1] == 3


def test_many_classes_and_words_as_labels():
    X, y = clouds(300, 3, k=3)
    y = np.array(["ape", "bear", "cat"])[y]
    keep = np.r_[np.flatnonzero(y == "ape"), np.flatnonzero(y != "ape")[:6]]
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((len(keep), 3)), y[keep]
    finding = diagnose(LinearClassifier(l2=1.0).fit(X, y), X, y).findings[0]
    assert finding.cause == "one dominant class"
    assert "'ape'" in finding.sentence


def test_large_data_is_sampled_and_says_so():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 3))
    y = X[:, 0] + 0.1 * rng.standard_normal(20_000) > 2.5  # 120 rows or so
    clf = LinearClassifier(l2=10.0).fit(X, y)
    diagnosis = diagnose(clf, X, y)
    assert diagnosis.facts["rows_in_sample"] < 2100
    (penalty,) = (f for f in diagnosis.findings if f.cause == "penalty too large")
    assert penalty.evidence["rows_in_sample"] == diagnosis.facts["rows_in_sample"]
    assert diagnose(clf, X, y).to_dict() == diagnosis.to_dict()  # the same rows each time
    assert diagnose(LinearClassifier(l2=1e-7).fit(X[:, :1], y), X[:, :1], y)


def test_a_rare_feature_that_the_sample_misses_still_separates():
    X, y = overlapping(4000, 2)
    unseen = np.setdiff1d(np.arange(4000), fitted_model(*sampled(X, y)).sample)
    rare = np.zeros(4000)
    rare[unseen[y[unseen] > 0][:5]] = 1.0
    X = np.column_stack([X, rare])
    clf = fitted(LinearClassifier(l2=0.0), X, y)
    first = diagnose(clf, X, y).findings[0]
    assert first.cause == "separable without penalty"
    assert first.evidence["verdict"] == "quasi-separable"
    perceptron = Perceptron(5, random_state=0).fit(X, y)
    first = diagnose(perceptron, X, y).findings[0]
    assert first.cause == "not separable"
    assert first.evidence["rows_looked_at"] < 4000
    assert "A sample of" in first.sentence


def sampled(X, y):
    return LinearClassifier(l2=1e-2).fit(X, y), X, y


def test_without_a_bias_separability_is_not_claimed():
    X, y = clouds(200, 2)
    X += 100.0  # far from 0, so that no plane through it separates
    clf = fitted(LinearClassifier(l2=0.0, fit_intercept=False), X, y)
    causes = [finding.cause for finding in diagnose(clf, X, y).findings]
    assert "separable without penalty" not in causes
    perceptron = Perceptron(fit_intercept=False, random_state=0).fit(X, y)
    early = [f for f in diagnose(perceptron, X, y).findings if f.cause == "stopped early"]
    assert all(finding.evidence["separable"] is None for finding in early)


def test_one_row_of_a_class_one_feature_and_odd_arrays():
    X, y = np.arange(30.0)[:, None], np.arange(30) == 29
    X.flags.writeable = False
    clf = LinearClassifier(l2=1e-2).fit(X, y)
    diagnose(clf, X, y)
    diagnose(clf, X.repeat(2, axis=1)[:, ::2], y.tolist())
    diagnose(Perceptron().fit(X[-2:], y[-2:]), X[-2:], y[-2:])
    huge = 1e160 * (X - 14.5)  # its squares overflow
    assert diagnose(Perceptron(random_state=0).fit(huge, huge[:, 0] > 0), huge, huge[:, 0] > 0)


def test_features_of_a_kernel_matrix_are_rows():
    X, y = clouds(60)
    K = X @ X.T
    K[:, 3] = K[3] = 0.0
    clf = KernelPerceptron("precomputed", random_state=0).fit(K, y)
    assert not {f.cause for f in diagnose(clf, K, y).findings} - {"stopped early"}


def test_a_stream_is_not_called_stopped():
    X, y = overlapping()
    clf = Perceptron(random_state=0).partial_fit(X, y, classes=[-1, 1])
    assert diagnose(clf, X, y).healthy


# ---- what cannot be diagnosed ------------------------------------------------------------


@pytest.mark.parametrize("clf", [Perceptron(), KernelPerceptron(), make_pipeline(Perceptron())])
def test_unfitted(clf):
    with pytest.raises(NotFittedError):
        diagnose(clf, CORNERS, [0, 0, 0, 1])


def test_errors_say_what_is_expected():
    X, y = overlapping()
    clf = LinearClassifier().fit(X, y)
    with pytest.raises(TypeError, match="diagnose knows Perceptron, LinearClassifier, "):
        diagnose(SGDClassifier(), X, y)
    with pytest.raises(TypeError, match="pass X and y as arrays or sparse matrices"):
        diagnose(clf, separatrix.ArraySource(X, y, np.array([-1, 1])), None)
    with pytest.raises(ValueError, match="X has 4 features, but the fit had 5"):
        diagnose(clf, X[:, :4], y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        diagnose(clf, X, y[:-1])
    with pytest.raises(ValueError, match=r"the labels \[3.0\], which the fit did not know"):
        diagnose(clf, X, np.where(y > 0, 3.0, y))
    with pytest.raises(ValueError, match="NaN"):
        diagnose(clf, np.where(X > 2, np.nan, X), y)


# ---- the report --------------------------------------------------------------------------


def test_the_report_is_frozen_and_shows_itself():
    clf, X, y = constant_features()
    X[:, 2] = X[:, 0]
    diagnosis = diagnose(clf.fit(X, y), X, y)
    assert isinstance(diagnosis, Diagnosis)
    assert [f.cause for f in diagnosis.findings] == ["constant features", "duplicate features"]
    for thing, name in ((diagnosis, "findings"), (diagnosis.findings[0], "remedy")):
        with pytest.raises(AttributeError):
            setattr(thing, name, None)
    lines = str(diagnosis).splitlines()
    assert lines[0].startswith("1. ")
    assert lines[2].startswith("2. ")
    html = diagnosis._repr_html_()
    assert html.count("<li>") == 2
    assert "<script>" not in html
    assert diagnose(*healthy())._repr_html_().startswith("<p>Nothing wrong found")


def healthy():
    X, y = overlapping(300, 4)
    return LinearClassifier(l2=1e-2).fit(X, y), X, y


def test_a_long_line_is_cut_where_it_is_shown():
    X, y = overlapping(60, 3)
    X = np.column_stack([X, np.zeros((60, 200))])
    clf = LinearClassifier(l2=1e-2).fit(X, y)
    diagnosis = diagnose(clf, X, y)
    assert len(diagnosis.findings[0].remedy) > 900
    assert " ... " in str(diagnosis)
    assert len(str(diagnosis)) < 600
    assert diagnose(*mended(diagnosis.findings[0].remedy, clf, X, y))


def test_an_objective_that_overflowed():
    X, y = overlapping(200, 3)
    solver = GradientDescent(learning_rate=10.0)
    clf = LinearClassifier("squared", solver=solver, max_iter=140, tol=None)
    assert not np.isfinite(fitted(clf, X, y).objective_)
    first = diagnose(clf, X, y).findings[0]
    assert first.cause == "step above 2/L"
    assert first.evidence["rises"] > 50


def test_html_is_escaped():
    finding = separatrix.Finding("<b>", "a < b", {"<i>": "<u>"}, "X[X < 0]")
    html = Diagnosis((finding,), {})._repr_html_()
    assert "a &lt; b" in html
    assert "<b>" not in html
    assert "<u>" not in html
