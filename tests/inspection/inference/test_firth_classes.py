"""Inference with Firth's penalty for more than two classes, against long double."""

from __future__ import annotations

import numpy as np
import pytest
from firth_oracles import LONG, ascent, design, penalised_classes
from scipy.stats import chi2

from separatrix import LinearClassifier, inference

pytestmark = pytest.mark.filterwarnings("ignore:there are .* parameters per row")


def fitted(X, y, **options):
    return LinearClassifier(bias_reduction="firth", tol=1e-11).fit(X, y, **options)


def table(n=18, separated=False):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, 1)) * 3.0 + 1.0
    y = (X[:, 0] > 0).astype(int) + (X[:, 0] > 3) if separated else rng.integers(0, 3, n)
    return X, y


def top(X, y):
    """Coefficients and value of the maximum."""
    Z = design(X)
    v = ascent(lambda v: penalised_classes(v, Z, y, 3), np.zeros(2 * Z.shape[1], LONG))
    return v, float(penalised_classes(v, Z, y, 3))


def largest(X, y, start, fixed, value=0.0, steps=1):
    """The largest penalised log-likelihood, with some coefficients held at a value.

    It is reached in steps, from the maximum over all: far away ascent may not converge.
    """
    Z, whole = design(X), start.copy()
    fixed = np.array(fixed)
    free = np.setdiff1d(np.arange(len(whole)), fixed)

    def of(some):
        v = whole.copy()
        v[free] = some
        return penalised_classes(v, Z, y, 3)

    first = whole[fixed].copy()
    for share in np.linspace(0.0, 1.0, steps + 1)[1:]:
        whole[fixed] = first + share * (value - first)
        whole[free] = ascent(of, whole[free])
    return float(of(whole[free]))


@pytest.mark.parametrize("separated", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_errors_ratios_and_ends(separated):
    X, y = table(separated=separated)
    found = inference(fitted(X, y), X, y, intervals="profile", level=0.9)
    v, best = top(X, y)
    np.testing.assert_allclose(found.coef, v.astype(float), rtol=1e-8)
    np.testing.assert_allclose(found.log_likelihood, best, rtol=1e-10)
    Z = design(X).astype(float)
    scores = np.column_stack([np.zeros(len(Z)), Z @ found.coef.reshape(2, 2).T])
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    information = sum(
        np.kron(np.diag(q[1:]) - np.outer(q[1:], q[1:]), np.outer(z, z))
        for q, z in zip(p, Z, strict=True)
    )
    np.testing.assert_allclose(found.cov, np.linalg.inv(information), rtol=1e-7)
    ratio = found.test(0)
    assert ratio.degrees == 2
    rest = largest(X, y, v, [0, 2])
    np.testing.assert_allclose(ratio.statistic, 2.0 * (best - rest), rtol=1e-7)
    assert found.test_each() == (ratio,)
    for number, ends in enumerate(found.intervals):
        assert ends[0] < found.coef[number] < ends[1]
        if number in (1, 2) and separated:  # two of four are enough
            continue
        for end in ends:
            fall = 2.0 * (best - largest(X, y, v, [number], end, steps=6 if separated else 2))
            np.testing.assert_allclose(fall, chi2.ppf(0.9, 1), rtol=1e-6)


def test_classes_against_any_reference():
    X, y = table(40)
    labels = np.array(["a", "b", "c"])[y]
    clf = fitted(X, labels)
    first = inference(clf, X, labels, intervals="profile")
    other = inference(clf, X, labels, intervals="profile", reference="b")
    np.testing.assert_allclose(other.coef[:2], -first.coef[:2], rtol=1e-8)
    np.testing.assert_allclose(other.intervals[:2], -first.intervals[:2, ::-1], rtol=1e-6)
    np.testing.assert_allclose(other.coef[2:], first.coef[2:] - first.coef[:2], rtol=1e-8)
    np.testing.assert_allclose(other.test(0).statistic, first.test(0).statistic, rtol=1e-7)
    assert "with Firth's penalty" in str(other)


def test_two_numbers_of_an_intercept_alone():
    """Without features the shares have a half more in every cell, and I is known."""
    y = np.repeat([0, 1, 2], [5, 0 + 1, 9])
    X = np.ones((15, 1))
    clf = LinearClassifier(bias_reduction="firth", tol=1e-11, fit_intercept=False).fit(X, y)
    found = inference(clf, X, y)
    shares = (np.bincount(y) + 0.5) / 16.5
    np.testing.assert_allclose(found.coef, np.log(shares[1:] / shares[0]), rtol=1e-9)
    cov = np.diag(1.0 / (15 * shares[1:])) + 1.0 / (15 * shares[0])
    np.testing.assert_allclose(found.cov, cov, rtol=1e-8)
