"""Fits with l1 only, at a tenth and a hundredth of the strength that leaves only the bias.

With the unpenalised bias, and without, as some peers have none and others penalise it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import data
from ..contest import Contest
from ..problem import Problem
from ..registry import workload
from .fits import to_the_optimum

SHARES = {"strong": 0.1, "weak": 0.01}


def largest_strength(X: Any, y: Any, intercept: bool) -> float:
    """The smallest l1 for which all weights are 0: the largest gradient with biases only."""
    true = y[:, None] == np.unique(y)
    expected = true.mean(axis=0) if intercept else np.full(true.shape[1], 1.0 / true.shape[1])
    return float(np.abs(X.T @ (true - expected)).max() / len(y))


def fit(table: data.Table, share: float, intercept: bool) -> Contest:
    X, y = table
    l1 = share * largest_strength(X, y, intercept)
    return to_the_optimum(Problem(X, y, "logistic", 0.0, intercept, l1=l1))


def dense(n: int, d: int, relevant: int, share: float, intercept: bool) -> Contest:
    return fit(data.few_relevant(n, d, relevant), share, intercept)


def text(n: int, d: int, nonzeros: int, share: float, intercept: bool) -> Contest:
    return fit(data.tf_idf_documents(n, d, nonzeros), share, intercept)


def softmax(n: int, d: int, relevant: int, k: int, share: float) -> Contest:
    return fit(data.few_relevant(n, d, relevant, k), share, intercept=True)


for name, share in SHARES.items():
    for suffix, intercept in (("", True), ("-no-bias", False)):
        how = share, intercept
        workload(
            f"lasso-tall-{name}{suffix}",
            tiny=(200, 8, 3, *how), small=(10_000, 60, 10, *how), full=(100_000, 200, 20, *how),
            goal=2,
        )(dense)  # fmt: skip
        workload(
            f"lasso-wide-{name}{suffix}",
            tiny=(40, 90, 3, SHARES["strong"], intercept),  # in time for saga
            small=(200, 3_000, 10, *how), full=(500, 20_000, 20, *how), goal=2,
        )(dense)  # fmt: skip
        workload(
            f"lasso-text-{name}{suffix}",
            tiny=(200, 60, 9, *how),
            small=(2_000, 10_000, 60, *how),
            full=(20_000, 100_000, 80, *how),
            goal=2,
        )(text)
    workload(
        f"lasso-softmax-{name}",
        tiny=(150, 8, 3, 3, share), small=(2_000, 40, 10, 3, share),
        full=(20_000, 100, 10, 3, share),
        goal=10,
    )(softmax)  # fmt: skip
