"""J and the gap are those of the weights that are returned, for the features as given."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from chunked import Chunked
from conftest import quiet

from separatrix import (
    ArraySource,
    LinearClassifier,
    LinearClassifierCV,
    Objective,
    certify,
    diagnose,
    get_loss,
    path,
)
from separatrix.data.feature_map import FeatureMap
from separatrix.data.standardized import StandardizedSource
from separatrix.data.validation import array_source, check_rows
from separatrix.numeric.dot import exact_product
from separatrix.numeric.standardization import Standardization
from separatrix.penalties import L2
from separatrix.proofs.units import GivenUnits

pytestmark = quiet
N = 12
LOSSES = [
    ("hinge", 2), ("hinge", 3), ("one_vs_rest_hinge", 3), ("squared_hinge", 2), ("squared", 3),
    ("logistic", 2), ("logistic", 3), ("one_vs_rest_logistic", 3),
]  # fmt: skip


# ---- J in fractions and in decimals of 40 digits ------------------------------------------


def decimal(q):
    return Decimal(q.numerator) / Decimal(q.denominator)


def row_loss(loss, own, scores):
    """Of a row, from exact scores: one for two classes, else one for each."""
    margins = [s if own == c else -s for c, s in enumerate(scores)]
    if len(scores) == 1:
        margins = [scores[0] if own else -scores[0]]
    if loss == "squared":
        return decimal(sum((1 - m) ** 2 for m in margins))
    if loss == "squared_hinge":
        return decimal(sum(max(Fraction(0), 1 - m) ** 2 for m in margins))
    if loss == "hinge" and len(scores) > 1:
        return decimal(max(s - scores[own] + (c != own) for c, s in enumerate(scores)))
    if loss.endswith("hinge"):
        return decimal(sum(max(Fraction(0), 1 - m) for m in margins))
    if loss == "logistic" and len(scores) > 1:
        return sum(decimal(s - scores[own]).exp() for s in scores).ln()
    return sum((1 + decimal(-m).exp()).ln() for m in margins)


def exact_objective(loss, X, y, coef, intercept, scale, l2):
    """The mean loss, and ``l2 * |scale * w|^2``."""
    W = [list(map(Fraction, w)) for w in coef]
    with localcontext() as context:
        context.prec = 40
        total = Decimal(0)
        for x, own in zip(X.tolist(), y.tolist(), strict=True):
            terms = [sum(Fraction(a) * b for a, b in zip(x, w, strict=True)) for w in W]
            scores = [s + Fraction(b) for s, b in zip(terms, intercept, strict=True)]
            total += row_loss(loss, own, scores)
        weights = [v * Fraction(c) for w in W for v, c in zip(w, scale.tolist(), strict=True)]
        return total / len(y) + decimal(Fraction(l2) * sum(v * v for v in weights))


def data(k, offset, seed=0):
    """Rows near an offset, and by how much they differ from it, exactly."""
    rng = np.random.default_rng(seed + k)
    Z = np.round(1024 * rng.standard_normal((N, 2))) / 1024
    y = np.argmax(np.arange(k) * Z[:, :1] + rng.standard_normal((N, k)), axis=1)
    y[:k] = np.arange(k)
    return Z + offset, Z, y


def assert_true(clf, X, Z, y, offset):
    """Of the returned weights; and no better ones lie below the bound."""
    given = clf.loss, X, y
    l2 = getattr(clf, "l2_", clf.__dict__.get("l2"))
    exact = exact_objective(*given, clf.coef_.tolist(), clf.intercept_.tolist(), clf.scale_, l2)
    assert abs(Decimal(clf.objective_) - exact) <= exact * Decimal("1e-12")
    if clf.gap_ is None:
        return
    near = LinearClassifier(clf.loss, l2=l2, tol=1e-13, max_iter=100).fit(Z / clf.scale_, y)
    scale = list(map(Fraction, clf.scale_.tolist()))
    coef = [[Fraction(v) / c for v, c in zip(w, scale, strict=True)] for w in near.coef_.tolist()]
    intercept = [
        Fraction(b) - Fraction(offset) * sum(w)
        for b, w in zip(near.intercept_.tolist(), coef, strict=True)
    ]
    better = exact_objective(*given, coef, intercept, clf.scale_, l2)
    assert Decimal(clf.objective_) - Decimal(clf.gap_) <= better * (1 + Decimal("1e-30"))
    if clf.stop_ == "optimal":
        assert clf.gap_ <= clf.tol * clf.objective_
        assert exact - better <= exact * Decimal(clf.tol)


@pytest.mark.sampled(12)
@pytest.mark.parametrize(("loss", "k"), LOSSES)
@pytest.mark.parametrize("offset", [1.0, 1e4, 1e8, 1e10])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_objective_and_gap_are_those_of_the_returned_weights(loss, k, offset, form):
    X, Z, y = data(k, offset)
    for l2, tol, max_iter in ((1e-3, 1e-9, 1000), (1e-7, 1e-9, 3), (1e-3, None, 3)):
        clf = LinearClassifier(loss, l2=l2, tol=tol, max_iter=max_iter, standardize=True)
        assert_true(clf.fit(form(X), y), X, Z, y, offset)


@pytest.mark.parametrize("seed", range(6))
def test_a_bias_that_is_rounded_away_is_not_called_optimal(seed):
    """Hinges: J changes with the bias to first order, and there is no better one."""
    X, Z, y = data(2, 1e8, seed)
    clf = LinearClassifier("hinge", l2=1e-3, tol=1e-11, standardize=True).fit(X, y)
    assert_true(clf, X, Z, y, 1e8)


@pytest.mark.sampled
@pytest.mark.parametrize(("loss", "k"), [("hinge", 2), ("hinge", 3), ("logistic", 2)])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_bounds_of_other_weights_than_those_kept_are_rounded_at_their_size(loss, k, form):
    """Rows that are read in blocks: the first step may keep zeros, and still prove a bound."""
    X, Z, y = data(k, 1e6)
    source = Chunked(array_source(check_rows(form(X)), y), (0, 5, N))
    clf = LinearClassifier(loss, l2=1e-3, tol=1e-10, standardize=True).fit(source)
    assert_true(clf, X, Z, y, 1e6)


def test_searches_and_paths_return_what_they_judge():
    X, Z, y = data(2, 1e8)
    clf = LinearClassifierCV(
        "hinge", l2s=[1e-2], cv=2, tol=1e-9, standardize=True, scoring=None
    ).fit(X, y)
    assert_true(clf, X, Z, y, 1e8)
    found = path(X, y, standardize=True, strengths=[1e-3], l1_ratio=1e-9, tol=1e-9)
    fit = found.at(1e-3)
    exact = exact_objective(
        "logistic", X, y, fit.coef_.tolist(), fit.intercept_.tolist(), fit.scale_, fit.l2
    ) + Decimal(fit.l1) * sum(map(Decimal, np.abs(fit.coef_ * fit.scale_).ravel().tolist()))
    assert abs(Decimal(found.objectives[0]) - exact) <= exact * Decimal("1e-12")


@pytest.mark.parametrize(("loss", "k"), [("hinge", 2), ("hinge", 3), ("logistic", 2)])
def test_a_certificate_does_not_contradict_the_fit(loss, k):
    X, _, y = data(k, 1e8)
    clf = LinearClassifier(loss, l2=1e-3, tol=1e-9, standardize=True).fit(X, y)
    found = certify(clf, X, y)
    assert found.objective == pytest.approx(clf.objective_, rel=1e-12)
    assert found.bound <= clf.objective_ * (1 + 1e-15)
    assert clf.objective_ - clf.gap_ <= found.objective * (1 + 1e-15)
    assert found.flips == 0
    assert "not converged" not in {finding.cause for finding in diagnose(clf, X, y).findings}


# ---- rows of every kind -------------------------------------------------------------------


@pytest.mark.parametrize("offset", [3.0, 1e5])
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_exact_values_and_tangents_of_every_source(dtype, streamed, offset):
    """float32 rows in memory, or far off, are standardised to float32: J is that of these."""
    rng = np.random.default_rng(1)
    X = (rng.standard_normal((N, 3)) + offset).astype(dtype)
    y = np.where(np.arange(N) % 2, 1.0, -1.0)
    given = ArraySource(X, y, np.array([0, 1]))
    scaling = Standardization(X.mean(axis=0, dtype=float), np.append(X.std(axis=0), 1.0))
    features = FeatureMap(3, scaling)
    source = StandardizedSource(given, scaling) if streamed else features.source(given)
    objective = Objective(get_loss("squared_hinge"), L2(0.25), source)
    units = GivenUnits(objective, features, given)
    V = features.to_weights(rng.standard_normal((1, 4)))
    rows = next(iter(source.blocks())).stored.X
    total, sums, scale = Fraction(0), [Fraction(0)] * 4, list(map(Fraction, scaling.scale))
    w = [Fraction(v) * c for v, c in zip(V[0].tolist(), scale, strict=True)]
    means = list(map(Fraction, scaling.mean.tolist()))
    w[-1] += sum(Fraction(v) * m for v, m in zip(V[0, :-1].tolist(), means, strict=True))
    for x, z, t in zip(X.tolist(), rows.tolist(), y.tolist(), strict=True):
        exactly = source.dtype == np.float64
        z = list(map(Fraction, z))
        if exactly:
            z = [(Fraction(a) - m) / c for a, m, c in zip(x, means, scale[:-1], strict=True)]
        short = max(1 - int(t) * (sum(a * b for a, b in zip(z, w[:-1], strict=True)) + w[-1]), 0)
        total += short**2
        sums = [s - 2 * short * int(t) * a for s, a in zip(sums, [*z, Fraction(1)], strict=True)]
    exact = total / N + Fraction(1, 4) * sum(v * v for v in w[:-1])
    assert abs(Fraction(units.value(V)) - exact) <= exact / 10**14
    found = units.tangents(V)
    assert abs(Fraction(found.value) - exact) <= exact / 10**14
    gradient = [s / N + v / 2 for s, v in zip(sums, [*w[:-1], Fraction(0)], strict=True)]
    np.testing.assert_allclose(found.gradient[0], [float(g) for g in gradient], rtol=1e-13)


def test_products_are_exact():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 50)) * 10.0 ** rng.integers(-150, 150, (2, 50))
    a[:4], b[:4] = [0.0, 1e308, 1e-308, 3.0], [1.0, 1e-308, 1e308, 0.1]
    for x, y, high, low in zip(a, b, *exact_product(a, b), strict=True):
        assert Fraction(high) + Fraction(low) == Fraction(x) * Fraction(y)
        assert high == x * y
