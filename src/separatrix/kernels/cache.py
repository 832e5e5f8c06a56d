"""Rows of the training kernel matrix, computed on demand; the most recently used are kept."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..loops.kernel import CacheLines
from ..numeric.types import Array, Ints
from .functions import Kernel, Matrix

CACHED_BYTES = 2 << 20  # rows that fit the processor's cache need not be read once for many
MOST_BLOCK_BYTES = 64 << 20  # maximum size of a block of kernel rows
WORTH_A_CALL = 16_000  # kernel values that cost as much as the call that computes them


class KernelCache:
    """Rows of the training kernel matrix; the most recently used are kept.

    Rows are computed in blocks: the needed row and those that may be needed soon. Every block given
    to BLAS has the same number of rows, padded if necessary: with one shape a row has the same bits
    in any block, so that a result does not depend on the cache.
    """

    def __init__(self, kernel: Kernel, rows: Matrix, bias: float, cache_bytes: float) -> None:
        n = rows.shape[0]
        self.kernel, self.rows, self.bias = kernel, rows, bias
        self.reference = kernel.prepare(rows)
        if self.reference.dense is not None:
            self.block = int(np.clip(WORTH_A_CALL // n, 8, 32))
        else:
            self.block = 8 if rows.size * 8 <= CACHED_BYTES or 32 * 8 * n > MOST_BLOCK_BYTES else 32
        self.capacity = max(1, min(n, int(cache_bytes // (8 * n))))
        self.lines = CacheLines(
            np.empty((self.capacity, n)),  # pages that are never used cost nothing
            np.full(n, -1),
            np.zeros(self.capacity, dtype=np.int64),
        )
        self._row_in_slot = np.full(self.capacity, -1)  # the row in each slot
        self._filled = 0
        self._pending: dict[int, int] = {}  # slots of rows that are not finished
        self.computed = 0
        """Rows computed so far, some of them twice if the cache was too small."""

    def row(self, number: int, likely: Callable[[], Ints]) -> Array:
        """K(x_number, x_j) + bias for all j, a view that is valid until the next call.

        ``likely`` is called only if the row is not cached, and returns rows that may be needed
        soon.
        """
        if self.lines.slot[number] < 0 and number not in self._pending:
            self._compute(number, likely())
        if number in self._pending:
            slot = self._pending.pop(number)
            self.kernel.apply_elementwise(self.lines.values[slot])
            self._ready(number, slot)
        slot = int(self.lines.slot[number])
        self.lines.last_used[slot] = self.lines.last_used.max() + 1
        row: Array = self.lines.values[slot]
        return row

    def _ready(self, number: int, slot: int) -> None:
        if self.bias:
            self.lines.values[slot] += self.bias
        self.lines.slot[number] = slot

    def _compute(self, number: int, likely: Ints) -> None:
        absent = likely[(self.lines.slot[likely] < 0) & (likely != number)].tolist()
        others = [j for j in dict.fromkeys(absent) if j not in self._pending]
        wanted = [number, *others[: min(self.block, self.capacity) - 1]]
        filled = np.array(wanted)
        if self.reference.dense is None:
            filled = np.concatenate([filled, np.full(self.block - len(wanted), number)])
        slots = self.free_slots(filled[: len(wanted)])
        self.kernel.compute_into(self.rows[filled], self.reference, self.lines.values, slots)
        self.lines.last_used[slots] = self.lines.last_used.max() + 1
        for row, slot in zip(wanted, slots.tolist(), strict=True):
            if self.kernel.two_steps:
                self._pending[row] = slot
            else:
                self._ready(row, slot)
        self.computed += len(wanted)

    def free_slots(self, rows: Ints) -> Ints:
        """Slots for these rows: unused slots first, then the least recently used."""
        free = np.arange(self._filled, min(self._filled + len(rows), self.capacity))
        self._filled += len(free)
        if len(free) < len(rows):
            used = self.lines.last_used.copy()
            used[free] = np.iinfo(np.int64).max
            oldest = np.argsort(used, kind="stable")[: len(rows) - len(free)]
            for row in self._row_in_slot[oldest].tolist():
                self._pending.pop(row, None)
            self.lines.slot[self._row_in_slot[oldest]] = -1
            free = np.concatenate([free, oldest])
        self._row_in_slot[free] = rows
        return free
