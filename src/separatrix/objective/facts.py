"""Facts about the data of an objective: computed when first needed, then cached.

They do not depend on the penalty, and are shared with the same problem under another one.
"""

from __future__ import annotations

import numpy as np

from ..data import InMemory, Source
from ..numeric.lazy import cached_property
from ..numeric.types import Array, Ints
from .columns import FeatureColumns
from .known import ClassSums, Known, OffsetTotals
from .moments import Moments


class DataFacts:
    """Sums, moments and norms of the rows of a source."""

    source: Source
    intercept: bool
    _known: Known

    @property
    def in_memory(self) -> InMemory:
        """The source, for solvers that store a number for every row."""
        if not isinstance(self.source, InMemory):
            raise TypeError(
                f"the rows must be in memory, got {type(self.source).__name__}: this solver stores "
                "a number for every row; use LBFGS() or GradientDescent()"
            )
        return self.source

    @cached_property
    def class_sums(self) -> Array:
        """Weighted sum of (x, 1) over each class or label, (number of classes, d + 1)."""
        found = self._sums
        return np.column_stack([found.sums + found.counts[:, None] * found.shift, found.counts])

    @cached_property
    def row_sum(self) -> Array:
        """Weighted sum of (x, 1) over all rows, (d + 1,)."""
        if not self.source.multilabel:
            total: Array = self.class_sums.sum(axis=0)
            return total
        C = self.source.weight_sum
        return np.append(self._sums.total + C * self._sums.shift, C)

    @property
    def _sums(self) -> ClassSums:
        if self._known.sums is None:
            self._known.sums = ClassSums.of(self.source)
        return self._known.sums

    def columns(self, features: Ints) -> FeatureColumns:
        """Copies of some features, in increasing order; the last ones are cached."""
        last = self._known.last_read
        if last.columns is None:
            last.columns = FeatureColumns.of(
                self.in_memory, self.moments.mean if self.intercept else None
            )
        last.columns = last.columns.taking(features)
        return last.columns

    @property
    def row_norm2(self) -> Array:
        """``|x|^2`` of every row in memory, cached."""
        if self._known.row_norm2 is None:
            self._known.row_norm2 = self.in_memory.row_norms(squared=True)
        return self._known.row_norm2

    @property
    def mean_square(self) -> float:
        """Weighted mean of ``|x|^2``; infinite if it overflows.

        For sparse rows in memory it is computed from ``|x|^2``: moments would need d numbers.
        """
        if self.source.storage == "csr" and isinstance(self.source, InMemory):
            self.row_norm2  # noqa: B018 (computes and caches it)
        known = self.known_mean_square
        return self._square_of_moments if known is None else known

    @cached_property
    def _square_of_moments(self) -> float:
        """``mean_square`` from the moments; a bound of every pass needs it."""
        try:
            return self.moments.mean_square
        except ValueError:
            return np.inf

    @property
    def known_mean_square(self) -> float | None:
        """``mean_square`` if ``|x|^2`` of every row is cached; else None."""
        known = self._known
        if known.mean_square is None and known.row_norm2 is not None:
            c, norm2 = self.in_memory.weight, known.row_norm2
            square = norm2.sum() if c is None else c @ np.where(c > 0.0, norm2, 0.0)
            known.mean_square = float(square) / self.source.weight_sum
        return known.mean_square

    @property
    def moments(self) -> Moments:
        """Mean and deviation of every feature, cached."""
        if self._known.moments is None:
            self._known.moments = self._moments()
        return self._known.moments

    @property
    def feature_sizes(self) -> Array:
        """Size of every feature in the sums: root mean square and ``Source.cancelling``, cached."""
        if self._known.feature_sizes is None:
            self._known.feature_sizes = np.hypot(*self.moments) + self.source.cancelling
        return self._known.feature_sizes

    @property
    def offset_sums(self) -> OffsetTotals:
        """Weighted sums of the offset, one per column of scores, cached: 0 without an offset."""
        if self._known.offset_sums is None:
            self._known.offset_sums = OffsetTotals.of(self.source)
        return self._known.offset_sums

    @property
    def offset_size(self) -> Array | float:
        """Root mean square of the offset, by column of scores; 0 without one."""
        if not self.source.has_offset:
            return 0.0
        size: Array = np.sqrt(self.offset_sums.squares / self.source.weight_sum)
        return size

    def _moments(self) -> Moments:
        shift, found = self._sums.shift, self._sums
        centre = found.total / self.source.weight_sum
        square = found.squares / self.source.weight_sum
        if not np.all(np.isfinite(square)):
            raise ValueError(
                "the features are too large: the sum of their squares overflows floating point; "
                "scale them, e.g. with sklearn.preprocessing.StandardScaler"
            )
        # If the difference cancels, the feature is constant up to rounding.
        variance = square - centre**2
        deviation = np.sqrt(np.where(variance > 1e-14 * square, variance, 0.0))
        return Moments(shift + centre, deviation)
