"""bias_reduction="firth" for more than two classes: closed forms, and long double."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from firth_oracles import LONG, ascent, design, penalised_classes

import separatrix
from separatrix import LinearClassifier
from separatrix.data.validation import array_source
from separatrix.models.formula import formula_of
from separatrix.numeric.standardization import Standardization
from separatrix.objective import firth as two_classes
from separatrix.objective import firth_classes


def table(n=40, d=2, seed=0, separated=False, k=3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * np.logspace(0.0, 1.0, d) + 1.0
    scores = (X - 1.0) @ rng.normal(size=(d, k))
    y = (scores + (not separated) * rng.gumbel(size=(n, k))).argmax(axis=1)
    y[:k] = np.arange(k)
    return X, y


def firth(**options):
    return LinearClassifier(**({"bias_reduction": "firth", "tol": 1e-11} | options))


def contrasts(clf):
    """Coefficients of each class minus those of the first, the intercept last, in one row."""
    W = clf.coef_
    if clf.fit_intercept:
        W = np.column_stack([W, clf.intercept_])
    return (W[1:] - W[0]).ravel()


def groups(counts):
    """Rows of a saturated table: a group for each row of counts, a class for each column."""
    X = np.concatenate([np.full((row.sum(), 1), float(g)) for g, row in enumerate(counts)])
    return X, np.concatenate([np.repeat(np.arange(len(row)), row) for row in counts])


@pytest.mark.parametrize(
    "counts", [[[3, 0, 5], [1, 4, 0]], [[9, 0, 0, 0], [0, 2, 1, 7]], [[1, 0, 0], [0, 1, 1]]]
)
def test_a_saturated_table_adds_a_half_to_every_cell(counts):
    """The determinant of a group's information is a power of its size times all its shares."""
    counts = np.array(counts)
    X, y = groups(counts)
    clf = firth().fit(X, y)
    assert clf.stop_ == "stationary"
    assert clf.gap_ is None
    scores = np.array([[0.0], [1.0]]) @ clf.coef_.T + clf.intercept_
    shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    expected = (counts + 0.5) / (counts.sum(axis=1, keepdims=True) + 0.5 * counts.shape[1])
    np.testing.assert_allclose(shares, expected, rtol=1e-9)
    np.testing.assert_allclose(clf.coef_.sum(axis=0), 0.0, atol=1e-12)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("separated", [False, True])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kind", ["plain", "weighted", "offset"])
def test_direct_maximisation_agrees(separated, intercept, kind):
    X, y = table(16, 1, separated=separated)
    rng = np.random.default_rng(1)
    w = rng.integers(0, 4, len(y)).astype(float) if kind == "weighted" else None
    offset = rng.standard_normal((len(y), 3)) if kind == "offset" else None
    if w is not None:
        w[:3] = 1.0
    clf = firth(fit_intercept=intercept).fit(X, y, sample_weight=w, offset=offset)
    Z = design(X, intercept)
    start = contrasts(clf).astype(LONG)

    def value(v):
        return penalised_classes(v, Z, y, 3, w, offset)

    for begin in (np.zeros(len(start), LONG), start):
        best = ascent(value, begin)
        np.testing.assert_allclose(contrasts(clf), best.astype(float), rtol=1e-8, atol=1e-9)
    total = len(y) if w is None else w.sum()
    np.testing.assert_allclose(-clf.objective_ * total, float(value(best)), rtol=1e-12)


@pytest.mark.parametrize(("n", "d", "k"), [(40, 3, 3), (25, 2, 4), (60, 1, 5)])
def test_the_gradient_of_the_definition_is_zero(n, d, k):
    X, y = table(n, d, seed=n, separated=k == 4, k=k)
    clf = firth().fit(X, y)
    assert clf.stop_ == "stationary"
    Z, v = design(X), contrasts(clf).astype(LONG)
    for j in range(len(v)):
        step = np.zeros(len(v), dtype=LONG)
        step[j] = 2.0**-14
        one, two = (
            penalised_classes(v + m * step, Z, y, k) - penalised_classes(v - m * step, Z, y, k)
            for m in (1, 2)
        )
        assert abs(8 * one - two) / (12 * step[j]) < 1e-8 * max(
            1.0, np.abs(Z[:, j % (d + 1)]).sum()
        )


