"""Sums of signed rows without any rounding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data import Block, Sum
from ..numeric.types import AnyArray, Array, Ints
from ..rows import host_rows_of
from .signed_blocks import CHUNK, SignedRowEncoding
from .signed_rows import SignedRows


def exact_sum(rows: SignedRows, ids: Ints | None = None) -> AnyArray:
    """Sum of all signed rows, or of some, in whole numbers of ``2**-1074``: exact."""
    (total,) = rows.source.total(ExactSum(rows.encoding, None if ids is None else np.sort(ids)))
    return total


@dataclass(frozen=True)
class ExactSum(Sum[tuple[AnyArray]]):
    """The sum of all signed rows, or of selected ones, in Python's integers."""

    encoding: SignedRowEncoding
    chosen: Ints | None  # numbers of signed rows, in ascending order

    def of(self, block: Block) -> tuple[AnyArray]:
        encoding = self.encoding
        rows, k = host_rows_of(block.X), encoding.stacked
        n, d = rows.shape
        coefficients = encoding.coefficients(block, self._taken(block, n, d, k))
        total = np.zeros((k, d + encoding.intercept), object)
        total += 0
        for start in range(0, n, CHUNK):
            x = rows.part(start, start + CHUNK).as_scipy().tocoo()
            entry, column = x.coords
            for c in range(k):
                sizes = coefficients[start : start + CHUNK, c]
                _add_exactly(total[c], column, x.data.astype(np.float64), sizes[entry])
                if encoding.intercept:
                    total[c, -1] += int(sizes.sum()) << 1074
        return (total.ravel(),)

    def _taken(self, block: Block, n: int, d: int, k: int) -> AnyArray:
        """Which signed rows of a block are summed, (n, k)."""
        if self.chosen is None:
            zero = np.zeros((k, d + self.encoding.intercept))
            return np.isfinite(self.encoding.margins(block, zero)).reshape(n, k)
        taken = np.zeros((n, k), bool)
        first, last = np.searchsorted(self.chosen, [block.start * k, (block.start + n) * k])
        taken.ravel()[self.chosen[first:last] - block.start * k] = True
        return taken


def _add_exactly(total: AnyArray, column: AnyArray, values: Array, factor: Array) -> None:
    """Add factor * value to the columns; exact, as few small whole numbers are summed at once."""
    fraction, power = np.frexp(values)
    mantissa = np.ldexp(fraction, 53).astype(np.int64)
    some = (mantissa != 0) & (factor != 0.0)
    if not some.any():
        return
    mantissa, power, column, factor = mantissa[some], power[some], column[some], factor[some]
    keys, place = np.unique(np.stack([column, power]), axis=1, return_inverse=True)
    for half in (0, 27):
        piece = (mantissa >> half) if half else (mantissa & ((1 << 27) - 1))
        sums = np.bincount(place.ravel(), weights=piece * factor)
        for at, exponent, value in zip(keys[0], keys[1], sums, strict=True):
            shift = int(exponent) - 53 + half + 1074
            whole = int(value)
            total[at] += whole << shift if shift >= 0 else whole >> -shift
