"""What each mechanism gains: the same fits with it and without it, in turn, in one process.

``python -m benchmarks.ablation [pattern ...]`` prints, for every mechanism and every work that it
can concern, the median over rounds of the time without it over the time with it. Patterns are of
mechanisms or of works. What gains less than 1.15 on every work is not worth its lines;
``docs/tuning.md`` has the figures.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, load_iris

from separatrix import LinearClassifier, LinearClassifierCV, Perceptron
from separatrix.solvers.dual import proximal_point

from . import data
from .contest import Ratio, rest

ROUNDS = 5
LONG = 30.0  # seconds: a run without a mechanism that takes longer is not repeated
MANY = 100_000  # passes

Run = Callable[[], Any]
Make = Callable[[Callable[[int], int]], Run]  # from the number of rows at full size to that used


@dataclass(frozen=True)
class Mechanism:
    """A name, what to put in whose place to be without it, and the works that may notice."""

    name: str
    without: tuple[tuple[str, Any], ...]  # "module:attribute" or "module:Class.attribute"
    works: Sequence[str]


def never(*_: Any, **__: Any) -> bool:
    return False


def nothing(*_: Any, **__: Any) -> None:
    return None


def infinite(*_: Any, **__: Any) -> float:
    return np.inf


def proximal_point_first(_: Any) -> str:
    return proximal_point.PHASE


def owner(place: str) -> tuple[Any, str]:
    """The module or class that has the attribute, and its name."""
    module, _, path = place.partition(":")
    where: Any = import_module(f"separatrix.{module}")
    *classes, name = path.split(".")
    for each in classes:
        where = getattr(where, each)
    return where, name


@contextmanager
def without(mechanism: Mechanism) -> Iterator[None]:
    places = [(*owner(place), value) for place, value in mechanism.without]
    before = [vars(where)[name] for where, name, _ in places]
    try:
        for where, name, value in places:
            setattr(where, name, value)
        yield
    finally:
        for (where, name, _), value in zip(places, before, strict=True):
            setattr(where, name, value)


# ---- works -----------------------------------------------------------------------------------


def fit(
    rows: Callable[[int], int], make: Callable[..., data.Table], shape: tuple[int, ...],
    loss: str, l2: float, bits: int = 64, intercept: bool = True,
) -> Run:  # fmt: skip
    X, y = make(rows(shape[0]), *shape[1:])
    X = X.astype(f"f{bits // 8}", copy=False)
    model = LinearClassifier(loss, l2=l2, fit_intercept=intercept, tol=1e-6, random_state=0)
    return lambda: model.fit(X, y)


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


def digits(_: Callable[[int], int], l2: float, loss: str = "logistic") -> Run:
    X, y = load_digits(return_X_y=True)
    model = LinearClassifier(loss, l2=l2, tol=1e-6)
    return lambda: model.fit(X / 16.0, y)


def folds(rows: Callable[[int], int], n: int, d: int, loss: str = "logistic") -> Run:
    X, y = data.clouds(rows(n), d)
    model = LinearClassifierCV(loss, l2s=np.geomspace(1e-1, 1e-7, 20), cv=5, tol=1e-4)
    return lambda: model.fit(X, y)


def left_out(rows: Callable[[int], int], n: int, d: int, length: int) -> Run:
    X, y = data.text(rows(n), d, length)
    model = LinearClassifierCV("squared", l2s=[1e-3], cv="loo")
    return lambda: model.fit(X, y)


def works() -> dict[str, Make]:
    tall, wide, text = (500_000, 100), (20_000, 2_000), (40_000, 20_000, 60)
    tables = {"correlated": data.correlated, "independent": data.clouds}
    found: dict[str, Make] = {}
    for name, make in tables.items():
        for form, shape in (("tall", tall), ("wide", wide)):
            for bits, suffix in ((32, "-32"), (64, "")):
                found[f"logistic-{name}-{form}{suffix}"] = partial(
                    fit, make=make, shape=shape, loss="logistic", l2=1e-5, bits=bits
                )
    long_text = (200_000, 47_000, 90)
    wide_text, images = (3_000, 30_000, 80), (60_000, 784, 10)
    of_text = partial(fit, make=data.text)
    return found | {
        "squared_hinge-independent-tall-32": partial(
            fit, make=data.clouds, shape=tall, loss="squared_hinge", l2=1e-5, bits=32
        ),
        "softmax": partial(fit, make=data.images, shape=images, loss="logistic", l2=1e-4),
        "softmax-small": partial(
            fit, make=data.images, shape=(4_000, 196, 10), loss="logistic", l2=1e-4
        ),
        "softmax-images-weak": partial(
            fit, make=data.images, shape=(20_000, 196, 10), loss="logistic", l2=1e-7
        ),
        "softmax-digits": partial(digits, l2=1e-4),
        "softmax-digits-weak": partial(digits, l2=1e-8),
        "squared_hinge-digits": partial(digits, l2=1e-4, loss="squared_hinge"),
        "squared_hinge-digits-weak": partial(digits, l2=1e-8, loss="squared_hinge"),
        "logistic-sparse": partial(
            of_text, shape=long_text, loss="logistic", l2=2.5e-6, intercept=False
        ),
        "hinge-sparse": partial(
            of_text, shape=long_text, loss="hinge", l2=2.5e-6, intercept=False
        ),
        "logistic-text": partial(
            of_text, shape=text, loss="logistic", l2=1e-5, intercept=False
        ),
        "logistic-wide-text": partial(of_text, shape=wide_text, loss="logistic", l2=1e-5),
        "squared_hinge-text": partial(
            of_text, shape=text, loss="squared_hinge", l2=1e-5, intercept=False
        ),
        "hinge-text": partial(of_text, shape=text, loss="hinge", l2=1e-5),
        "hinge-wide-text": partial(of_text, shape=wide_text, loss="hinge", l2=1e-5),
        "hinge-wide": partial(
            fit, make=data.clouds, shape=(2_000, 1_000), loss="hinge", l2=1e-5
        ),
        "squared_hinge-wide": partial(
            fit, make=data.clouds, shape=(2_000, 1_000), loss="squared_hinge", l2=1e-5
        ),
        "hinge-wide-correlated": partial(
            fit, make=data.correlated, shape=(3_000, 1_500), loss="hinge", l2=1e-5
        ),
        "squared_hinge-wide-correlated": partial(
            fit, make=data.correlated, shape=(3_000, 1_500), loss="squared_hinge", l2=1e-5
        ),
        "squared-tall": partial(fit, make=data.clouds, shape=tall, loss="squared", l2=1e-5),
        "squared-correlated": partial(
            fit, make=data.correlated, shape=(50_000, 100), loss="squared", l2=1e-5
        ),
        "logistic-small": partial(
            fit, make=data.clouds, shape=(500, 10), loss="logistic", l2=1e-5
        ),
        "logistic-small-correlated": partial(
            fit, make=data.correlated, shape=(500, 20), loss="logistic", l2=1e-6
        ),
        "passes-tall-32": partial(passes, make=data.clouds, shape=tall, bits=32),
        "passes-tall-64": partial(passes, make=data.clouds, shape=tall),
        "passes-wide-64": partial(passes, make=data.clouds, shape=(50_000, 1_000)),
        "passes-sparse": partial(passes, make=data.text, shape=long_text),
        "passes-iris": partial(toy, load=load_iris, calls=20),
        "passes-digits": partial(toy, load=load_digits, calls=1),
        "clean-pass-64": partial(
            passes, make=data.separable, shape=(500_000, 100, 0.06), count=MANY
        ),
        "clean-pass-32": partial(
            passes, make=data.separable, shape=(500_000, 100, 0.06), bits=32, count=MANY
        ),
        "clean-pass-4-classes": partial(
            passes, make=classes_apart, shape=(200_000, 20, 4, 0.3), count=MANY
        ),
        "cross-validation": partial(folds, n=100_000, d=50),
        "cross-validation-small": partial(folds, n=5_000, d=20),
        "cross-validation-wide": partial(folds, n=200, d=5_000),
        "cross-validation-wide-hinge": partial(folds, n=62, d=2_000, loss="hinge"),
        "cross-validation-wide-squared": partial(folds, n=62, d=2_000, loss="squared"),
        "cross-validation-wide-squared_hinge": partial(
            folds, n=200, d=5_000, loss="squared_hinge"
        ),
        "leave-one-out-text": partial(left_out, n=3_000, d=20_000, length=80),
    }  # fmt: skip


WORKS = works()

# ---- mechanisms ------------------------------------------------------------------------------

MECHANISMS = (
    Mechanism("float32 phase of L-BFGS", (("solvers.lbfgs:FLOAT32_BYTES", np.inf),),
              ("logistic-*-32", "squared_hinge-independent-tall-32", "softmax")),
    Mechanism("preconditioner from a sampled Hessian", (("solvers.lbfgs:hessian_cost", infinite),),
              ("logistic-correlated-*", "logistic-independent-tall-32", "softmax*")),
    Mechanism("start on a sample", (("solvers.lbfgs:SMALL_SAMPLE", 0.0),),
              ("logistic-*-tall*", "squared_hinge-independent-tall-32", "softmax")),
    Mechanism("Hessian of every class", (("solvers.lbfgs:MOST_PER_CLASS", 0),),
              ("squared_hinge-digits*",)),
    Mechanism("auto: coordinate ascent for sparse rows",
              (("solvers.auto:_suits_coordinate_ascent", never),),
              ("logistic-sparse", "logistic-text", "logistic-wide-text", "squared_hinge-text")),
    Mechanism("auto: interior point at kinks", (("solvers.auto:_suits_interior_point", never),),
              ("squared_hinge-wide*",)),
    Mechanism("auto: Newton where small", (("solvers.auto:SMALL_TABLE", 0),), ("logistic-small*",)),
    Mechanism("auto: closed form", (("solvers.auto:_suits_least_squares", never),),
              ("squared-tall", "squared-correlated")),
    Mechanism("interior point for few rows", (("solvers.dual_ascent:suits_interior_point", never),),
              ("hinge-wide", "hinge-wide-correlated")),
    Mechanism("coordinate ascent of the hinge",
              (("solvers.dual_ascent:first_phase", proximal_point_first),),
              ("hinge-wide-text",)),
    Mechanism("subspace steps and free variables",
              (("solvers.dual.coordinate_ascent:IDENTIFIED", 0.0),),
              ("hinge-sparse", "hinge-text", "hinge-wide-text")),
    Mechanism("shrinking", (("solvers.dual.epochs:CAREFUL", np.inf),),
              ("hinge-sparse", "hinge-text")),
    Mechanism("own Gram loop", (("objective.standardization:OWN_GRAM_FEATURES", 0),),
              ("squared-tall", "cross-validation")),
    Mechanism("Gram in tiles", (("objective.sums:GRAM_TILE", 10**9),),
              ("logistic-correlated-wide", "softmax")),
    Mechanism("screening", (("solvers.online:OnlineRun._begin_screening", nothing),),
              ("passes-*", "clean-pass*")),
    Mechanism("passes ahead", (("solvers.online:MOST_AHEAD", 1),),
              ("passes-iris", "passes-digits")),
    Mechanism("folds together", (("estimators.cv.folds:Folds.applies", property(never)),),
              ("cross-validation", "cross-validation-small")),
    Mechanism("folds of wide rows by coordinates",
              (("estimators.cv.row_space:suits_folds", never),), ("cross-validation-wide*",)),
    Mechanism("inverses for few penalties", (("estimators.cv.press:FEW_PENALTIES", 0),),
              ("leave-one-out-text",)),
)  # fmt: skip


def seconds(run: Run) -> float:
    rest()
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def compare(mechanism: Mechanism, run: Run, rounds: int) -> tuple[float, Ratio]:
    """Median time with it, and the ratio of without to with."""
    used, spared = [], []
    for _ in range(rounds):
        used.append(seconds(run))
        with without(mechanism):
            spared.append(seconds(run))
        if spared[-1] > LONG:
            break
    return float(np.median(used)), Ratio.of(spared, used)


def pairs(patterns: Sequence[str]) -> Iterator[tuple[str, list[Mechanism]]]:
    """Each work, with the mechanisms that are asked for."""
    for work in WORKS:
        asked = [
            each
            for each in MECHANISMS
            if any(fnmatch(work, mask) for mask in each.works)
            and (not patterns or any(fnmatch(name, mask) for name in (work, each.name)
                                     for mask in patterns))
        ]  # fmt: skip
        if asked:
            yield work, asked


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser("python -m benchmarks.ablation", description=__doc__)
    parser.add_argument("patterns", nargs="*")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--share", type=float, default=1.0, help="of the rows (for a look)")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")  # of fits that end at max_iter without their mechanism
    for work, mechanisms in pairs(options.patterns):
        run = WORKS[work](lambda n: max(40, int(options.share * n)))
        run()
        for each in mechanisms:
            used, ratio = compare(each, run, options.rounds)
            print(
                f"{each.name:40} {work:32} {used:9.4f} s  without {ratio.median:6.2f} x "
                f"[{ratio.low:.2f}, {ratio.high:.2f}]",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
