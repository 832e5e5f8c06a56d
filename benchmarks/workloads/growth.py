"""Growth of times with rows, columns, nonzeros and classes: each value is twice the previous
one."""

from __future__ import annotations

from .. import data
from ..contest import Contest
from ..problem import Problem
from ..registry import series
from .fits import to_the_optimum
from .passes import perceptron

PEER = "scikit-learn"


def doubling(first: int, count: int) -> tuple[int, ...]:
    return tuple(first << step for step in range(count))


@series(
    "growth-rows", "rows",
    tiny=(doubling(100, 3), 5), small=(doubling(4_000, 3), 30), full=(doubling(20_000, 4), 100),
)  # fmt: skip
def rows(n: int, d: int) -> Contest:
    return to_the_optimum(Problem(*data.clouds(n, d), "logistic", 1e-5), PEER)


@series(
    "growth-columns", "columns",
    tiny=(doubling(5, 3), 300), small=(doubling(30, 3), 4_000), full=(doubling(50, 4), 20_000),
)  # fmt: skip
def columns(d: int, n: int) -> Contest:
    return to_the_optimum(Problem(*data.clouds(n, d), "logistic", 1e-5), PEER)


@series(
    "growth-nonzeros", "nonzeros",
    tiny=(doubling(5, 3), 300, 60),
    small=(doubling(20, 3), 4_000, 3_000),
    full=(doubling(25, 4), 50_000, 20_000),
)  # fmt: skip
def nonzeros(count: int, n: int, d: int) -> Contest:
    problem = Problem(*data.text(n, d, count), "logistic", 0.5 / n, intercept=False)
    return to_the_optimum(problem, PEER)


@series(
    "growth-classes", "classes",
    tiny=(doubling(3, 3), 100, 10),
    small=(doubling(3, 3), 3_000, 64),
    full=(doubling(4, 4), 20_000, 196),
)  # fmt: skip
def classes(k: int, n: int, pixels: int) -> Contest:
    return to_the_optimum(Problem(*data.images(n, pixels, k), "logistic", 1e-4), PEER)


@series(
    "growth-rows-passes", "rows",
    tiny=(doubling(100, 3), 5), small=(doubling(10_000, 3), 100), full=(doubling(60_000, 4), 100),
)  # fmt: skip
def rows_in_passes(n: int, d: int) -> Contest:
    return perceptron(*data.clouds(n, d), 5, PEER)


@series(
    "growth-columns-passes", "columns",
    tiny=(doubling(5, 3), 300), small=(doubling(50, 3), 10_000), full=(doubling(100, 4), 50_000),
)  # fmt: skip
def columns_in_passes(d: int, n: int) -> Contest:
    return perceptron(*data.clouds(n, d), 5, PEER)
