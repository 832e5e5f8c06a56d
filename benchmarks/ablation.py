"""Gain of each mechanism: the same fits with and without it, in turn, in one process.

``python -m benchmarks.ablation [pattern ...]`` prints, for every mechanism and every work that it
may affect, the median over rounds of the time without it over the time with it. Patterns match
mechanisms or works. A mechanism that gains less than 1.15 on every work is not worth its code;
``docs/tuning.md`` has the figures.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatch
from importlib import import_module
from typing import Any

import numpy as np

from separatrix.solvers.dual import proximal_point

from .ablation_kinds import Run
from .ablation_works import WORKS
from .contest import Ratio, rest

ROUNDS = 5
LONG = 30.0  # seconds: a run without a mechanism that takes longer is not repeated


@dataclass(frozen=True)
class Mechanism:
    """A name, the replacements that disable it, and the works that it may affect."""

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


# ---- mechanisms ------------------------------------------------------------------------------

MECHANISMS = (
    Mechanism("float32 phase of L-BFGS", (("solvers.lbfgs:FLOAT32_BYTES", np.inf),),
              ("logistic-*-32", "squared_hinge-independent-tall-32", "softmax")),
    Mechanism("preconditioner from a sampled Hessian",
              (("solvers.lbfgs_run:hessian_cost", infinite),),
              ("logistic-correlated-*", "logistic-independent-tall-32", "softmax*")),
    Mechanism("start on a sample", (("solvers.lbfgs_run:SMALL_SAMPLE", 0.0),),
              ("logistic-*-tall*", "squared_hinge-independent-tall-32", "softmax")),
    Mechanism("long runs of a subset not copied", (("data.subset:LONG_RUN", 1 << 60),),
              ("cross-validation*",)),
    Mechanism("samples copied once", (("data.subset:KEPT_SAMPLE", 0.0),),
              ("logistic-correlated-*", "softmax")),
    Mechanism("bound by a sample", (("proofs.sampled_bound:BOUND_SHARE", 0.0),),
              ("softmax-clouds*", "logistic-correlated-*")),
    Mechanism("Hessian of all rows", (("solvers.lbfgs_run:LBFGSRun.cost_of_all", np.inf),),
              ("softmax", "softmax-images-weak", "squared_hinge-images-weak")),
    Mechanism("Hessian of every class", (("solvers.lbfgs_run:MOST_PER_CLASS", 0),),
              ("squared_hinge-digits*",)),
    Mechanism("auto: coordinate ascent for sparse rows",
              (("solvers.auto:_suits_coordinate_ascent", never),),
              ("logistic-sparse", "logistic-text", "logistic-wide-text", "squared_hinge-text")),
    Mechanism("auto: interior point at kinks", (("solvers.auto:_suits_interior_point", never),),
              ("squared_hinge-wide*",)),
    Mechanism("auto: Newton where small", (("solvers.auto:SMALL_TABLE", 0),), ("logistic-small*",)),
    Mechanism("auto: Newton by rows", (("solvers.auto:_suits_row_systems", never),),
              ("logistic-few-rows*",)),
    Mechanism("auto: closed form", (("solvers.auto:_suits_least_squares", never),),
              ("squared-tall", "squared-correlated")),
    Mechanism("interior point for few rows", (("solvers.dual_ascent:suits_interior_point", never),),
              ("hinge-wide", "hinge-wide-correlated")),
    Mechanism("coordinate ascent of the hinge",
              (("solvers.dual_ascent:first_phase", proximal_point_first),),
              ("hinge-wide-text",)),
    Mechanism("coordinate ascent for sparse rows of few features",
              (("solvers.dual_ascent:suits_coordinate_ascent", never),), ("hinge-one-hot",)),
    Mechanism("single alphas of few wide sparse rows",
              (("solvers.thresholds:WIDE_ROWS", np.inf),), ("*-few-wide-text",)),
    Mechanism("subspace steps", (("solvers.dual.epochs:IDENTIFIED", 0.0),),
              ("hinge-sparse", "hinge-wide-text", "squared_hinge-text", "logistic-counts-weak")),
    Mechanism("free variables",
              (("solvers.dual.binary_coordinate_ascent:CoordinateAscentRun._help", nothing),),
              ("hinge-one-hot*", "hinge-text", "hinge-wide-text", "hinge-square-text")),
    Mechanism("as many epochs as a proof is worth",
              (("solvers.dual.binary_coordinate_ascent:PROOF_EPOCHS", 0),),
              ("hinge-one-hot-no-bias",)),
    Mechanism("weights as epochs leave them",
              (("solvers.dual.binary_coordinate_ascent:LITTLE_DRIFT", -1.0),),
              ("*-few-text",)),
    Mechanism("shrinking", (("solvers.dual.epochs:CAREFUL", np.inf),),
              ("hinge-sparse", "hinge-text")),
    Mechanism("own Gram loop", (("rows.dense:OWN_GRAM_FEATURES", 0),),
              ("squared-tall", "cross-validation")),
    Mechanism("Gram of stored values", (("rows.csr:FEW_VALUES", 0.0),),
              ("hinge-one-hot-weak",)),
    Mechanism("Gram in tiles", (("objective.sums:GRAM_TILE", 10**9),),
              ("logistic-correlated-wide", "softmax")),
    Mechanism("screening", (("solvers.online:begin_screening", nothing),),
              ("passes-*", "clean-pass*")),
    Mechanism("passes ahead", (("solvers.online:MOST_AHEAD", 1),),
              ("passes-iris", "passes-digits")),
    Mechanism("blocks on threads", (("data.arrays:BLOCK_BYTES", 1 << 60),),
              ("logistic-independent-tall", "logistic-text-lbfgs", "cross-validation")),
    Mechanism("no more than 64 blocks", (("data.arrays:MOST_BLOCKS", 1 << 30),),
              ("logistic-independent-tall", "logistic-sparse", "logistic-very-wide-text")),
    Mechanism("larger blocks for longer sums", (("data.arrays:BLOCK_ROWS_PER_SUM", 0),),
              ("logistic-text-lbfgs", "logistic-very-wide-text")),
    Mechanism("random orders that nearly read on", (("data.blocks:NEIGHBOURS_BYTES", 0.0),),
              ("passes-tall-*", "passes-sparse", "hinge-sparse")),
    Mechanism("sample by share of rows",
              (("objective.curvature_sample:SAMPLE_SHARE", 0.0),), ("logistic-correlated-tall*",)),
    Mechanism("smaller sample where expensive",
              (("objective.curvature_sample:ENOUGH_ROWS", 1e12),),
              ("logistic-correlated-wide*", "logistic-square*", "softmax*")),
    Mechanism("Hessian not at once if expensive", (("solvers.lbfgs_run:AT_ONCE", np.inf),),
              ("logistic-square*", "logistic-independent-wide*", "softmax*")),
    Mechanism("Hessian at once if cheap", (("solvers.lbfgs_run:AT_ONCE", 0.0),),
              ("logistic-correlated-*", "softmax*")),
    Mechanism("sparse rows filled in", (("solvers.least_squares:FILLED_VALUES", 0),),
              ("squared-text*", "squared-sparse-correlated")),
    Mechanism("step by an eigenvalue", (("solvers.step_bounds:EIGEN_FEATURES", 0),),
              ("minibatch",)),
    Mechanism("slow coordinate ascent handed on",
              (("solvers.thresholds:SLOW_ROUNDS", 1 << 30),
               ("solvers.thresholds:SLOW_ROUNDS_BEFORE_SYSTEMS", 1 << 30)),
              ("hinge-text*", "hinge-square-*", "hinge-classes-weak", "hinge-one-hot-many-weak")),
    Mechanism("coordinate ascent for many classes",
              (("solvers.dual_ascent:first_phase", proximal_point_first),),
              ("hinge-classes*", "hinge-digits*", "hinge-documents")),
    Mechanism("subspace steps for many classes",
              (("solvers.dual.multiclass_coordinate_ascent:CRAWLING", np.inf),),
              ("hinge-images", "hinge-documents-tall")),
    Mechanism("sums over rows as given", (("data.standardized:MOST_DEVIATIONS_OFF", -1.0),),
              ("logistic-blocks*",)),
    Mechanism("dense rows without their zeros", (("data.without_zeros:MOST_NONZERO", -1.0),),
              ("hinge-images", "hinge-classes-tall")),
    Mechanism("rows that hold most of the gap come again",
              (("solvers.dual.epochs:STANDS_OUT", np.inf),),
              ("logistic-text", "logistic-counts*", "hinge-text*", "hinge-one-hot-no-bias")),
    Mechanism("a gap below the one wanted",
              (("solvers.dual.binary_coordinate_ascent:AIM", 1.0),), ("hinge-one-hot-no-bias",)),
    Mechanism("auto: coordinate ascent for many classes",
              (("solvers.auto:_suits_one_vs_rest_ascent", never),),
              ("squared_hinge-documents",)),
    Mechanism("auto: conjugate gradients for the squared loss",
              (("solvers.auto:_suits_products", never),),
              ("squared-documents", "squared-wide")),
    Mechanism("dots left to BLAS", (("numeric.dot:ONE_THREAD_DOT", 0),),
              ("perceptron-and", "logistic-small*", "softmax-digits*")),
    Mechanism("small products without a limit on BLAS", (("numeric.threads:ONE_THREAD_BLAS", 0),),
              ("logistic-small*", "hinge-small", "cross-validation-small*")),
    Mechanism("kernel values on threads", (("kernels.functions:WORTH_A_THREAD", 1 << 60),
                                           ("kernels.gaussian:WORTH_A_THREAD", 1 << 60)),
              ("kernel-*",)),
    Mechanism("kernel rows kept", (("estimators.kernel_parameters:KERNEL_CACHE_MB", 0.0),),
              ("kernel-*",)),
    Mechanism("Newton for wide verdicts", (("separation.thresholds:NEWTON_DIMENSION", 1 << 30),),
              ("verdict-wide*", "verdict-text")),
    Mechanism("wide rows dense", (("separation.thresholds:DENSE_DIMENSION", 0),),
              ("verdict-wide*", "verdict-text")),
    Mechanism("programs in decorrelated coordinates",
              (("separation.thresholds:DECORRELATED_WIDTH", 0),),
              ("verdict-correlated", "verdict-repeated", "verdict-touching", "verdict-tall")),
    Mechanism("wide rows shortened by QR", (("separation.thresholds:QR_VALUES", 0),),
              ("verdict-wide*",)),
    Mechanism("Dantzig before Bland", (("separation.thresholds:DANTZIG_PIVOTS", 0),),
              ("exact-simplex", "verdict-touching")),
    Mechanism("folds together", (("estimators.cv.folds:Folds.applies", property(never)),),
              ("cross-validation", "cross-validation-small")),
    Mechanism("folds of wide rows by coordinates",
              (("estimators.cv.row_space:suits_folds", never),), ("cross-validation-few-rows*",)),
    Mechanism("inverses for few penalties", (("estimators.cv.press:FEW_PENALTIES", 0),),
              ("leave-one-out-text",)),
)  # fmt: skip


def seconds(run: Run) -> float:
    rest()
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def compare(mechanism: Mechanism, run: Run, rounds: int) -> tuple[float, Ratio]:
    """Median time with it, and the ratio of the times without and with it."""
    used, spared = [], []
    for _ in range(rounds):
        used.append(seconds(run))
        with without(mechanism):
            spared.append(seconds(run))
        if spared[-1] > LONG:
            break
    return float(np.median(used)), Ratio.of(spared, used)


def pairs(patterns: Sequence[str]) -> Iterator[tuple[str, list[Mechanism]]]:
    """Yield each work with the requested mechanisms."""
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
