"""Loose fits, whose certified predictions are compared with those of the exact minimum.

Losses x strengths x weights of rows, classes and features x standardised or not x dense or sparse
x means of features and offsets of scores up to 1e6 x two and more classes. Half of the fits end
early; half are moved from the minimum, in the direction that changes a score most, until the gap
is exactly what J rose by: then bounds that are too small by a little are wrong. Minima are
found in long double (:mod:`exact_minima`), those of the hinge by a fit with ``tol=1e-14``, whose
own error is allowed.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

import separatrix as sx

sys.path.append(str(Path(__file__).resolve().parent.parent))

from exact_minima import LD, centre_of, column_minimum, objective, softmax_minimum

from .expected import expect

KINDS = (
    "logistic", "squared", "squared_hinge", "one_vs_rest_logistic", "softmax", "hinge",
    "one_vs_rest_hinge",
)  # fmt: skip
COLUMNS = {  # loss of a column
    "one_vs_rest_logistic": "logistic", "squared": "squared", "squared_hinge": "squared_hinge",
    "logistic": "logistic",
}  # fmt: skip
LARGE = 1e5  # scores whose parts are larger are too imprecise in long double to know a gap


@dataclass
class Problem:
    """A problem at its worst: ties, duplicates, constants, few rows, odd scales."""

    kind: str
    X: np.ndarray
    y: np.ndarray
    k: int
    sample_weight: np.ndarray
    class_weight: Any
    l2: float
    settings: dict[str, Any]
    offset: np.ndarray | None = None
    rng: np.random.Generator = field(default_factory=np.random.default_rng)

    @property
    def weight(self) -> np.ndarray:
        """Of rows times classes."""
        if self.class_weight is None:
            return self.sample_weight
        return self.sample_weight * np.array([self.class_weight[c] for c in range(self.k)])[self.y]

    def estimator(self, **given: Any) -> Any:
        loss = "logistic" if self.kind == "softmax" else self.kind
        settings = {**self.settings, "class_weight": self.class_weight, "l2": self.l2, **given}
        return sx.LinearClassifier(loss, random_state=0, **settings)

    def fitted(self, clf: Any, rows: Any = None) -> Any:
        rows = self.X if rows is None else rows
        return clf.fit(rows, self.y, self.sample_weight, offset=self.offset)

    def strength(self, clf: Any) -> np.ndarray:
        """l2 of every feature, in the units of the rows."""
        factors = self.settings["penalty_weights"]
        found = self.l2 * (np.ones(self.X.shape[1]) if factors is None else factors).astype(LD)
        return found if clf.scale_ is None else found * clf.scale_.astype(LD) ** 2


def drawn(rng: np.random.Generator, kind: str) -> Problem:
    k = 2 if kind in ("logistic", "squared", "squared_hinge", "hinge") else 3
    if kind in ("squared", "squared_hinge") and rng.random() < 0.4:
        k = 3
    n, d = int(rng.integers(2 * k, 30)), int(rng.integers(1, 7 if k == 2 else 5))
    X = rng.standard_normal((n, d))
    if rng.random() < 0.3:
        X = np.round(X)  # ties
    if rng.random() < 0.2:
        X[:, rng.integers(d)] = rng.choice([0.0, 1.0, 5.0])  # constant
    if d > 1 and rng.random() < 0.2:
        X[:, 0] = X[:, 1]
    if rng.random() < 0.2:
        X[n // 2 :] = X[: n - n // 2]  # duplicate rows, with other labels
    standardize = bool(rng.random() < 0.5)
    if rng.random() < 0.3:
        X *= 10.0 ** (rng.integers(-100, 100, d) if standardize else rng.integers(-3, 4, d))
    if rng.random() < 0.4:
        X += 10.0 ** rng.integers(0, 7) * np.abs(X).max(initial=0.0) * rng.choice([-1, 0, 1], d)
    y = np.append(np.arange(k), rng.integers(0, k, n - k))
    if rng.random() < 0.3:  # classes that a feature decides
        y = np.searchsorted(np.quantile(X[:, 0], np.arange(1, k) / k), X[:, 0])
        y[rng.permutation(n)[:k]] = np.arange(k)
    # The smallest weight bounds what the biases of the hinge can change: see ``of_tight_fit``.
    weight = rng.choice([0.0, 0.5, 1.0, 3.0], n) if rng.random() < 0.3 else np.ones(n)
    weight[[int(np.flatnonzero(y == c)[0]) for c in range(k)]] = 1.0
    shares = [{c: float(rng.choice([0.5, 1.0, 10.0])) for c in range(k)}, None, None, None]
    plain = kind in ("hinge", "one_vs_rest_hinge")
    factors = None if plain or rng.random() < 0.8 else 10.0 ** rng.uniform(-1, 1, d)
    settings = {
        "standardize": standardize, "fit_intercept": bool(rng.random() < 0.8),
        "penalty_weights": factors,
    }  # fmt: skip
    offset = None
    if rng.random() < 0.2:
        shape = (n,) if k == 2 else (n, k)
        offset = rng.standard_normal(shape) * 10.0 ** rng.uniform(-2, 6)
        if rng.random() < 0.5:  # far from 0, but near each other
            offset = np.round(offset.flat[0]) + rng.standard_normal(shape)
    l2 = float(10.0 ** rng.uniform(-5, 1))
    class_weight = shares[int(rng.integers(4))]
    return Problem(kind, X, y, k, weight, class_weight, l2, settings, offset, rng)


@dataclass
class Exact:
    """A minimum, and bounds on the error of its scores: ``|x - c|_*`` times the first, and more."""

    W: np.ndarray
    b: np.ndarray
    radius: float = 0.0
    bias_error: float = 0.0


def minimum(problem: Problem, clf: Any) -> Exact | None:
    """The minimum of what ``clf`` minimised; None if long double has too few digits for it."""
    if problem.kind in ("hinge", "one_vs_rest_hinge"):
        return of_tight_fit(problem)
    given = problem.weight, problem.strength(clf), bool(problem.settings["fit_intercept"])
    offset = 0.0 if problem.offset is None else problem.offset
    if problem.kind == "softmax":
        near = clf.coef_.astype(LD), clf.intercept_.astype(LD)
        W, b = softmax_minimum(problem.X, problem.y, problem.k, *given, offset, near)
    else:
        found = []
        for at, c in enumerate([1] if problem.k == 2 else range(problem.k)):
            near = clf.coef_[at], clf.intercept_[at]
            own = offset if problem.k == 2 or problem.offset is None else problem.offset[:, c]
            sign = np.where(problem.y == c, 1, -1)
            loss = COLUMNS[problem.kind]
            found.append(column_minimum(loss, problem.X, sign, *given, own, near))
        W, b = np.array([w for w, _ in found]), np.array([c for _, c in found])
    return Exact(W, b) if np.isfinite(W).all() and np.isfinite(b).all() else None


def of_tight_fit(problem: Problem) -> Exact:
    """A minimum of the hinge, and how far it can be from all others with these weights.

    J rises in a bias away from its minima by at least half of the smallest weight.
    """
    clf = problem.fitted(problem.estimator(tol=1e-14))
    strength = problem.strength(clf)
    p = problem.weight / problem.weight.sum()
    centre = (p @ problem.X) * problem.settings["fit_intercept"]
    radius = np.sqrt(clf.gap_)
    apart = np.sqrt(np.sum((problem.X - centre) ** 2 / strength, axis=1)).astype(float)
    units = problem.weight[p > 0.0].min() / problem.weight.sum() / 2.0
    error = (clf.gap_ + 2.0 * radius * float(p @ apart)) / units
    return Exact(clf.coef_.astype(LD), clf.intercept_.astype(LD), radius, float(error))


def moved(problem: Problem, clf: Any, exact: Exact, row: np.ndarray) -> bool:
    """Move the weights until J has risen by a gap: whether that is known precisely enough."""
    rng, strength = problem.rng, problem.strength(clf)
    given = problem.X, problem.y, problem.weight, strength
    offset = 0.0 if problem.offset is None else problem.offset.reshape(len(problem.y), -1)
    loss = "softmax" if problem.kind == "softmax" else COLUMNS[problem.kind]
    intercept = bool(problem.settings["fit_intercept"])
    p = problem.weight.astype(LD) / problem.weight.astype(LD).sum()
    centre = centre_of(problem.X.astype(LD), p) * intercept
    k = len(exact.W)
    D, e = np.zeros((k, problem.X.shape[1]), LD), np.zeros(k, LD)
    direction = (row - centre) / strength
    signs = rng.choice([-1, 1]) * np.eye(k)[0] - (np.eye(k)[1] if k > 1 else 0.0)
    D += signs[:, None] * direction
    size = np.sqrt(np.sum(strength * D * D))
    D = D / size if size > 0 else D
    e += signs * rng.choice([0.0, 0.1, 1.0]) * intercept
    if loss == "softmax":
        D, e = D - D.mean(axis=0), e - e.mean()

    def at(t: Any) -> Any:
        W, b = (exact.W + t * D).astype(float), exact.b + t * (e - D @ centre)
        return W, b.astype(float)

    def value_at(t: Any) -> Any:
        return objective(loss, *given, *(each.astype(LD) for each in at(t)), offset)

    least = objective(loss, *given, exact.W, exact.b, offset)
    gap = float(10.0 ** rng.uniform(-8, 0)) * float(least)
    low, high = LD(0), LD(1e-12)
    while value_at(high) < least + gap and high < 1e12:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if value_at(middle) < least + gap else (low, middle)
    W, b = at(low)
    if float(np.max(np.abs(W) @ np.abs(centre) + np.abs(b))) > LARGE:
        return False
    value = objective(loss, *given, W.astype(LD), b.astype(LD), offset)
    rise = float(value - least)
    if not rise > 1e-12 * abs(float(least)):  # all rounding of the reference is below
        return False
    clf.coef_, clf.intercept_ = W, b
    clf.objective_, clf.gap_ = float(value), rise * (1.0 + 1e-5) + 1e-16 * float(value)
    return True


def rows_to_predict(problem: Problem, exact: Exact) -> np.ndarray:
    """The training rows, others, and some at all distances from the exact boundary."""
    X, rng, k = problem.X, problem.rng, len(exact.W)
    mean = X.mean(axis=0)
    away = mean + (X - mean) * rng.standard_normal((len(X), 1))
    w, b = exact.W[0] - (exact.W[1] if k > 1 else 0), exact.b[0] - (exact.b[1] if k > 1 else 0)
    square = w @ w
    if not float(square) > 0.0:
        return np.vstack([X, away])
    steps = (10.0 ** rng.uniform(-12, 0, len(X)) * rng.choice([-1, 1], len(X))).astype(LD)
    near = away - ((away @ w + b) * (1 + steps) / square)[:, None] * w
    return np.vstack([X, away, near.astype(float)])


def compare(
    problem: Problem, clf: Any, exact: Exact, rows: np.ndarray, offset: Any = None, *,
    dense: bool = False, **training: Any,
) -> Any:  # fmt: skip
    """Bounds contain the exact scores and probabilities; labels are the exact ones."""
    given = sp.csr_array(rows) if problem.rng.random() < 0.3 and not dense else rows
    found = clf.certified(given, offset=offset, **training)
    S = rows.astype(LD) @ exact.W.T + exact.b
    if offset is not None:
        S = S + offset.reshape(len(rows), -1)
    # Long double itself: 1e-17 of the terms of a score. What the reference leaves open, too.
    terms = np.abs(rows) @ np.abs(exact.W).T.astype(float) + np.abs(exact.b).astype(float)
    error = 1e-15 * (np.abs(S) + 1.0) + 1e-14 * np.ptp(S, axis=0) + 1e-16 * terms
    if exact.radius:
        p = problem.weight / problem.weight.sum()
        centre = (p @ problem.X) * problem.settings["fit_intercept"]
        D = (rows - centre) / np.sqrt(problem.strength(clf)).astype(float)
        error = error + exact.radius * np.sqrt(np.sum(D * D, axis=1))[:, None] + exact.bias_error
    error = error.astype(float)
    low, high = found.score_low.reshape(S.shape), found.score_high.reshape(S.shape)
    expect(bool(np.all(low <= S + error)), "a score of the minimum is below its bound")
    expect(bool(np.all(S - error <= high)), "a score of the minimum is above its bound")
    k = S.shape[1]
    right = (S[:, 0] >= 0).astype(int) if k == 1 else S.argmax(axis=1)
    near = np.abs(S[:, 0]) < error[:, 0]
    if k > 1:
        top = np.sort(S, axis=1)
        near = top[:, -1] - top[:, -2] < 2 * error.max(axis=1)
    sure = found.decided & ~near
    same = found.labels[sure] == clf.classes_[right[sure]]
    expect(bool(np.all(same)), "a certified label is not that of the minimum")
    undecided = all(label == "undecided" for label in found.labels[~found.decided])
    expect(undecided, "an undecided label is named")
    if found.probability_low is not None:
        P, slack = probabilities(problem.kind, S), 1e-14 + error.max(axis=1)[:, None]
        expect(bool(np.all(found.probability_low <= P + slack)), "a probability is below its bound")
        expect(
            bool(np.all(P - slack <= found.probability_high)), "a probability is above its bound"
        )
    return found


def probabilities(kind: str, S: np.ndarray) -> np.ndarray:
    """By exact scores: (n, 2) of one column, else (n, k)."""
    with np.errstate(over="ignore", under="ignore"):
        if S.shape[1] == 1:
            return np.column_stack([1 / (1 + np.exp(S[:, 0])), 1 / (1 + np.exp(-S[:, 0]))])
        each = np.exp(S - S.max(axis=1)[:, None]) if kind == "softmax" else 1 / (1 + np.exp(-S))
    total = each.sum(axis=1)[:, None]
    return np.where(total > 0, each / np.where(total > 0, total, 1), LD(0.5))


def outcome(kind: str, found: Any) -> str:
    decided = found.decided.mean()
    return f"{kind}: {'all' if decided == 1 else 'some' if decided else 'no'} labels certified"


def check(rng: np.random.Generator, kind: str) -> tuple[str, Any]:
    """One problem; what it came to, and the last certified predictions."""
    problem = drawn(rng, kind)
    rows = sp.csr_array(problem.X) if rng.random() < 0.3 else problem.X
    loose = {"tol": float(10.0 ** rng.uniform(-6, 0)), "max_iter": int(rng.choice([1, 3, 300]))}
    beforehand = bool(rng.random() < 0.5)
    clf = problem.estimator(certify_predictions=beforehand, **loose)
    problem.fitted(clf, rows)
    exact = minimum(problem, clf)
    if exact is None:
        return f"{kind}: no reference", None
    test = rows_to_predict(problem, exact)
    offset = None
    if problem.offset is not None:
        offset = problem.offset[rng.integers(len(problem.y), size=len(test))]
    training = {} if beforehand else {"X_train": rows, "y_train": problem.y}
    if not beforehand:
        training |= {"sample_weight": problem.sample_weight, "train_offset": problem.offset}
    found = compare(problem, clf, exact, test, offset, **training)
    if problem.kind in (*COLUMNS, "softmax") and rng.random() < 0.6:
        row = test[int(rng.integers(len(test)))]
        training = {
            "X_train": rows, "y_train": problem.y, "sample_weight": problem.sample_weight,
            "train_offset": problem.offset,
        }  # fmt: skip
        if moved(problem, clf, exact, row):
            found = compare(problem, clf, exact, test, offset, **training)
    if problem.offset is None and rng.random() < 0.2:
        check_stop(problem, exact, test)
    return outcome(kind, found), found


def check_stop(problem: Problem, exact: Exact, rows: np.ndarray) -> None:
    """Labels of a fit that ends as "certified" are those of the minimum."""
    clf = problem.estimator(tol=1e-1, stop=sx.Stop(certify=rows), max_iter=300)
    problem.fitted(clf)
    if clf.stop_ != "certified":
        return
    training = {"X_train": problem.X, "y_train": problem.y}
    training["sample_weight"] = problem.sample_weight
    # Sparse rows are summed in another order, and the bounds on rounding may be larger.
    found = compare(problem, clf, exact, rows, dense=True, **training)
    expect(bool(found.decided.all()), "certified, but not all labels are decided")
    expect(bool(np.all(found.labels == clf.predict(rows))), "certified, but predict disagrees")


def one(seed: int) -> str:
    """One case; what it came to."""
    rng = np.random.default_rng(seed)
    kind = KINDS[int(rng.integers(len(KINDS)))]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", category=UserWarning, message=".*weight.*")
        return check(rng, kind)[0]
