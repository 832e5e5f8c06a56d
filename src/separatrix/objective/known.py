"""Facts about the data that an objective caches; they do not depend on the penalty."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..data import Source
from ..numeric.types import Array
from .columns import FeatureColumns
from .moments import Moments
from .sums import LabelMomentSums, MomentSums, OffsetSums


class ClassSums(NamedTuple):
    """A shift, the sums of x - shift and of 1 by class or label, and over all rows the sums of the
    squares of x - shift and of x - shift itself."""

    shift: Array
    sums: Array
    counts: Array
    squares: Array
    total: Array

    @classmethod
    def of(cls, source: Source) -> ClassSums:
        """Compute the sums in one read of the rows, unless the source knows them."""
        known = source.class_moments()
        if known is not None:
            return cls(*known[:3], known.squares.sum(axis=0), known.sums.sum(axis=0))
        shift = source.approximate_mean()
        if shift is not None and not np.isfinite(shift).all():
            shift = np.zeros(source.n_features)
        about = np.zeros(1) if shift is None else shift
        if source.multilabel:
            return cls(about, *source.total(LabelMomentSums(shift)))
        sums, counts, squares = source.total(MomentSums(shift, len(source.classes)))
        return cls(about, sums, counts, squares, sums.sum(axis=0))


class OffsetTotals(NamedTuple):
    """Weighted sums of an offset over rows, (k,): one per column of scores."""

    own: Array  # over the rows of the column's class or label; for two classes of the larger one
    total: Array  # over all rows
    squares: Array  # of squares, over all rows

    @classmethod
    def of(cls, source: Source) -> OffsetTotals:
        """In one read of the rows; zeros if there is no offset."""
        k = len(source.classes)
        columns = 1 if k == 2 and not source.multilabel else k
        if not source.has_offset:
            return cls(*np.zeros((3, columns)))
        return cls(*source.total(OffsetSums(columns)))


class LastRead:
    """Cache of the last evaluation: losses, gradient and columns. Paths start from it.

    A plain class whose defaults cost no call, as ``partial_fit`` makes one for each row.
    """

    weights: Array | None = None
    float32_sums: bool = False
    found: tuple[float, float, Array] = (0.0, 0.0, np.zeros((0, 0)))
    columns: FeatureColumns | None = None

    def is_at(self, W: Array, float32_sums: bool) -> bool:
        """Whether it was computed at these weights, in the same precision."""
        if self.weights is None or self.float32_sums != float32_sums:
            return False
        return bool(np.array_equal(self.weights, W))


@dataclass
class Known:
    """Cached facts about the data that do not depend on the penalty."""

    sums: ClassSums | None = None
    moments: Moments | None = None
    feature_sizes: Array | None = None
    offset_sums: OffsetTotals | None = None
    row_norm2: Array | None = None
    mean_square: float | None = None
    samples: dict[int, Source] = field(default_factory=dict)
    last_read: LastRead = field(default_factory=LastRead)
