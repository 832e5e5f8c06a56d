"""Standardised rows: copied once if in memory, else standardised while they are read.

Problem: compute the rows ``z = (x - mean) / scale``. With a free bias, centring does not change the
minimum. Dense rows are centred anyway: online solvers then converge faster, and float32 rounds
less. Sparse rows are not centred, so they stay sparse.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b

import numpy as np

from ..numeric.lazy import cached_property
from ..numeric.standardization import Standardization
from ..numeric.threads import ordered_sum
from ..numeric.types import Array
from ..rows import CsrRows, DenseRows, HostRows, HostRowsLike, host_rows_of
from .arrays import as_arrays
from .blocks import Block
from .class_moments import ClassMoments
from .fingerprint import DIGEST_BYTES
from .source import InMemory, Source
from .sum import Sum, T
from .thresholds import MOST_DEVIATIONS_OFF, VALUES_AT_ONCE
from .wrapped import MappedSource


def standardized(source: Source, standardization: Standardization) -> Source:
    """The same rows standardised: a copy if in memory, else while they are read."""
    if not isinstance(source, InMemory):
        return StandardizedSource(source, standardization)
    given = as_arrays(source)
    X = StandardizedRows(standardization).rows(host_rows_of(given.X), given.weight, given.threads)
    return given.with_rows(X)


class StandardizedSource(MappedSource):
    """Rows that are standardised while they are read."""

    def __init__(self, source: Source, standardization: Standardization) -> None:
        super().__init__(source, StandardizedRows(standardization))
        self.standardization = standardization
        self.validation = source.validation  # not standardised: evaluated with raw weights
        off = np.abs(standardization.mean / standardization.scale[:-1])
        near = bool(np.all(off <= MOST_DEVIATIONS_OFF))
        self._off = off if near else None

    @property
    def far_off(self) -> Array | None:
        """The means in units of the deviations, if raw rows are summed; else None."""
        return self._off

    def total(self, sum: Sum[T]) -> T:
        """Sums raw rows if that is accurate enough, which avoids standardising every row."""
        known = None if self._off is None else sum.of_given(self.standardization)
        if known is None:
            return super().total(sum)
        given, back = known
        return back(self.source.total(given))

    def class_moments(self) -> ClassMoments | None:
        """The moments of the source, standardised."""
        known = self.source.class_moments()
        return None if known is None else known.standardized(self.standardization)

    def fingerprint(self) -> str:
        """A hash of the source's fingerprint and the standardization."""
        whole = blake2b(self.source.fingerprint().encode(), digest_size=DIGEST_BYTES)
        whole.update(self.standardization.mean.tobytes() + self.standardization.scale.tobytes())
        return whole.hexdigest()


@dataclass(frozen=True)
class StandardizedRows:
    """Standardises blocks, in the precision of the rows."""

    standardization: Standardization

    @cached_property
    def _tiled(self) -> tuple[Array, Array]:
        """Means and factors repeated for several rows: one long product is much faster."""
        mean, factor = self.standardization.mean, 1.0 / self.standardization.scale[:-1]
        rows = max(1, VALUES_AT_ONCE // max(len(mean), 1))
        return np.tile(mean, rows), np.tile(factor, rows)

    def __call__(self, block: Block) -> Block:
        """The same block with standardised rows."""
        return block._replace(X=self.rows(host_rows_of(block.X), block.weight))

    def rows(self, rows: HostRows, weight: Array | None = None, threads: int = 1) -> HostRowsLike:
        """Standardise rows, a few at a time, so that they stay in the cache."""
        factor = 1.0 / self.standardization.scale[:-1]
        result: HostRows
        if isinstance(rows, CsrRows):
            given, columns = rows.data[rows.entries], rows.indices[rows.entries]
            out = np.empty_like(given)
            result = rows.own(out)
            each = VALUES_AT_ONCE

            def multiply(at: slice) -> None:
                np.multiply(given[at], factor[columns[at]], out=out[at], casting="same_kind")

        else:
            out = np.empty_like(rows.values, order="C")
            result, d = DenseRows(out), rows.shape[1]
            given, out = rows.values.reshape(-1), out.reshape(-1)
            mean, factor = self._tiled
            each = len(mean) if d else 0

            def multiply(at: slice) -> None:
                n = len(out[at])
                # float32 is rounded once, at the end
                wide = out[at] if out.dtype == np.float64 else np.empty(n)
                np.subtract(given[at], mean[:n], out=wide)
                np.multiply(wide, factor[:n], out=out[at], casting="same_kind")

        parts = [slice(start, start + each) for start in range(0, len(given), max(each, 1))]
        if parts and ordered_sum(partial(_overflows, multiply), parts, threads) != (0,):
            _blank_weightless(result, weight)
        return result.X


def _overflows(compute: Callable[[slice], None], at: slice) -> tuple[int]:
    """Whether something overflowed; the result is computed anyway."""
    try:
        with np.errstate(over="raise"):
            compute(at)
    except FloatingPointError:
        with np.errstate(over="ignore"):
            compute(at)
        return (1,)
    return (0,)


def _blank_weightless(rows: HostRows, weight: Array | None) -> None:
    """Set overflowed values to 0; only rows of weight 0 may overflow."""
    wrong = ~np.isfinite(rows.values)
    at, _ = rows.places(np.flatnonzero(wrong))
    counted = at if weight is None else at[weight[at] != 0.0]
    if len(counted):
        raise ValueError(
            f"row {counted[0]} of a block overflows when standardised: its weight is so small "
            "that the scale ignores it; leave the row out, or give it more weight"
        )
    rows.values[wrong] = 0.0
