"""Kinds of work that show the gain of a mechanism: fits, passes, verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_digits

from separatrix import (
    KernelPerceptron,
    LinearClassifier,
    LinearClassifierCV,
    Perceptron,
    read,
    separability,
)
from separatrix.separation.exact_simplex import farkas
from separatrix.solvers import LBFGS

from . import data

MANY = 100_000  # passes

Run = Callable[[], Any]
Make = Callable[[Callable[[int], int]], Run]  # from the number of rows at full size to that used


def fit(
    rows: Callable[[int], int], make: Callable[..., data.Table], shape: tuple[int, ...],
    loss: str, l2: float, bits: int = 64, intercept: bool = True, **others: Any,
) -> Run:  # fmt: skip
    X, y = make(rows(shape[0]), *shape[1:])
    X = X.astype(f"f{bits // 8}", copy=False)
    given = {"tol": 1e-6, "random_state": 0} | others
    model = LinearClassifier(loss, l2=l2, fit_intercept=intercept, **given)
    return lambda: model.fit(X, y)


def by_blocks(rows: Callable[[int], int], shape: tuple[int, int], dtype: str) -> Run:
    """Rows that are read and standardised block by block."""
    X, y = data.clouds(rows(shape[0]), shape[1])
    X, size = X.astype(dtype) + 3.0, 1 << 14

    def blocks() -> Iterator[tuple[Any, Any]]:
        yield from ((X[at : at + size], y[at : at + size]) for at in range(0, len(y), size))

    source = read(blocks, dtype=dtype)  # type: ignore[arg-type]  # of a name, mypy knows no dtype
    model = LinearClassifier(l2=1e-5, standardize=True, solver=LBFGS())
    return lambda: model.fit(source)


def passes(
    rows: Callable[[int], int], make: Callable[..., data.Table], shape: tuple[Any, ...],
    bits: int = 64, count: int = 5,
) -> Run:  # fmt: skip
    X, y = make(rows(shape[0]), *shape[1:])
    X = X.astype(f"f{bits // 8}", copy=False)
    to_the_end = count == MANY
    model = Perceptron(
        count, shuffle=not to_the_end, patience=None, keep="last", random_state=0
    )  # fmt: skip
    return lambda: model.fit(X, y)


def classes_apart(n: int, d: int, k: int, gap: float) -> data.Table:
    """Gaussian rows whose best of k linear scores leads by a gap."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    scores = X @ rng.standard_normal((k, d)).T
    best = np.sort(scores, axis=1)
    ahead = best[:, -1] - best[:, -2] > gap
    return X[ahead], scores[ahead].argmax(axis=1)


def toy(_: Callable[[int], int], load: Callable[..., Any], calls: int) -> Run:
    X, y = load(return_X_y=True)
    model = Perceptron(20, patience=None, keep="last", random_state=0)
    return lambda: [model.fit(X, y) for _ in range(calls)]


def gate(_: Callable[[int], int]) -> Run:
    """The four rows of AND, fit after fit."""
    X, y = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([0, 0, 0, 1])
    model = Perceptron(shuffle=False)
    return lambda: [model.fit(X, y) for _ in range(50)]


def digits(_: Callable[[int], int], l2: float, loss: str = "logistic") -> Run:
    X, y = load_digits(return_X_y=True)
    model = LinearClassifier(loss, l2=l2, tol=1e-6)
    return lambda: model.fit(X / 16.0, y)


def folds(rows: Callable[[int], int], n: int, d: int, loss: str = "logistic", l2s: int = 20) -> Run:
    X, y = data.clouds(rows(n), d)
    model = LinearClassifierCV(
        loss, l2s=np.geomspace(1e-1, 1e-7, l2s), cv=5, scoring=None, tol=1e-4
    )
    return lambda: model.fit(X, y)


def left_out(rows: Callable[[int], int], shape: tuple[int, int, int]) -> Run:
    X, y = data.text(rows(shape[0]), *shape[1:])
    model = LinearClassifierCV("squared", l2s=[1e-3], cv="loo", scoring=None)
    return lambda: model.fit(X, y)


def predictions(rows: Callable[[int], int], shape: tuple[int, int]) -> Run:
    X, y = data.clouds(rows(shape[0]), shape[1])
    model = LinearClassifier(max_iter=2).fit(X[:1000], y[:1000])
    return lambda: model.predict(X)


def kernel(rows: Callable[[int], int], name: str, n: int, d: int) -> Run:
    X, y = data.rings(rows(n), d)
    model = KernelPerceptron(name, max_iter=5, keep="last", random_state=0)
    return lambda: model.fit(X, y)


def verdict(
    rows: Callable[[int], int], make: Callable[..., data.Table], shape: tuple[Any, ...]
) -> Run:
    X, y = make(rows(shape[0]), *shape[1:])
    return lambda: separability(X, y)


def nearly_apart(n: int, d: int) -> data.Table:
    """Features that are nearly multiples of one another, ten rows on the wrong side of a plane."""
    rng = np.random.default_rng(0)
    X, y = data.separable(n, d, 0.0)
    X = X[:, :1] + 1e-4 * X
    side = (X - X.mean(axis=0)) @ rng.standard_normal(d)
    y = np.where(side > 0, 1, -1)
    y[np.argsort(np.abs(side))[n // 50 : n // 50 + 10]] *= -1
    return X, y


def repeated(n: int, d: int) -> data.Table:
    """Features that all but repeat each other, five rows on the wrong side of the middle."""
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((n, d))
    X = Z[:, :1] + 1e-10 * Z
    side = (X - X.mean(axis=0)) @ rng.standard_normal(d)
    side -= np.median(side)
    y = np.where(side > 0, 1, -1)
    y[np.argsort(np.abs(side))[n // 50 : n // 50 + 5]] *= -1
    return X, y


def equations(_: Callable[[int], int], m: int, n: int) -> Run:
    """Equations in whole numbers, with and without a solution."""
    rng = np.random.default_rng(0)
    A = rng.integers(-50, 51, (m, n))
    some = np.where(rng.random(n) < 0.2, rng.integers(1, 9, n), 0)
    right = (A @ some, rng.integers(-50, 51, m))
    return lambda: [farkas(A.astype(object), b.astype(object)) for b in right]


def sparse_correlated(n: int, d: int) -> data.Table:
    X, y = data.correlated(n, d)
    return sp.csr_array(X), y


def touching(n: int, d: int) -> data.Table:
    """Small whole numbers, with rows of both classes on one plane."""
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, (n, d)).astype(np.float64)
    side = X @ rng.integers(-2, 3, d)
    return X, np.where(side == 0, rng.choice([-1, 1], n), np.sign(side))
