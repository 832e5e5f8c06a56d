"""Fits to all folds of a cross-validation together, along a path of penalties.

A fold trains on all rows but those that it leaves out, and so do its sums: where no row is left
out twice, one read of the data, at weights that all folds share, tells J, its gradient and its
second derivative for every fold. So the fit to all rows is followed along the path, and from
there the minimum of a fold, which has most of the rows, is a Newton step away. How much of the
way such a step leaves is seen from those that were followed by a read.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from typing import NamedTuple, cast

import numpy as np

from . import layout, loops
from .data import ArraySource, Block, RowsOf
from .data.pool import one_blas_thread, ordered_sum
from .frame import GRAM_ROWS, Frame
from .losses import Logistic, Loss, Softmax
from .objective import Objective, curvature_at, in_blocks
from .penalties import L2
from .solvers.lbfgs import SAMPLE_PER_FEATURE, SAMPLE_ROWS
from .systems import solve
from .typing import AnyArray, Array, Ints

MOST_UNKNOWNS = 1500  # features, times the square of the classes if there are more than two
BLOCK_VALUES = 1 << 17  # the second derivatives of all folds may take as much as a block of rows
MOST_STEPS, MOST_HALVINGS = 30, 10
MOST_OWN_READS = 3  # of the data, for a fold by itself
DECREASE = 1e-4
SETTLED = 0.1  # of the tolerance: when all rows have no more to gain, a fold is read for alone
CAUTION = 2.0  # what a step leaves may be so many times as much for a fold
# Norms of rows in the frame, squared: of normal ones the longest is 3 times the mean, and more
# only where there are few features.
LONG, FEW_FEATURES = 8.0, 10
TAME = (Logistic, Softmax)  # losses whose third derivative is no larger than the second


class Means(NamedTuple):
    """Mean losses over each fold's rows and, last, over all; with their derivatives."""

    value: Array
    gradient: Array


class Sample(NamedTuple):
    """Random rows of a part in a frame's variables, weighing as much as all of them."""

    Z: Array
    y: AnyArray
    weight: Array

    @classmethod
    def of(cls, part: RowsOf, size: int, frame: Frame) -> Sample:
        """So many of its rows."""
        rows = part.some(size)
        weight = np.ones(len(rows)) if part.source.weight is None else part.source.weight[rows]
        if size:
            weight *= part.weight_sum / (weight.sum() or 1.0)
        return cls(frame.rows(layout.pick(part.source.X, rows)), part.source.y[rows], weight)

    def products(self, weight: Array) -> Array:
        """Z.T diag(weight) Z."""
        if len(weight) and weight.min() < 0.0:
            return (self.Z * weight[:, None]).T @ self.Z
        root = self.Z * np.sqrt(weight)[:, None]  # BLAS computes half of it
        return root.T @ root


Split = tuple[Array, Ints]
"""Weights of the rows that a fold trains on, 0 for those that it leaves out; rows to test on."""


def disjoint(
    objective: Objective, splits: Iterator[Split]
) -> tuple[Folds, list[Ints], Iterator[Split] | None]:
    """Folds that leave out no row twice, the rows that they test, and splits that are not such.

    Each split is looked at when it comes: of many folds the weights would fill the memory.
    """
    source = cast(ArraySource, objective.source)
    weight = np.ones(len(source.y)) if source.weight is None else source.weight
    taken = np.zeros(len(weight), dtype=bool)
    left_out: list[Ints] = []
    tests: list[Ints] = []
    folds = Folds(objective, left_out)
    for kept, test in splits:
        rows = np.flatnonzero(kept != weight)
        if kept[rows].any() or taken[rows].any():
            return folds, tests, chain([(kept, test)], splits)
        taken[rows] = True
        left_out.append(rows)
        tests.append(test)
    return folds, tests, None


