"""The rows that folds leave out, and sums over the others for all folds in one pass."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np
from scipy.special import chdtri

from ...data import ArraySource, Block, Subset
from ...data.arrays import as_arrays
from ...losses import Loss
from ...numeric.lazy import cached_property
from ...numeric.standardization import Standardization
from ...numeric.threads import one_blas_thread, ordered_sum
from ...numeric.types import Array, Ints
from ...objective import Objective
from ...objective.hessians import hessian_of
from ...objective.thresholds import SAMPLE_PER_FEATURE, SAMPLE_ROWS
from ...penalties import L2
from .splits import FoldSplit
from .sums import MaxNorms
from .thresholds import (
    LONG_ROW,
    LONG_ROW_FEATURES,
    TOGETHER_SHARE,
    TOGETHER_UNKNOWNS,
    TOGETHER_VALUES,
)

SUBSAMPLE = 1 / 4  # of the sample
CHANCE = 1e-5  # probability that a sample is worse than assumed: there are many fits


class Means(NamedTuple):
    """Mean losses over the rows of each fold and, last, over all; with their derivatives."""

    value: Array
    gradient: Array
    hessian: Array  # in standardised variables, and from the sample


class Sample(NamedTuple):
    """Random rows of every part, weighted to represent all of its rows."""

    rows: ArraySource
    parts: list[slice]

    @classmethod
    def of(cls, parts: list[Subset], share: float) -> Sample:
        """Draw this share of the rows of each part."""
        picked = [part.random_rows(math.ceil(share * len(part.rows))) for part in parts]
        rows, source = np.concatenate(picked), parts[0].source
        weight = np.array(source.weights[rows])
        ends = np.cumsum([0, *map(len, picked)]).tolist()
        slices = [slice(*ends) for ends in pairwise(ends)]
        for part, at in zip(parts, slices, strict=True):
            weight[at] *= part.weight_sum / (weight[at].sum() or 1.0)
        return cls(as_arrays(source.take(rows).with_weight(weight)), slices)

    def block(self, part: int) -> Block:
        """The sampled rows of a part."""
        return self.rows.block(self.parts[part])

    def changes(self, loss: Loss, W: Array, steps: Array) -> tuple[Array, Array]:
        """How much steps (m, k, d + 1) change scores at W, and the curvature along them; (m, n)."""
        (k, d), y, weight = W.shape, self.rows.y, self.rows.weights
        scores = self.rows.scores(np.concatenate([W, steps.reshape(-1, d)])).T.copy()
        here, change = scores[:k], scores[k:].reshape(len(steps), k, -1)
        if k == 1 and loss.column_loss is not None:
            size = np.abs(change[:, 0])
            return size, weight * loss.column_loss.curvature(y * here[0]) * size * size
        size = np.ptp(change, axis=1)  # only differences matter
        product = partial(loss.curvature_product, y, here.T)
        curvature = [np.sum(each * product(each.T).T, axis=0) for each in change]
        return size, weight * np.array(curvature)


def disjoint(
    objective: Objective, splits: Iterator[FoldSplit]
) -> tuple[Folds, Iterator[FoldSplit] | None]:
    """Folds that leave out no row twice; and the splits, if they are not such folds.

    Each split is examined when it is generated: the rows of many folds would fill the memory.
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
    """An objective on all rows, with folds that do not overlap."""

    objective: Objective
    splits: list[FoldSplit]

    @property
    def source(self) -> ArraySource:
        """The rows in memory."""
        return as_arrays(self.objective.in_memory)

    @property
    def applies(self) -> bool:
        """Whether second derivatives for all folds are cheap, and known to change slowly.

        They come from a sample: so no row outside of it may have the influence of many others.
        """
        loss, (k, d) = self.objective.loss, self.objective.shape
        room = (len(self.splits) + 1) * (k * d) ** 2
        enough = max(TOGETHER_VALUES, int(TOGETHER_SHARE * len(self.source.y) * d))
        few = k * k * d <= TOGETHER_UNKNOWNS and room <= enough
        if not (few and loss.log_likelihood):
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
        """The variables of the second derivatives."""
        _ = self.objective.moments  # cached here, so that other penalties need not recompute them
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
        """Share of the rows in the sample."""
        enough = max(SAMPLE_ROWS, SAMPLE_PER_FEATURE * self.source.n_features)
        return min(enough / self.source.n_rows, 1.0)

    @property
    def noise(self) -> float:
        """Share of its decrease that a step by the sample's second derivative may leave."""
        unknowns = math.prod(self.objective.shape)
        most = float(chdtri(unknowns, CHANCE))  # like a sum of this many squares
        return most / len(self._sample.rows.y) * (1.0 - self._share)

    @cached_property
    def _sample(self) -> Sample:
        """Random rows of each part, for its second derivative."""
        return Sample.of(self._parts, self._share)

    @cached_property
    def _subsample(self) -> Sample:
        """A smaller sample for means over rows, unless the sample contains all rows."""
        return (
            self._sample if self._share == 1.0 else Sample.of(self._parts, SUBSAMPLE * self._share)
        )

    def means(self, W: Array) -> Means:
        """Means for every fold at the same weights, in one pass over the data."""
        parts, loss = self._parts, self.objective.loss
        sample, standardization = self._sample, self.standardization

        def part(piece: tuple[int, slice | None]) -> tuple[Array, Array, list[Array]]:
            """Sums over some rows of a part, with zeros for the other parts; or its Hessian."""
            value, gradient = np.zeros(len(parts)), np.zeros((len(parts), *W.shape))
            i, at = piece
            if at is None:
                return value, gradient, [hessian_of(sample.block(i), loss, W, standardization)]
            block = parts[i].block(at)
            value[i], _ = block.rows.value_gradient(block.y, loss, W, block.weight, gradient[i])
            return value, gradient, []

        with one_blas_thread(len(sample.rows.y) * W.size**2):
            # One Hessian at a time, together with sums: many small calls block each other.
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
        """The norm of the longest row in standardised variables: one pass."""
        mean, scale = self.standardization.mean, self.standardization.scale
        (squares,) = self.source.total(MaxNorms(mean, 1.0 / scale[:-1]))
        return float(np.sqrt(np.max(squares) + scale[-1] ** -2.0))

    def change_bound(self, steps: Array) -> Array:
        """Upper bound on the change of any row's score, for each of some steps."""
        u = self.standardization.from_weights(steps).reshape(len(steps), -1)
        factor = self._max_row_norm * (1.0 if steps.shape[1] == 1 else math.sqrt(2.0))
        bound: Array = factor * np.linalg.norm(u, axis=1)
        return bound

    def changes(self, W: Array, folds: Ints, steps: Array, penalty: L2) -> tuple[Array, Array]:
        """Change of the scores of the training rows of a fold, estimated on the sample.

        The largest change, and the root mean square: rows are weighted by their curvature along the
        step, and so is the penalty, whose own curvature never changes.
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
        """From sums over parts, the means over all parts except one; the last entry is over all."""
        total, weight = sums.sum(axis=0), self._weights.copy()
        sums[-1] = weight[-1] = 0.0
        rest: Array = total - sums
        rest /= (self._weights.sum() - weight).reshape(-1, *[1] * (sums.ndim - 1))
        return rest

    def without(self, fold: int) -> Objective:
        """The objective of a single fold."""
        return replace(self.objective, source=self.splits[fold].training(self.source))
