"""Documents, and similar tables: each fit is stopped within a relative 1e-5 of the optimum.

Without intercept, as LIBLINEAR penalises it, and with the strength of its C = 1 unless stated.
"""

from __future__ import annotations

from collections.abc import Callable

from .. import data
from ..contest import Contest
from ..problem import Problem
from ..registry import workload
from .fits import to_the_optimum

WITHIN = 1e-5
TWO = ("hinge", "squared_hinge", "logistic")


def fit(
    table: data.Table, loss: str, C: float = 1.0, rest: bool = False, intercept: bool = False
) -> Contest:
    X, y = table
    problem = Problem(X, y, loss, 0.5 / (C * X.shape[0]), intercept, rest)
    return to_the_optimum(problem, within=WITHIN)


def tf_idf(n: int, d: int, nonzeros: int, k: int, loss: str, rest: bool = False) -> Contest:
    return fit(data.tf_idf_documents(n, d, nonzeros, k), loss, rest=rest)


def counts(n: int, d: int, nonzeros: int, k: int, loss: str) -> Contest:
    """Bags of words: unscaled counts."""
    return fit(data.documents(n, d, nonzeros, k), loss)


TABLES: dict[str, tuple[Callable[..., Contest], tuple[int, int, int], float]] = {
    "text-500": (tf_idf, (500, 6_000, 60), 1.5),
    "text-2000": (tf_idf, (2_000, 12_000, 60), 2.0),
    "text-7000": (counts, (7_000, 21_000, 20), 2.0),
    "text-50000": (tf_idf, (50_000, 60_000, 80), 2.0),
}
for name, (make, (n, d, nonzeros), goal) in TABLES.items():
    for loss in TWO:
        workload(
            f"{name}-{loss.replace('_', '-')}",
            tiny=(200, 60, 9, 2, loss),
            small=(max(500, n // 5), max(6_000, d // 5), nonzeros, 2, loss),
            full=(n, d, nonzeros, 2, loss),
            goal=goal,
        )(make)

FORMS: dict[str, tuple[tuple[str, bool], float]] = {
    "crammer-singer": (("hinge", False), 2.0),
    "rest-squared-hinge": (("squared_hinge", True), 2.0),
    "rest-logistic": (("logistic", True), 2.0),
    "softmax-text": (("logistic", False), 1.0),
}
for k in (8, 20):
    for name, (form, goal) in FORMS.items():
        workload(
            f"{name}-{k}",
            tiny=(200, 60, 9, 3, *form),
            small=(1_500, 6_000, 50, k, *form),
            full=(5_500, 12_000, 50, k, *form),
            goal=goal,
        )(tf_idf)


@workload(
    "squared-text",
    tiny=(200, 60, 9, 3), small=(1_500, 6_000, 50, 8), full=(5_500, 12_000, 50, 8), goal=1,
)  # fmt: skip
def squared(n: int, d: int, nonzeros: int, k: int) -> Contest:
    """With intercept, which RidgeClassifier does not penalise either."""
    return fit(data.tf_idf_documents(n, d, nonzeros, k), "squared", intercept=True)


@workload(
    "crammer-singer-dense",
    tiny=(200, 30, 3), small=(1_000, 100, 10), full=(3_000, 196, 10), goal=2,
)  # fmt: skip
def dense(n: int, pixels: int, k: int) -> Contest:
    return fit(data.images(n, pixels, k), "hinge")


@workload("hinge-one-hot", tiny=(300, 4, 6), small=(5_000, 10, 51), full=(30_000, 10, 51), goal=2)
def one_hot(n: int, features: int, levels: int) -> Contest:
    return fit(data.one_hot(n, features, levels), "hinge", C=0.1)
