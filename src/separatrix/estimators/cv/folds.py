"""The rows that folds leave out, and sums over the others for all folds in one read."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, pairwise
from typing import NamedTuple, cast

import numpy as np
from scipy.special import chdtri

from ...data import ArraySource, Block, Subset
from ...data.arrays import as_arrays
from ...losses import Joint, Logistic, Loss, MarginLoss, Softmax
from ...numeric.lazy import cached_property
from ...numeric.standardization import Standardization
from ...numeric.threads import one_blas_thread, ordered_sum
from ...numeric.types import Array, Ints
from ...objective import Objective
from ...objective.hessians import hessian_of
from ...penalties import L2
from ...solvers.thresholds import SAMPLE_PER_FEATURE, SAMPLE_ROWS
from .splits import Split
from .sums import MaxNorms
from .thresholds import (
    LONG_ROW,
    LONG_ROW_FEATURES,
    TOGETHER_SHARE,
    TOGETHER_UNKNOWNS,
    TOGETHER_VALUES,
)

SUBSAMPLE = 1 / 4  # of the sample
CHANCE = 1e-5  # that a sample is worse than allowed for: there are many fits
SELF_CONCORDANT = (Logistic, Softmax)  # losses whose third derivative is no larger than the second


class Means(NamedTuple):
    """Mean losses over each fold's rows and, last, over all; with their derivatives."""

    value: Array
    gradient: Array
    hessian: Array
    """In standardised variables, and from the sample."""


class Sample(NamedTuple):
    """Random rows of every part, weighing as much as all of its rows."""

    rows: ArraySource
    parts: list[slice]

    @classmethod
    def of(cls, parts: list[Subset], share: float) -> Sample:
        """Such a share of the rows of each."""
        picked = [part.random_rows(math.ceil(share * len(part.rows))) for part in parts]
        rows, source = np.concatenate(picked), parts[0].source
        weight = source.weights[rows]
        ends = np.cumsum([0, *map(len, picked)]).tolist()
        slices = [slice(*ends) for ends in pairwise(ends)]
        for part, at in zip(parts, slices, strict=True):
            weight[at] *= part.weight_sum / (weight[at].sum() or 1.0)
        return cls(as_arrays(source.take(rows).with_weight(weight)), slices)

    def block(self, part: int) -> Block:
        """The rows of a part."""
        return self.rows.block(self.parts[part])

    def changes(self, loss: Loss, W: Array, steps: Array) -> tuple[Array, Array]:
        """How much steps (m, k, d + 1) change scores at W, and the curvature along them; (m, n)."""
        (k, d), y, weight = W.shape, self.rows.y, self.rows.weights
        scores = self.rows.scores(np.concatenate([W, steps.reshape(-1, d)])).T.copy()
        here, change = scores[:k], scores[k:].reshape(len(steps), k, -1)
        if isinstance(loss, MarginLoss):
            size = np.abs(change[:, 0])
            return size, weight * loss.curvature(y * here[0]) * size * size
        size = np.ptp(change, axis=1)  # differences count
        product = partial(cast(Joint, loss).curvature_product, y, here.T)
        curvature = [np.sum(each * product(each.T).T, axis=0) for each in change]
        return size, weight * np.array(curvature)


def disjoint(objective: Objective, splits: Iterator[Split]) -> tuple[Folds, Iterator[Split] | None]:
    """Folds that leave out no row twice, and splits that are not such.

    Each split is looked at when it comes: of many folds the rows would fill the memory.
    """
    taken = np.zeros(len(objective.in_memory.y), dtype=bool)
    folds = Folds(objective, [])
    for split in splits:
        if split.times is not None or taken[split.left_out].any():
            return folds, chain([split], splits)
        taken[split.left_out] = True
        folds.splits.append(split)
    return folds, None


