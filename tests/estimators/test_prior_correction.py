"""Class weights are taken out of the probabilities by a shift of the intercept."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize as scipy_minimize

import separatrix
from separatrix import LinearClassifier, LinearClassifierCV

CORRECTED = {"class_weight": "balanced", "prior_correction": True}


def rare(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    return X, (rng.random(n) < 1 / (1 + np.exp(3 - X @ [1.0, -1.0]))).astype(int)


def three(n=600, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    return X, np.array(list("abc"))[
        np.clip(np.rint(X[:, 0] + rng.normal(size=n)) + 1, 0, 2).astype(int)
    ]


def test_two_classes_shift_by_the_logarithm_of_the_ratio():
    X, y = rare()
    weights = {0: 0.5, 1: 4.0}
    plain = LinearClassifier(l2=1e-3, class_weight=weights).fit(X, y)
    clf = LinearClassifier(l2=1e-3, class_weight=weights, prior_correction=True).fit(X, y)
    assert np.array_equal(clf.coef_, plain.coef_)
    assert clf.intercept_[0] - plain.intercept_[0] == pytest.approx(-np.log(8.0), rel=1e-14)
    assert (clf.objective_, clf.gap_) == (plain.objective_, plain.gap_)
    assert not hasattr(plain, "prior_shift_")


def test_a_saturated_model_gets_the_shares_of_its_cells_back():
    """One binary feature: whatever the weights, the corrected probabilities are the shares."""
    X = np.repeat([0.0, 0.0, 1.0, 1.0], [70, 10, 15, 25])[:, None]
    y = np.repeat([0, 1, 0, 1], [70, 10, 15, 25])
    for class_weight in ("balanced", {0: 1.0, 1: 7.0}):
        clf = LinearClassifier(l2=0.0, tol=1e-14, class_weight=class_weight, prior_correction=True)
        shares = clf.fit(X, y).predict_proba([[0.0], [1.0]])[:, 1]
        assert shares == pytest.approx([10 / 80, 25 / 40], rel=1e-7)


def test_more_classes_are_divided_by_their_weights():
    X, y = three()
    weights = {"a": 3.0, "b": 0.5, "c": 1.0}
    plain = LinearClassifier(class_weight=weights).fit(X, y)
    clf = LinearClassifier(class_weight=weights, prior_correction=True).fit(X, y)
    odds = plain.predict_proba(X) / [3.0, 0.5, 1.0]
    assert clf.predict_proba(X) == pytest.approx(odds / odds.sum(axis=1, keepdims=True), rel=1e-12)
    assert clf.intercept_.sum() == pytest.approx(0.0, abs=1e-12)


def test_it_estimates_the_model_that_generated_the_rows():
    X, y = rare(40_000)
    balanced = LinearClassifier(l2=0.0, class_weight="balanced").fit(X, y)
    clf = LinearClassifier(l2=0.0, **CORRECTED).fit(X, y)
    assert balanced.predict_proba(X)[:, 1].mean() > 3.0 * y.mean()
    assert clf.intercept_[0] == pytest.approx(-3.0, abs=0.15)
    assert clf.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), rel=0.05)

    def weighed_loss(w):  # an oracle without class weights of ours
        margin = (2 * y - 1) * (X @ w[:2] + w[2])
        size = np.where(y == 1, 0.5 / y.mean(), 0.5 / (1 - y.mean()))
        return np.mean(size * np.logaddexp(0.0, -margin))

    w = scipy_minimize(weighed_loss, np.zeros(3), options={"gtol": 1e-9}).x
    shift = np.log(y.mean() / (1 - y.mean()))
    assert clf.coef_[0] == pytest.approx(w[:2], abs=1e-4)
    assert clf.intercept_[0] == pytest.approx(w[2] + shift, abs=1e-4)


@pytest.mark.parametrize("standardize", [False, True])
def test_sources_files_and_weights_agree_with_arrays(tmp_path, standardize):
    X, y = rare(400)
    weight = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    lines = [f"{a},{b},{c},{w}" for (a, b), c, w in zip(X, y, weight, strict=True)]
    file = tmp_path / "rows.csv"
    file.write_text("\n".join(["p,q,y,w", *lines]))
    clf = LinearClassifier(standardize=standardize, tol=1e-12, **CORRECTED)
    expected = clf.fit(X, y, sample_weight=weight).intercept_
    source = separatrix.read(file, target="y", weight="w")
    assert clf.fit(source).intercept_ == pytest.approx(expected, rel=1e-6)
    rows = np.repeat(np.arange(len(y)), weight.astype(int))
    assert clf.fit(X[rows], y[rows]).intercept_ == pytest.approx(expected, rel=1e-6)


def test_later_uses_of_the_model(tmp_path):
    X, y = rare()
    clf = LinearClassifier(l2=1e-3, tol=1e-12, **CORRECTED).fit(X, y)
    intercept, shift = clf.intercept_.copy(), clf.prior_shift_.copy()
    certificate = separatrix.certify(clf, X, y)
    assert certificate.gap <= 2e-6 * clf.objective_  # of the weights before the shift
    separatrix.save(clf, tmp_path / "model.sep")
    loaded = separatrix.load(tmp_path / "model.sep")
    assert np.array_equal(loaded.prior_shift_, shift)
    assert np.array_equal(loaded.predict_proba(X), clf.predict_proba(X))
    clf.set_params(warm_start=True).fit(X, y)
    assert clf.n_iter_ <= 1  # it starts at the minimum
    assert clf.intercept_ == pytest.approx(intercept, rel=1e-6)
    clf.set_params(prior_correction=False).fit(X, y)
    assert clf.intercept_ == pytest.approx(intercept - shift, rel=1e-6)
    assert not hasattr(clf, "prior_shift_")


def test_scorers_of_a_search_see_corrected_probabilities():
    X, y = rare()
    settings = {"l2s": [1e-4, 1e-2], "scoring": "neg_log_loss", "cv": 3}
    plain = LinearClassifierCV(**settings).fit(X, y)
    corrected = LinearClassifierCV(**settings, **CORRECTED).fit(X, y)
    balanced = LinearClassifierCV(**settings, class_weight="balanced").fit(X, y)
    best = [clf.cv_results_["mean_test_score"].max() for clf in (plain, corrected, balanced)]
    assert best[1] == pytest.approx(best[0], abs=0.01)
    assert best[2] < best[0] - 0.1
    assert corrected.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), rel=0.05)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"fit_intercept": False}, "fit an intercept"),
        ({"loss": "hinge"}, "needs the logistic loss, got loss='hinge'"),
        ({"loss": "squared"}, "needs the logistic loss, got loss='squared'"),
        ({"prior_correction": 1}, "prior_correction must be True or False"),
    ],
)
def test_errors(settings, words):
    X, y = rare(100)
    clf = LinearClassifier(**CORRECTED | settings)
    with pytest.raises((TypeError, ValueError), match=words):
        clf.fit(X, y)
    assert not hasattr(clf, "coef_")


def test_other_uses_are_refused():
    X, y = rare(300)
    clf = LinearClassifier(class_weight={0: 1.0, 1: 2.0}, prior_correction=True)
    with pytest.raises(ValueError, match="never knows which call is the last"):
        clf.partial_fit(X, y)
    with pytest.raises(ValueError, match="several labels per row"):
        LinearClassifier(prior_correction=True).fit(X, np.eye(3, dtype=int)[np.arange(300) % 3])
    with pytest.raises(ValueError, match="fit without class_weight and prior_correction"):
        separatrix.inference(clf.fit(X, y), X, y, covariance="sandwich")