@dataclass(frozen=True)
class Folds:
    """An objective on all rows, and the rows that each fold leaves out: none twice."""

    objective: Objective
    left_out: list[Ints]

    @property
    def source(self) -> ArraySource:
        """Rows in memory."""
        source = self.objective.source
        assert isinstance(source, ArraySource)
        return source

    @property
    def cheap(self) -> bool:
        """Whether second derivatives for all folds are cheap, and known not to change fast.

        They come from a sample: so no row outside of it may weigh as much as many others.
        """
        loss, (k, d) = self.objective.loss, self.objective.shape
        room = (len(self.left_out) + 1) * (k * d) ** 2
        enough = max(BLOCK_VALUES, len(self.source.y) * d // 16)
        few = k * k * d <= MOST_UNKNOWNS and room <= enough
        if not (few and type(loss) in TAME):
            return False
        if self._share == 1.0:
            return True
        mean = np.mean(np.concatenate([np.square(s.Z).sum(axis=1) for s in self._samples]))
        return bool(self._longest**2 <= LONG * max(1.0, FEW_FEATURES / d) * mean)

    @cached_property
    def frame(self) -> Frame:
        """Variables of the second derivatives."""
        assert self.objective.moments  # known here, they need not be found again elsewhere
        return self.objective.penalised(0.0).frame

    @cached_property
    def _parts(self) -> list[Objective]:
        """The rows that each fold leaves out and, last, those that none does."""
        owner = np.full(len(self.source.y), len(self.left_out))
        for fold, rows in enumerate(self.left_out):
            owner[rows] = fold
        if self.source.weight is not None:
            owner[self.source.weight == 0.0] = -1
        bare = replace(self.objective, penalty=L2(0.0))
        every = (np.flatnonzero(owner == part) for part in range(len(self.left_out) + 1))
        return [replace(bare, source=RowsOf(self.source, rows)) for rows in every]

    @property
    def _share(self) -> float:
        """Of the rows in the sample."""
        enough = max(SAMPLE_ROWS, SAMPLE_PER_FEATURE * self.source.n_features)
        return min(enough / self.source.n_rows, 1.0)

    @cached_property
    def _samples(self) -> list[Sample]:
        """Random rows of each part, which tell its second derivative."""
        sizes = [math.ceil(self._share * part.source.n_rows) for part in self._parts]
        return [
            Sample.of(cast(RowsOf, part.source), size, self.frame)
            for part, size in zip(self._parts, sizes, strict=True)
        ]

    def means(self, W: Array) -> Means:
        """Of every fold at the same weights, in one read of the data."""
        sources = [cast(RowsOf, part.source) for part in self._parts]
        pieces = [(i, at) for i, source in enumerate(sources) for at in source.pieces]
        add = partial(_piece, sources=sources, loss=self.objective.loss, W=W)
        value, gradient = ordered_sum(add, pieces, self.source.threads)
        if not self.objective.intercept:
            gradient[..., -1] = 0.0
        return Means(self._without_each(value), self._without_each(gradient))

    def hessians(self, W: Array) -> Array:
        """Second derivatives of every fold's mean loss, in the frame."""
        add = partial(_hessian, loss=self.objective.loss, U=self.frame.variables(W))
        with one_blas_thread(self.source.n_rows * W.size**2):
            (parts,) = ordered_sum(add, self._samples, self.source.threads)
        hessians = self._without_each(np.array(parts))
        for hessian in hessians:
            self.objective.fix_biases(hessian)
        return hessians

    @cached_property
    def _longest(self) -> float:
        """The norm of the longest row in the frame's variables: one read."""
        (norms,) = self.source.total(partial(_longest, frame=self.frame))
        return float(max(norms))

    def change_bound(self, step: Array) -> float:
        """By how much a step changes the score of any row, at most."""
        u = self.frame.variables(step)
        return self._longest * float(np.linalg.norm(u)) * (1.0 if len(u) == 1 else math.sqrt(2.0))

    def largest_change(self, step: Array, fold: int) -> float:
        """The same of the rows that a fold trains on, as far as the sample shows it."""
        u = self.frame.variables(step)
        changes = [s.Z @ u.T for i, s in enumerate(self._samples) if i != fold and len(s.y)]
        if len(u) == 1:
            return max(float(np.abs(change).max()) for change in changes)
        return max(float(np.ptp(change, axis=1).max()) for change in changes)  # differences count

    @cached_property
    def _weights(self) -> Array:
        return np.array([part.source.weight_sum for part in self._parts])

    def _without_each(self, sums: Array) -> Array:
        """From sums over parts, the means over all parts but one; in place of the last, of all."""
        total, weight = sums.sum(axis=0), self._weights.copy()
        sums[-1] = weight[-1] = 0.0
        rest: Array = total - sums
        rest /= (self._weights.sum() - weight).reshape(-1, *[1] * (sums.ndim - 1))
        return rest

    def without(self, fold: int) -> Objective:
        """The objective of a fold by itself."""
        source = self.source
        kept = np.ones(len(source.y)) if source.weight is None else source.weight.copy()
        kept[self.left_out[fold]] = 0.0
        rest = ArraySource(source.X, source.y, source.classes, kept, source.n_jobs)
        return replace(self.objective, source=rest)


def _piece(
    piece: tuple[int, slice], sources: list[RowsOf], loss: Loss, W: Array
) -> tuple[Array, Array]:
    """Sums over some rows of a part, beside zeros for the other parts."""
    number, at = piece
    block = sources[number].block(at)
    value, gradient = np.zeros(len(sources)), np.zeros((len(sources), *W.shape))
    value[number], _ = loops.batch_pass(
        block.X, block.y, loss, W, weight=block.weight, gradient=gradient[number]
    )
    return value, gradient


def _longest(block: Block, frame: Frame) -> tuple[list[float]]:
    squares = [0.0]
    for start in range(0, len(block.y), GRAM_ROWS):
        z = frame.rows(layout.part(block.X, start, min(start + GRAM_ROWS, len(block.y))))
        square = np.einsum("ij,ij->i", z, z)
        if block.weight is not None:
            square = square[block.weight[start : start + len(z)] != 0.0]
        squares.append(float(square.max(initial=0.0)))
    return ([math.sqrt(max(squares))],)


def _hessian(sample: Sample, loss: Loss, U: Array) -> tuple[list[Array]]:
    """The second derivative of a part's sum, from its sample."""
    curvature = curvature_at(loss, sample.y, sample.Z @ U.T, sample.weight)
    return ([in_blocks(len(U), U.shape[1], curvature, sample.products)],)


class Fit(NamedTuple):
    """What is found for one penalty."""

    weights: Array
    """For all rows, (k, d + 1)."""
    folds: Array
    """For each fold, (folds, k, d + 1)."""
    near: AnyArray
    """Which folds are believed to be within the tolerance of their minimum."""


class Path:
    """The fits for one penalty after another; neighbours should be near each other.

    ``tol`` is how much lower J may be believed to get, as a share of it.
    """

    def __init__(self, folds: Folds, tol: float) -> None:
        self.folds, self.tol = folds, tol
        self.W = np.zeros(folds.objective.shape)
        self.means, self.hessians = folds.means(self.W), folds.hessians(self.W)
        self.left = 1.0  # of a decrease, after the step that was to bring it

    def fit(self, l2: float) -> Fit | None:
        """The next penalty; None from where on the path cannot be followed."""
        penalty, before = L2(l2), None
        for _ in range(MOST_STEPS):
            value = self.means.value[-1] + penalty.value(self.W)
            step, decrease = self._newton(-1, penalty, self.W, self._gradient(-1, penalty))
            self.left = self.left if before is None else min(decrease / before, 1.0)
            settled = decrease <= SETTLED * self.tol * value
            if CAUTION * self.left * decrease <= self.tol * value:
                fit = self._fit(penalty, alone=settled)
                if settled or fit.near.all():
                    return fit
            if not self._go(step, decrease, value, penalty):
                break
            before = decrease
        return None

    def _fit(self, penalty: L2, alone: bool) -> Fit:
        found = [self._fold(i, penalty, alone) for i in range(len(self.folds.left_out))]
        near = np.array([near for _, near in found])
        return Fit(self.W, np.array([W for W, _ in found]), near)

    def _leaves(self, fold: int, step: Array, left: float, enough: float) -> bool:
        """Whether a fold's step leaves no more of its decrease than a share that is enough.

        ``left`` is what a step before left, with second derivatives of a sample. How they change
        on the way is bounded, as no third derivative is larger than the second: by e^r, if no
        score changes by more than r. Where r is seen on the sample only, this is an estimate; rows
        much longer than others are not left to it (see ``Folds.cheap``).
        """
        changes = (self.folds.change_bound, partial(self.folds.largest_change, fold=fold))
        for change in changes:  # what costs less first
            r = change(step)
            bends = (math.expm1(r) - r) / r * math.exp(0.5 * r) if 0.0 < r < 1.0 else r
            if r < 1.0 and (math.sqrt(CAUTION * left) + bends) ** 2 <= enough:
                return True
        return False

    def _gradient(self, which: int, penalty: L2) -> Array:
        gradient: Array = self.means.gradient[which] + penalty.gradient(self.W)
        return gradient

    def _newton(self, which: int, penalty: L2, W: Array, gradient: Array) -> tuple[Array, float]:
        """A step, and the decrease of J expected from it."""
        frame, hessian = self.folds.frame, self.hessians[which].copy()
        np.einsum("ii->i", hessian)[:] += (penalty.diagonal(W.shape) / frame.scale**2).ravel()
        u = solve(hessian, -frame.gradient(gradient).ravel())
        step = frame.direction(u.reshape(W.shape))
        return step, max(-0.5 * float(np.vdot(gradient, step)), 0.0)

    def _go(self, step: Array, decrease: float, value: float, penalty: L2) -> bool:
        """Move the weights of all rows, as far as J falls; false if it does not."""
        for _ in range(MOST_HALVINGS):
            there = self.W + step
            means = self.folds.means(there)
            if means.value[-1] + penalty.value(there) <= value - 2.0 * DECREASE * decrease:
                self.W, self.means, self.hessians = there, means, self.folds.hessians(there)
                return True
            step, decrease = 0.5 * step, 0.5 * decrease
        return False

    def _fold(self, fold: int, penalty: L2, alone: bool) -> tuple[Array, bool]:
        """Weights of a fold, and whether they are near enough: if not, read for it ``alone``."""
        W, left, own, before = self.W, self.left, None, None
        value, gradient = self.means.value[fold] + penalty.value(W), self._gradient(fold, penalty)
        for _ in range(MOST_OWN_READS):
            step, decrease = self._newton(fold, penalty, W, gradient)
            left = left if before is None else min(decrease / before, 1.0)
            enough = self.tol * value / decrease if decrease > 0.0 else np.inf
            if self._leaves(fold, W + step - self.W, left, enough):
                return W + step, True
            if not alone:
                break
            own = own or self.folds.without(fold).penalised(penalty.strength)
            at = own.value_and_gradient(W + step)
            if not at.value <= value - 2.0 * DECREASE * decrease:
                break
            W, value, gradient, before = W + step, at.value, at.gradient, decrease
        return W, False
