"""Copies of rows in main memory, standardised."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import DTypeLike

from ..numeric.lazy import cached_property
from ..numeric.standardization import Standardization
from ..numeric.threads import ordered_sum
from ..numeric.types import AnyArray, Array
from .csr import CsrRows
from .dense import DenseRows
from .host import HostRows
from .thresholds import VALUES_AT_ONCE


@dataclass(frozen=True)
class Standardizer:
    """Copies rows standardised. Sparse rows are not centred: their means must be 0."""

    standardization: Standardization

    @cached_property
    def _tiled(self) -> tuple[Array, Array]:
        """Means and factors repeated for several rows: one long product is much faster."""
        mean, factor = self.standardization.mean, 1.0 / self.standardization.scale[:-1]
        rows = max(1, VALUES_AT_ONCE // max(len(mean), 1))
        return np.tile(mean, rows), np.tile(factor, rows)

    def copied(
        self,
        rows: HostRows,
        weight: Array | None = None,
        threads: int = 1,
        dtype: DTypeLike | None = None,
    ) -> HostRows:
        """Standardise rows, a few at a time, so that they stay in the cache.

        ``dtype`` is the precision of the copy; None: that of the rows. Only rows of weight 0 may
        overflow.
        """
        precision = rows.dtype if dtype is None else dtype
        result: HostRows
        out: AnyArray
        if isinstance(rows, CsrRows):
            factor = 1.0 / self.standardization.scale[:-1]
            given, columns = rows.data[rows.entries], rows.indices[rows.entries]
            out = np.empty(given.shape, precision)
            result = rows.own(out)
            each = VALUES_AT_ONCE

            def multiply(at: slice) -> None:
                np.multiply(given[at], factor[columns[at]], out=out[at], casting="same_kind")

        else:
            out = np.empty(rows.shape, precision)
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
        return result


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