def test_of_two_classes_the_sums_are_those_of_two_classes():
    X, y = table(30, 2, k=2)
    source = array_source(X, y)
    own, u = Standardization(np.array([1.0, 2.0]), np.ones(3)), np.array([0.5, -0.1, 0.2])
    numbers = source.block()._replace(y=y)
    expected = two_classes.Information(u, own).of(source.block())
    found = firth_classes.ClassInformation(u, own, 1).of(numbers)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    inverse = np.linalg.inv(np.linalg.cholesky(expected[2]).T)
    (score,) = two_classes.FirthScore(u, own, inverse).of(source.block())
    (same,) = firth_classes.ClassScore(u, own, 1, inverse).of(numbers)
    np.testing.assert_allclose(same, score, rtol=1e-10)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_units_offsets_and_standardize_do_not_matter(offset):
    X, y = table()
    X = np.round(64.0 * X) / 64.0
    expected = firth().fit(X, y)
    far = X * [2.0**20, 2.0**-10] + offset
    for options in ({}, {"standardize": True}):
        clf = firth(**options).fit(far, y)
        np.testing.assert_allclose(
            clf.coef_ * [2.0**20, 2.0**-10], expected.coef_, rtol=1e-6, atol=1e-8
        )
        np.testing.assert_allclose(clf.predict_proba(far), expected.predict_proba(X), rtol=1e-5)


@pytest.mark.parametrize("separated", [False, True])
def test_mean_probabilities_are_the_shares(separated):
    X, y = table(60, separated=separated)
    clf = firth().fit(X, y)
    np.testing.assert_allclose(clf.predict_proba(X).mean(axis=0), np.bincount(y) / 60, rtol=1e-10)
    np.testing.assert_allclose(clf.intercept_flic_.sum(), 0.0, atol=1e-12)
    assert np.abs(clf.intercept_flic_ - clf.intercept_).max() > 1e-4
    np.testing.assert_array_equal(formula_of(clf).intercept, clf.intercept_flic_)


def test_any_form_of_the_rows_gives_the_same(monkeypatch, tmp_path):
    X, y = table(70)
    X = np.where(np.random.default_rng(1).random(X.shape) < 0.4, 0.0, X)
    expected = firth().fit(X, y)
    weight = np.random.default_rng(2).integers(0, 3, 70)
    weight[:3] = 1
    whole = np.repeat(np.arange(70), weight)
    repeated = firth().fit(X[whole], y[whole])
    strided = np.asfortranarray(np.repeat(X, 2, axis=1))[:, ::2]
    strided.setflags(write=False)
    parts = separatrix.read(lambda: ((X[i : i + 30], y[i : i + 30]) for i in range(0, 70, 30)))
    for clf in (firth().fit(sp.csr_array(X), y), firth().fit(strided, y), firth().fit(parts)):
        np.testing.assert_allclose(clf.coef_, expected.coef_, rtol=1e-8)
    weighted = firth().fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-8)
    monkeypatch.setattr(two_classes, "VALUES_OF_PART", 1)
    monkeypatch.setattr(two_classes, "FEWEST_ROWS", 7)
    np.testing.assert_allclose(firth().fit(X, y).coef_, expected.coef_, rtol=1e-9)
    separatrix.save(expected, tmp_path / "m.sep")
    kept = separatrix.load(tmp_path / "m.sep")
    np.testing.assert_array_equal(kept.predict_proba(X), expected.predict_proba(X))


def test_what_is_refused():
    X, y = table()
    with pytest.raises(ValueError, match="combination of 'x0'"):
        firth().fit(np.column_stack([X, X[:, :1]]), y)
    with pytest.raises(ValueError, match=r"40 rows cannot determine 61 coefficients.*use l2 > 0"):
        firth().fit(np.hstack([X] * 30), y)
    with pytest.raises(ValueError, match="one label per row"):
        firth().fit(X, np.eye(3, dtype=int)[y])
    with pytest.raises(ValueError, match=r"'mdypl' is for two classes.*use bias_reduction='firth'"):
        LinearClassifier(bias_reduction="mdypl").fit(X, y)
