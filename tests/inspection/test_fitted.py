"""Every form of data and of estimator is diagnosed, or refused with what is expected."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from conftest import CORNERS, overlapping
from inspection.cases import (
    ONCE,
    check,
    clouds,
    constant_features,
    duplicate_features,
    fitted,
    float32_exhausted,
    mended,
    sampled,
    scales_of_a_perceptron,
)
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import separatrix
from separatrix import (
    KernelPerceptron,
    LinearClassifier,
    Perceptron,
    StepDecay,
    diagnose,
)
from separatrix.inspection.diagnose.unwrapping import fitted_model


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("cause", "case"),
    [pair for pair in ONCE if pair[1] not in (scales_of_a_perceptron, float32_exhausted)],
)
def test_sparse_rows(cause, case):
    clf, X, y = case()
    if case is duplicate_features:
        X[:, 3] -= 32.0
    check(cause, clf, sp.csr_array(X), y)


@pytest.mark.slow
def test_sparse_float32():
    X, y = clouds(300, 2)
    check("float32 exhausted", LinearClassifier(), sp.csr_array((1e8 + 20 * X).astype("f4")), y)


SCALED_AWAY = ("different scales", "float32 exhausted", "step above 2/L", "tanh loss stuck")


@pytest.mark.sampled(2)
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


NOT_COVERED = [
    {"update": "batch"},
    {"learning_rate": StepDecay(1.0, factor=0.5, every=10)},
    {"start": np.array([30.0, 30.0, 100.0])},
    {"class_weight": {False: 2.0, True: 1.0}},
]


@pytest.mark.parametrize("settings", [{}, {"learning_rate": 0.1}, *NOT_COVERED], ids=str)
def test_mistakes_are_bounded_only_where_the_theorem_holds(settings):
    X = np.random.default_rng(0).standard_normal((60, 2))
    y = X[:, 0] - 0.5 * X[:, 1] > 0.1
    clf = Perceptron(1, shuffle=False, **settings).fit(X, y)
    (early,) = (f for f in diagnose(clf, X, y).findings if f.cause == "stopped early")
    covered = settings not in NOT_COVERED
    assert (early.evidence["mistake_bound"] is not None) == covered
    assert ("mistakes in total" in early.sentence) == covered


def test_sample_weights_leave_no_bound_on_mistakes():
    X = np.random.default_rng(0).standard_normal((60, 2))
    y = X[:, 0] - 0.5 * X[:, 1] > 0.1
    clf = Perceptron(1, shuffle=False).fit(X, y, sample_weight=1.0 + y)
    (early,) = (f for f in diagnose(clf, X, y).findings if f.cause == "stopped early")
    assert early.evidence["mistake_bound"] is None


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


@pytest.mark.parametrize("clf", [Perceptron(), KernelPerceptron(), make_pipeline(Perceptron())])
def test_unfitted(clf):
    with pytest.raises(NotFittedError):
        diagnose(clf, CORNERS, [0, 0, 0, 1])


def test_errors_say_what_is_expected():
    X, y = overlapping()
    clf = LinearClassifier().fit(X, y)
    with pytest.raises(TypeError, match="diagnose supports Perceptron, LinearClassifier, "):
        diagnose(SGDClassifier(), X, y)
    with pytest.raises(TypeError, match="pass X and y as arrays or sparse matrices"):
        diagnose(clf, separatrix.ArraySource(X, y, np.array([-1, 1])), y)
    with pytest.raises(TypeError, match=r"such as source\.sample"):
        diagnose(clf, separatrix.read(lambda: iter([(X, y)])))
    with pytest.raises(ValueError, match="X has 4 features, but the fit had 5"):
        diagnose(clf, X[:, :4], y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        diagnose(clf, X, y[:-1])
    with pytest.raises(ValueError, match=r"the labels \[3.0\], which the fit did not have"):
        diagnose(clf, X, np.where(y > 0, 3.0, y))
    with pytest.raises(ValueError, match="NaN"):
        diagnose(clf, np.where(X > 2, np.nan, X), y)


@pytest.mark.parametrize("standardize", [False, True])
def test_rows_of_a_table_are_diagnosed_as_the_model_reads_them(standardize):
    X, y = overlapping()
    colour = np.where(X[:, 0] > 0, "red", "blue")
    table = pd.DataFrame({"size": X[:, 1], "again": X[:, 1], "colour": colour, "label": y})
    rows = separatrix.read(table, target="label").sample(10**6)
    clf = LinearClassifier(l2=1e-3, standardize=standardize).fit(rows)
    found = {finding.cause: finding for finding in diagnose(clf, rows).findings}
    assert "'again'" in found["duplicate features"].sentence
    dense = np.column_stack([X[:, 1], X[:, 1], colour == "blue", colour == "red"])
    plain = LinearClassifier(l2=1e-3, standardize=standardize).fit(dense, y)
    assert list(found) == [each.cause for each in diagnose(plain, dense, y).findings]
