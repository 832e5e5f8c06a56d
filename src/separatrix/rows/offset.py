"""Rows with an offset: known numbers that are added to their scores.

An offset is a feature whose weight is fixed at 1. It changes the scores, and so the losses, but no
product that is linear in the weights. These are passed on to the rows without the offset.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from ..loops import (
    HingePairs,
    MulticlassEpochResult,
    PassResult,
    RoundResult,
    ScreeningState,
)
from ..losses import MarginLoss
from ..numeric.dot import pair_difference
from ..numeric.standardization import Standardization
from ..numeric.types import AnyArray, Array, Ints
from .base import Rows, Storage
from .given import concatenate_rows, host_rows_of, rows_of
from .host import HostRows
from .visits import Visits

NO_LOW_PART = np.zeros(1)


def with_offset(rows: Rows, offset: Array | None) -> Rows:
    """The rows with this offset (n, k), in place of one that they may have."""
    plain = rows.without_offset
    if offset is None:
        return plain
    return plain.with_own_offset(offset) or OffsetRows(plain, offset)


def widened(rows: Rows, n_features: int) -> Rows:
    """Rows in main memory with more features, all zero, and the same offset."""
    return with_offset(host_rows_of(rows).widened(n_features), rows.offset)


class RowsPlusOffset(Rows):
    """Rows, and numbers (n, k) that are added to their scores."""

    __slots__ = ()
    given: Rows
    _offset: Array

    @property
    def offset(self) -> Array:
        return self._offset

    @property
    def without_offset(self) -> Rows:
        return self.given

    @property
    def visitable(self) -> bool:
        return self.given.visitable

    @property
    def visits(self) -> Visits:
        """Visits to the given rows, with the offset in every score."""
        return OffsetVisits(self.given.visits, self._offset)

    # ---- storage -----------------------------------------------------------------------------

    @property
    def storage(self) -> Storage:
        return self.given.storage

    @property
    def rounding(self) -> float:
        return self.given.rounding

    @property
    def cancelling(self) -> AnyArray | float:
        return self.given.cancelling

    @property
    def stored(self) -> Rows:
        rows = self.given.stored
        return self if rows is self.given else with_offset(rows, self._offset)

    def home(self) -> HostRows:
        """The rows alone: the offset is no value of theirs."""
        return host_rows_of(self.given)

    @property
    def shape(self) -> tuple[int, int]:
        return self.given.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.given.dtype

    @property
    def n_values(self) -> int:
        return self.given.n_values

    @property
    def nbytes(self) -> int:
        return self.given.nbytes + self._offset.nbytes

    @property
    def row_values(self) -> float:
        return self.given.row_values

    @property
    def row_bytes(self) -> float:
        added: int = self._offset.itemsize * self._offset.shape[1]
        return self.given.row_bytes + added

    def part(self, start: int, stop: int) -> Rows:
        return with_offset(self.given.part(start, stop), self._offset[start:stop])

    def take(self, at: Ints) -> Rows:
        return with_offset(self.given.take(at), self._offset[at])

    def take_features(self, at: Ints) -> Rows:
        return with_offset(self.given.take_features(at), self._offset)

    @classmethod
    def concatenated(cls, parts: Sequence[RowsPlusOffset]) -> Rows:
        given = concatenate_rows([part.given.X for part in parts])
        return with_offset(rows_of(given), np.concatenate([part.offset for part in parts]))

    def absolute(self) -> Rows:
        return with_offset(self.given.absolute(), np.abs(self._offset))

    def features_as_dense(self, at: Ints) -> Array:
        return self.given.features_as_dense(at)

    def to_dense(self) -> Array:
        return self.given.to_dense()

    # ---- scores ------------------------------------------------------------------------------

    def scores(self, W: Array, out: Array | None = None) -> Array:
        """``(rows, 1) W'`` plus the offset, also for several models: weights (m * k, d + 1)."""
        found = self.given.scores(W, out)
        found += self._offset_columns(len(W))
        return found

    def compensated_scores(self, W: Array) -> tuple[Array, Array]:
        """The offset is added to twice the working precision, too."""
        high, low = self.given.compensated_scores(W)
        return pair_difference(high, low, -self._offset_columns(len(W)), NO_LOW_PART)

    def _offset_columns(self, columns: int) -> Array:
        """The offset for this number of columns of scores."""
        k = self._offset.shape[1]
        return self._offset if columns == k else np.tile(self._offset, columns // k)

    # ---- products that are linear in the weights ---------------------------------------------

    def transpose_product(self, coefficients: Array, out: Array) -> None:
        self.given.transpose_product(coefficients, out)

    def compensated_transpose_product(self, coefficients: Array) -> tuple[Array, Array]:
        return self.given.compensated_transpose_product(coefficients)

    def mean(self) -> Array:
        return self.given.mean()

    def hessian_product(self, curvature: Array, V: Array, out: Array) -> None:
        self.given.hessian_product(curvature, V, out)

    def squared_norms(self, out: Array | None = None) -> Array:
        return self.given.squared_norms(out)

    def row_products(self) -> Array:
        return self.given.row_products()

    def moments(
        self,
        weight: Array | None,
        group: Ints | None,
        shift: Array | None,
        sum: Array,
        squares: Array,
    ) -> None:
        self.given.moments(weight, group, shift, sum, squares)

    def max_standardised_norm2(self, weight: Array | None, mean: Array, factor: Array) -> float:
        return self.given.max_standardised_norm2(weight, mean, factor)

    def standardized(
        self, standardization: Standardization, dtype: DTypeLike = np.float64
    ) -> Array:
        return self.given.standardized(standardization, dtype)

    def sums_stored_alone(self, standardization: Standardization) -> bool:
        return self.given.sums_stored_alone(standardization)

    def add_gram(self, weight: Array, standardization: Standardization, out: Array) -> None:
        self.given.add_gram(weight, standardization, out)

    def gram(
        self,
        weight: Array,
        standardization: Standardization,
        dtype: DTypeLike = np.float64,
    ) -> Array:
        return self.given.gram(weight, standardization, dtype)


class OffsetRows(RowsPlusOffset):
    """Rows of any storage, and numbers (n, k) that the host adds to their scores."""

    __slots__ = ("_offset", "given")

    def __init__(self, given: Rows, offset: Array) -> None:
        self.given, self._offset = given, offset


class OffsetVisits(Visits):
    """Visits row by row to rows with an offset (n, k)."""

    __slots__ = ("given", "offset")

    def __init__(self, given: Visits, offset: Array) -> None:
        self.given, self.offset = given, offset

    def screening_state(self, k: int) -> ScreeningState | None:
        """None: the bounds by which the perceptron skips rows know no offset."""
        return None

    @property
    def online_pass(self) -> Callable[..., PassResult]:
        return partial(self.given.online_pass, offset=self.offset)

    @property
    def online_rule(self) -> Callable[..., PassResult]:
        """Not offered: the rules take no offset."""
        raise ValueError(
            "online rules take no offset: leave it out, or use Perceptron or LinearClassifier"
        )

    def ascent_round(
        self, y: Array, loss: MarginLoss, alpha: Array, w: Array, active: Ints, **numbers: Any
    ) -> RoundResult:
        own = self.offset[:, 0]  # of two classes, and contiguous
        return self.given.ascent_round(y, loss, alpha, w, active, offset=own, **numbers)

    def multiclass_epoch(
        self, y: Ints, alpha: Array, lines: Array, order: Ints, **numbers: Any
    ) -> MulticlassEpochResult:
        return self.given.multiclass_epoch(y, alpha, lines, order, offset=self.offset, **numbers)

    def interior_points(self, y: Array, share: Array, at: HingePairs, **numbers: Any) -> int:
        """The same: the slacks of the first point contain the offset, which steps do not change."""
        return self.given.interior_points(y, share, at, **numbers)

    def columns(self, features: Ints, means: Array) -> Any:
        return self.given.columns(features, means)
