"""The logistic loss and Firth's penalty at many candidates, in one pass over the rows for all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...data import Block, Sum
from ...numeric.lazy import cached_property
from ...numeric.pairs import PairProducts
from ...numeric.standardization import Standardization
from ...numeric.types import Array
from ...objective.firth import standardized_parts


@dataclass(frozen=True)
class RowsInMetric:
    """A few rows."""

    z: Array
    """Standardised, (n, p)."""
    offset: Array
    """Of the scores, (n, 1), as the next two."""
    y: Array
    weight: Array
    whitening: Array
    """R^-1, (p, p)."""

    @cached_property
    def products(self) -> Array:
        """What ``PairProducts`` needs of ``R'^-1 z``."""
        return PairProducts(len(self.whitening)).of(self.z @ self.whitening)

    def variance(self, U: Array) -> tuple[Array, Array]:
        """``c p (1 - p)`` and ``p - 1/2`` at candidates, (n, m) each."""
        s = self.z @ U.T + self.offset
        odds = np.exp(-np.abs(s))  # of the less probable class
        rare = odds / (1.0 + odds)
        return self.weight * (rare * (1.0 - rare)), np.copysign(0.5 - rare, s)


@dataclass(frozen=True)
class MetricRows:
    """The rows in the metric of an R near those of all candidates.

    The expected information of every candidate is near the identity there, so that no digits are
    lost in its inverse.
    """

    standardization: Standardization
    whitening: Array
    """R^-1, (p, p)."""
    kept: dict[tuple[int, int], list[RowsInMetric]] | None
    """The rows of blocks that were read, by the first and their number; None: none are kept."""

    @property
    def pairs(self) -> PairProducts:
        """How symmetric matrices are kept."""
        return PairProducts(len(self.whitening))

    def of(self, block: Block, candidates: int) -> Iterator[RowsInMetric]:
        """The rows of a block, a few at a time."""
        if self.kept is None:
            yield from self._made(block, candidates)
            return
        at = block.start, len(block.y)
        if at not in self.kept:
            self.kept[at] = list(self._made(block, candidates))
        yield from self.kept[at]

    def _made(self, block: Block, candidates: int) -> Iterator[RowsInMetric]:
        p, pairs = len(self.whitening), self.pairs
        # Products of pairs that are not kept should stay in the cache of a processor.
        paired = pairs.paired and self.kept is None
        width = max(candidates, pairs.width // 4) if paired else candidates
        parts = standardized_parts(block, self.standardization, p, width)
        for z, offset, y, weight in parts:
            yield RowsInMetric(z, offset, y[:, None], weight[:, None], self.whitening)


@dataclass(frozen=True)
class InformationMatrices(Sum[tuple[Array]]):
    """The expected information at candidates in the metric, as sums of ``PairProducts``."""

    rows: MetricRows
    U: Array

    def of(self, block: Block) -> tuple[Array]:
        """In one read of the rows."""
        pairs = self.rows.pairs
        total = np.zeros((len(self.U), pairs.width))
        for rows in self.rows.of(block, len(self.U)):
            pairs.add_grams(rows.products, rows.variance(self.U)[0], total)
        return (total,)


@dataclass(frozen=True)
class PenaltySlopes(Sum[tuple[Array]]):
    """The gradient of ``-log|I| / 2`` at candidates, (m, p)."""

    rows: MetricRows
    U: Array
    inverses: Array
    """Of the information in the metric, as ``PairProducts.forms_of`` returns them."""

    def of(self, block: Block) -> tuple[Array]:
        """In one read of the rows."""
        pairs, total = self.rows.pairs, np.zeros(self.U.shape)
        for rows in self.rows.of(block, len(self.U)):
            variance, excess = rows.variance(self.U)
            variance *= pairs.forms(rows.products, self.inverses)  # hat values
            total += (variance * excess).T @ rows.z
        return (total,)


@dataclass(frozen=True)
class PenaltyBends(Sum[tuple[Array, Array]]):
    """Two sums of the second derivative of ``-log|I| / 2`` where I is the identity in the metric.

    With ``v = c p (1 - p)`` and its derivatives v' and v'' by the score, these are
    ``sum v'' |z~|^2 z z'`` with z~ in the metric, and ``sum v' z_j z~ z~'`` for every variable j.
    """

    rows: MetricRows
    u: Array

    def of(self, block: Block) -> tuple[Array, Array]:
        """(p, p), and (p, width) as sums of ``PairProducts``."""
        pairs, p = self.rows.pairs, len(self.u)
        bent, slopes = np.zeros((p, p)), np.zeros((p, pairs.width))
        identity = pairs.forms_of(np.eye(p)[None])
        for rows in self.rows.of(block, p):
            variance, excess = rows.variance(self.u[None])
            square = pairs.forms(rows.products, identity)
            bent += (rows.z * (variance * (6.0 * excess**2 - 0.5) * square)).T @ rows.z
            pairs.add_grams(rows.products, -2.0 * variance * excess * rows.z, slopes)
        return bent, slopes


@dataclass(frozen=True)
class LogisticLosses(Sum[tuple[Array, Array]]):
    """Logistic losses and their gradients at candidates, (m,) and (m, p).

    ``profile.sums.CandidateSums`` computes them for any loss; these are faster, as rows are kept.
    """

    rows: MetricRows
    U: Array

    def of(self, block: Block) -> tuple[Array, Array]:
        """In one read of the rows."""
        losses, gradient = np.zeros(len(self.U)), np.zeros(self.U.shape)
        for rows in self.rows.of(block, len(self.U)):
            margins = rows.y * (rows.z @ self.U.T + rows.offset)
            odds = np.exp(-np.abs(margins))
            losses += rows.weight[:, 0] @ (np.log1p(odds) + np.maximum(-margins, 0.0))
            wrong = np.where(margins > 0.0, odds, 1.0) / (1.0 + odds)
            gradient -= (rows.weight * rows.y * wrong).T @ rows.z
        return losses, gradient