@dataclass(frozen=True)
class Folds:
    """An objective on all rows, and splits of which none leaves out a row of another."""

    objective: Objective
    splits: list[Split]

    @property
    def source(self) -> ArraySource:
        """Rows in memory."""
        return as_arrays(self.objective.in_memory)

    @property
    def applies(self) -> bool:
        """Whether second derivatives for all folds are cheap, and known not to change fast.

        They come from a sample: so no row outside of it may weigh as much as many others.
        """
        loss, (k, d) = self.objective.loss, self.objective.shape
        room = (len(self.splits) + 1) * (k * d) ** 2
        enough = max(TOGETHER_VALUES, int(TOGETHER_SHARE * len(self.source.y) * d))
        few = k * k * d <= TOGETHER_UNKNOWNS and room <= enough
        if not (few and type(loss) in SELF_CONCORDANT):
            return False
        if self._share == 1.0:
            return True
        each = (
            self._sample.block(part).rows.standardized(self.standardization)
            for part in range(len(self._parts))
        )
        mean = sum(np.einsum("ij,ij->", Z, Z) for Z in each) / len(self._sample.rows.y)
        most = LONG_ROW * max(1.0, LONG_ROW_FEATURES / d) * mean
        return bool(self._max_row_norm**2 <= most)

    @cached_property
    def standardization(self) -> Standardization:
        """Variables of the second derivatives."""
        _ = self.objective.moments  # known here, they need not be found again with another penalty
        return self.objective.with_penalty(L2(0.0)).standardization

    @cached_property
    def _parts(self) -> list[Subset]:
        """The rows that each fold leaves out and, last, those that none does."""
        rest = np.ones(len(self.source.y), dtype=bool)
        if self.source.weight is not None:
            rest &= self.source.weight != 0.0
        for split in self.splits:
            rest[split.left_out] = False
        every = [*(split.left_out for split in self.splits), np.flatnonzero(rest)]
        return [Subset(self.source, rows) for rows in every]

    @property
    def _share(self) -> float:
        """Of the rows in the sample."""
        enough = max(SAMPLE_ROWS, SAMPLE_PER_FEATURE * self.source.n_features)
        return min(enough / self.source.n_rows, 1.0)

    @property
    def noise(self) -> float:
        """What a step by the sample's second derivative may well leave of its decrease."""
        unknowns = math.prod(self.objective.shape)
        most = float(chdtri(unknowns, CHANCE))  # it is as a sum of so many squares
        return most / len(self._sample.rows.y) * (1.0 - self._share)

    @cached_property
    def _sample(self) -> Sample:
        """Random rows of each part, which tell its second derivative."""
        return Sample.of(self._parts, self._share)

    @cached_property
    def _subsample(self) -> Sample:
        """Fewer of them, which tell means over rows, unless the sample is all there is."""
        return (
            self._sample if self._share == 1.0 else Sample.of(self._parts, SUBSAMPLE * self._share)
        )

    def means(self, W: Array) -> Means:
        """Of every fold at the same weights, in one read of the data."""
        parts, loss = self._parts, self.objective.loss
        sample, standardization = self._sample, self.standardization

        def part(piece: tuple[int, slice | None]) -> tuple[Array, Array, list[Array]]:
            """Sums over some rows of a part, beside zeros for the others; or its Hessian."""
            value, gradient = np.zeros(len(parts)), np.zeros((len(parts), *W.shape))
            i, at = piece
            if at is None:
                return value, gradient, [hessian_of(sample.block(i), loss, W, standardization)]
            block = parts[i].block(at)
            value[i], _ = block.rows.value_gradient(block.y, loss, W, block.weight, gradient[i])
            return value, gradient, []

        with one_blas_thread(len(sample.rows.y) * W.size**2):
            # One Hessian at a time, beside sums: many small calls hold each other up.
            tasks = [(i, at) for i, rows in enumerate(parts) for at in (None, *rows.block_slices)]
            value, gradient, hessians = ordered_sum(part, tasks, self.source.threads)
        if not self.objective.intercept:
            gradient[..., -1] = 0.0
        hessian = self._without_each(np.array(hessians))
        for each in hessian:
            self.objective.regularise_biases(each)
        return Means(self._without_each(value), self._without_each(gradient), hessian)

    @cached_property
    def _max_row_norm(self) -> float:
        """The norm of the longest row in standardised variables: one read."""
        mean, scale = self.standardization.mean, self.standardization.scale
        (squares,) = self.source.total(MaxNorms(mean, 1.0 / scale[:-1]))
        return float(np.sqrt(np.max(squares) + scale[-1] ** -2.0))

    def change_bound(self, steps: Array) -> Array:
        """By how much each of some steps changes the score of any row, at most."""
        u = self.standardization.from_weights(steps).reshape(len(steps), -1)
        factor = self._max_row_norm * (1.0 if steps.shape[1] == 1 else math.sqrt(2.0))
        bound: Array = factor * np.linalg.norm(u, axis=1)
        return bound

    def changes(self, W: Array, folds: Ints, steps: Array, penalty: L2) -> tuple[Array, Array]:
        """The same of the rows that a fold trains on, as far as the sample shows it.

        The largest change, and the root of the mean square: rows count by their curvature along the
        way, and so does the penalty, whose own never changes.
        """
        sample = self._subsample
        size, curvature = sample.changes(self.objective.loss, W, steps)
        for i, fold in enumerate(folds.tolist()):
            size[i, sample.parts[fold]] = curvature[i, sample.parts[fold]] = 0.0
        rest = self._weights.sum() - self._weights[folds]
        total = curvature.sum(axis=1) + rest * [2.0 * penalty.value(step) for step in steps]
        square = np.einsum("fi,fi,fi->f", curvature, size, size) / np.where(total > 0.0, total, 1.0)
        return size.max(axis=1), np.sqrt(square)

    @cached_property
    def _weights(self) -> Array:
        return np.array([part.weight_sum for part in self._parts])

    def _without_each(self, sums: Array) -> Array:
        """From sums over parts, the means over all parts but one; in place of the last, of all."""
        total, weight = sums.sum(axis=0), self._weights.copy()
        sums[-1] = weight[-1] = 0.0
        rest: Array = total - sums
        rest /= (self._weights.sum() - weight).reshape(-1, *[1] * (sums.ndim - 1))
        return rest

    def without(self, fold: int) -> Objective:
        """The objective of a fold by itself."""
        return replace(self.objective, source=self.splits[fold].training(self.source))
