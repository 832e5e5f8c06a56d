"""Work that is counted in passes: the perceptron, and one value and gradient."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import Perceptron as TheirPerceptron

import separatrix

from .. import data, machine
from ..contest import OURS, Check, Contest, Contestant, Judge
from ..peers import passers
from ..problem import Plane
from ..registry import workload
from .facts import DTYPES, describe, facts

POINTS = 0.1  # allowed difference of two runs of a perceptron with different shuffling
MANY = 100_000


def perceptron(X: Any, y: Any, passes: int, *only: str) -> Contest:
    """The same number of shuffled passes for all contestants; the last weights are used."""
    numbers = np.searchsorted(np.unique(y), y)

    def error(plane: Plane) -> float:
        return float(np.mean(plane.predict(X) != numbers))

    def checks(made: Mapping[str, Plane]) -> Iterator[Check]:
        errors = {name: error(plane) for name, plane in made.items()}
        lost = errors[OURS] - min(errors.values())
        yield Check(f"our training error within {POINTS} of the best: {lost:.4f}", lost <= POINTS)
        counts = {name: plane.passes for name, plane in made.items() if plane.passes is not None}
        clean = {name for name in counts if errors[name] == 0.0}  # nothing more would change
        right = all(count == passes or name in clean for name, count in counts.items())
        yield Check(f"{passes} passes, or fewer to a clean one: {counts}", right)

    return Contest(
        f"perceptron, {passes} shuffled passes, {describe(X)}",
        passers(X, y, passes, *only),
        Judge("training error", error, within=np.inf),
        facts(X),
        checks,
        {OURS: machine.reader(X, 1)},
        reads=passes,
    )


def passes_dense(n: int, d: int, bits: int) -> Contest:
    X, y = data.clouds(n, d)
    return perceptron(X.astype(DTYPES[bits]), y, 5, "scikit-learn")


for bits, tall, wide in ((32, 6.0, 5.0), (64, 4.0, 2.3)):
    workload(
        f"passes-tall-{bits}",
        tiny=(400, 10, bits), small=(50_000, 100, bits), full=(500_000, 100, bits), goal=tall,
    )(passes_dense)  # fmt: skip
    workload(
        f"passes-wide-{bits}",
        tiny=(90, 50, bits), small=(5_000, 1000, bits), full=(50_000, 1000, bits), goal=wide,
    )(passes_dense)  # fmt: skip


@workload(
    "passes-sparse",
    tiny=(300, 200, 9), small=(20_000, 20_000, 90), full=(200_000, 47_000, 90), goal=2.5,
)  # fmt: skip
def passes_sparse(n: int, d: int, nonzeros: int) -> Contest:
    return perceptron(*data.text(n, d, nonzeros), 5, "scikit-learn")


@workload("passes-everyone", tiny=(200, 5), small=(2_000, 50), full=(20_000, 100))
def passes_everyone(n: int, d: int) -> Contest:
    """Small, for peers that process rows one by one in Python."""
    X, y = data.clouds(n, d)
    return perceptron(X, y, 5)


@workload("passes-iris", goal=3)
def passes_iris() -> Contest:
    X, y = load_iris(return_X_y=True)
    return perceptron(X, y, 20, "scikit-learn")


@workload("passes-digits", goal=4)
def passes_digits() -> Contest:
    X, y = load_digits(return_X_y=True)
    return perceptron(X, y, 20, "scikit-learn")


@workload(
    "clean-pass",
    tiny=(200, 5, 0.1), small=(20_000, 50, 0.05), full=(500_000, 100, 0.06), goal=10,
)  # fmt: skip
def clean_pass(n: int, d: int, gap: float) -> Contest:
    """Rows in order until none is a mistake; scikit-learn makes as many passes."""
    X, y = data.separable(n, d, gap)
    ours = separatrix.Perceptron(MANY, shuffle=False, patience=None, keep="last")
    passes = ours.fit(X, y).n_iter_
    theirs = TheirPerceptron(max_iter=passes, tol=None, shuffle=False)

    def mistakes(plane: Plane) -> float:
        return float(np.sum(y * plane.scores(X)[:, 0] <= 0.0))

    def checks(made: Mapping[str, Plane]) -> Iterator[Check]:
        yield Check(f"we make no mistake after {passes} passes", mistakes(made[OURS]) == 0.0)
        same = np.array_equal(pass_by_pass(X, y, passes), np.append(*made[OURS][:2]))
        yield Check("bit for bit the weights of passes made one by one, every row read", same)

    return Contest(
        f"perceptron to a pass without mistakes ({passes}), {describe(X)}",
        [
            Contestant(OURS, lambda _: ours.fit(X, y), read=Plane.of),
            Contestant("scikit-learn", lambda _: theirs.fit(X, y), read=Plane.of),
        ],
        Judge("mistakes left", mistakes, within=np.inf),
        facts(X),
        checks,
        {OURS: machine.reader(X, 1)},
        reads=passes,
    )


def pass_by_pass(X: Any, y: Any, passes: int) -> Any:
    """The plain loop: each pass is a separate fit."""
    weights = np.zeros(X.shape[1] + 1)
    for _ in range(passes):
        model = separatrix.Perceptron(1, shuffle=False, keep="last", start=weights).fit(X, y)
        weights = np.append(model.coef_, model.intercept_)
    return weights


def gradient(n: int, d: int, bits: int) -> Contest:
    """One value and gradient of the logistic objective, against the time to read the rows."""
    X, y = data.clouds(n, d)
    X, signs = X.astype(DTYPES[bits]), y.astype(np.float64)
    W = np.random.default_rng(2).standard_normal((1, d + 1)) / d**0.5

    def ours(cores: int, name: str) -> Contestant:
        source = separatrix.ArraySource(X, signs, np.array([-1, 1]), n_jobs=cores)
        loss, penalty = separatrix.get_loss("logistic"), separatrix.L2(1e-5)
        objective = separatrix.Objective(loss, penalty, source)
        return Contestant(name, lambda _: objective.value_and_gradient(W).gradient)

    def two_products(rows: Any) -> Any:
        w = W[0, :d].astype(rows.dtype)
        slopes = -signs / (1.0 + np.exp(signs * (rows @ w + W[0, d]))) / n
        return np.append(slopes.astype(rows.dtype) @ rows + 2e-5 * w, slopes.sum())[None, :]

    exact = two_products(X.astype(np.float64))
    names = [OURS] if machine.CORES == 1 else [OURS, f"{OURS} {machine.CORES} threads"]
    cores = dict(zip(names, (1, machine.CORES), strict=False))
    contestants = [ours(number, name) for name, number in cores.items()]
    return Contest(
        f"value and gradient, {describe(X)}",
        [*contestants, Contestant("numpy", lambda _: two_products(X))],
        Judge(
            "relative error of the gradient",
            lambda made: float(np.linalg.norm(made - exact) / np.linalg.norm(exact)),
            within=1e-4,
        ),
        facts(X),
        limits={name: machine.reader(X, number) for name, number in cores.items()},
    )


for bits in (32, 64):
    for n, d, share in ((500_000, 100, 0.7), (50_000, 1000, 0.85), (12_500, 4000, 0.85)):
        workload(
            f"gradient-{d}-{bits}",
            tiny=(20, d, bits), small=(n // 10, d, bits), full=(n, d, bits), share=share,
        )(gradient)  # fmt: skip
