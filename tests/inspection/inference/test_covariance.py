"""Covariances against exact tables and plain NumPy."""

from __future__ import annotations

import math
from contextlib import nullcontext
from fractions import Fraction

import numpy as np
import pytest
from inspection.inference.cases import EXACT, close, table, with_ones
from inspection.inference.profile_oracle import LONG, least, losses, solved

from separatrix import LinearClassifier, inference


@pytest.mark.parametrize("counts", [(15, 5, 8, 12), (1, 1, 1, 1), (300, 2, 7, 41)])
def test_a_table_of_four_counts(counts):
    """The log odds ratio, whose variance is the sum of 1 / count."""
    a, b, c, d = counts
    x = np.repeat([0.0, 0.0, 1.0, 1.0], counts)[:, None]
    y = np.repeat([0, 1, 0, 1], counts)
    clf = LinearClassifier(**EXACT).fit(x, y)
    with pytest.warns(UserWarning, match="per row") if sum(counts) < 40 else nullcontext():
        found = inference(clf, x, y)
    close(found.coef, [math.log(a * d / (b * c)), math.log(b / a)], 1e-12)
    variance = [float(sum(Fraction(1, m) for m in counts)), float(Fraction(1, a) + Fraction(1, b))]
    close(np.diag(found.cov), variance, 1e-10)
    covariance = -float(Fraction(1, a) + Fraction(1, b))
    close(found.cov[0, 1], covariance, 1e-10)


@pytest.mark.parametrize("k", [2, 3])
def test_repeated_rows_in_clusters_change_nothing(k):
    X, y = table(22, n=250, k=k)
    clf = LinearClassifier(**EXACT).fit(X, y)
    rows = np.arange(len(y))
    once = inference(clf, X, y, covariance="cluster", groups=rows)
    close(once.cov, inference(clf, X, y, covariance="sandwich").cov)
    twice = np.r_[rows, rows]
    again = LinearClassifier(**EXACT).fit(X[twice], y[twice])
    close(inference(again, X[twice], y[twice], covariance="cluster", groups=twice).cov, once.cov)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("covariance", ["model", "sandwich"])
def test_frequency_weights_are_repetitions(k, covariance):
    X, y = table(23, n=200, k=k)
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    whole = np.repeat(np.arange(len(y)), weight)
    weighted = LinearClassifier(**EXACT).fit(X, y, sample_weight=weight)
    repeated = LinearClassifier(**EXACT).fit(X[whole], y[whole])
    found = inference(weighted, X, y, sample_weight=weight, covariance=covariance)
    expected = inference(repeated, X[whole], y[whole], covariance=covariance)
    close(found.cov, expected.cov)
    assert found.n == expected.n
    close(found.log_likelihood, expected.log_likelihood)


def test_sampling_weights_by_hand():
    X, y = table(24)
    weight = np.random.default_rng(0).uniform(0.5, 4.0, len(y))
    clf = LinearClassifier(**EXACT).fit(X, y, sample_weight=weight)
    given = {"sample_weight": weight, "covariance": "sandwich", "weights": "probability"}
    found, Z = inference(clf, X, y, **given), with_ones(X)
    p = 1.0 / (1.0 + np.exp(-Z @ np.append(clf.coef_, clf.intercept_)))
    bread = np.linalg.inv((Z.T * (weight * p * (1 - p))) @ Z)
    g = Z * (weight * (p - y))[:, None]
    close(found.cov, bread @ (g.T @ g) @ bread)
    assert found.n == len(y)
    assert found.log_likelihood is None
    rescaled = LinearClassifier(**EXACT).fit(X, y, sample_weight=7 * weight)
    close(inference(rescaled, X, y, **given | {"sample_weight": 7 * weight}).cov, found.cov)


@pytest.mark.parametrize("standardize", [False, True])
def test_a_penalised_fit_by_hand(standardize):
    """H^-1 (H - P) H^-1, with the penalty in the units that the fit used."""
    X, y = table(25)
    clf = LinearClassifier(l2=1e-2, tol=1e-13, standardize=standardize).fit(X, y)
    found, Z = inference(clf, X, y), with_ones(X)
    scale = X.std(axis=0) if standardize else np.ones(X.shape[1])
    P = np.diag(np.append(2 * 1e-2 * len(y) * scale**2, 0.0))
    p = 1.0 / (1.0 + np.exp(-Z @ np.append(clf.coef_, clf.intercept_)))
    H = (Z.T * (p * (1 - p))) @ Z
    inverse = np.linalg.inv(H + P)
    close(found.cov, inverse @ H @ inverse)
    close(found.effective, np.trace(inverse @ H))
    assert "penalised" in found.kind
    with pytest.raises(ValueError, match="chi-square"):
        found.test("x0")


@pytest.mark.parametrize("reference", ["a", "b", "c"])
@pytest.mark.parametrize("l2", [0.0, 1e-2])
def test_contrasts_do_not_depend_on_the_order_of_the_classes(reference, l2):
    X, number = table(26, k=3)
    y = np.array(["a", "b", "c"])[number]
    clf = LinearClassifier(l2=l2, tol=1e-13).fit(X, y)
    first = inference(clf, X, y, covariance="sandwich")
    found = inference(clf, X, y, covariance="sandwich", reference=reference)
    assert found.reference == reference
    B = clf.coef_[:, 0] - clf.coef_[list("abc").index(reference), 0]
    close(found.coef[0::5], np.delete(B, list("abc").index(reference)))
    # The variance of b - c from the covariance against a.
    width = X.shape[1] + 1
    difference = np.zeros(2 * width)
    difference[0], difference[width] = 1.0, -1.0
    between = inference(clf, X, y, covariance="sandwich", reference="b")
    assert between.classes[width] == "c"
    close(between.cov[width, width], difference @ first.cov @ difference)


@pytest.mark.parametrize("k", [2, 3])
def test_covariances_in_long_double(k):
    """Inverses by Gaussian elimination, at a minimum by Newton's method, in long double."""
    X, y = table(95, n=200, d=3, k=k)
    Z, Y = with_ones(X).astype(LONG), (y[:, None] == np.arange(k)).astype(LONG)
    ones, size = np.ones(len(y), LONG), (k - 1) * Z.shape[1]
    theta, _ = least(np.zeros(size, LONG), Z, Y, ones, np.arange(size))
    H = losses(theta, Z, Y, ones, 2)[2]
    inverse = np.column_stack([solved(H, e) for e in np.eye(size, dtype=LONG)])
    rows = [losses(theta, Z[i : i + 1], Y[i : i + 1], ones[:1], 2)[1] for i in range(len(y))]
    groups = np.arange(len(y)) % 30
    sums = [sum(rows[i] for i in np.flatnonzero(groups == g)) for g in range(30)]
    clf = LinearClassifier(**EXACT).fit(X, y)
    close(inference(clf, X, y).cov, inverse)
    for g, given in ((rows, {"covariance": "sandwich"}),
                     (sums, {"covariance": "cluster", "groups": groups})):  # fmt: skip
        middle = np.array(g).T @ np.array(g)
        close(inference(clf, X, y, **given).cov, inverse @ middle @ inverse)
