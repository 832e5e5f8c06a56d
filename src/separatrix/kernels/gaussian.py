"""A pass of the perceptron in the dual, block by block, for the Gaussian kernel of dense rows.

Rows are visited a block at a time against the kernel of the block with itself. After a block, its
mistakes are known, and the changes they cause are added to the scores of all rows: many kernel rows
are computed at once, none needlessly, and most are never stored. As kernel values have the same
bits however they are computed, and every score receives its changes in the order of the mistakes,
the result equals that of visiting row after row, whatever the blocks, the threads and the cache.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import scipy.sparse as sp

from ..loops.kernel import (
    PANEL,
    Changes,
    KernelPerceptronPass,
    ShiftedRows,
    gaussian_scan,
    gaussian_update,
)
from ..numeric.threads import equal_parts, n_threads, ordered_sum
from ..numeric.types import Ints
from .cache import KernelCache
from .functions import Gaussian, Kernel, Matrix
from .thresholds import WORTH_A_THREAD

LEAST_ROWS, MOST_ROWS = 64, 256  # rows of a block
SHARE = 16  # a block has at most 1 / 16 of the rows, so its own kernel costs little


class GaussianPasses:
    """Passes over rows with a Gaussian kernel.

    A row that is a mistake for the second time is likely to be one again: its kernel row is kept.
    """

    def __init__(self, rows: KernelCache, dense: ShiftedRows, gamma: float) -> None:
        self.rows, self.dense, self.gamma = rows, dense, gamma
        self.n = len(dense.rows)
        self.width = int(np.clip(self.n // SHARE, LEAST_ROWS, MOST_ROWS))
        self.seen = np.zeros(self.n, dtype=np.bool_)
        self.threads = n_threads(None)

    @classmethod
    def of(cls, rows: KernelCache) -> GaussianPasses | None:
        """Return None for other kernels, or if the rows are sparse."""
        kernel, dense = rows.kernel, rows.reference.dense
        if not isinstance(kernel, Gaussian) or dense is None:
            return None
        return cls(rows, dense, kernel.gamma)

    def visit(self, run: KernelPerceptronPass) -> None:
        while not run.ended:
            log = gaussian_scan(run, self.dense, self.gamma, self.rows.bias, self.width)
            if len(log):
                self._update(run, log)

    def _update(self, run: KernelPerceptronPass, log: Ints) -> None:
        changes = self._changes(run, log)
        kept = self.rows.lines
        update = partial(self._update_part, changes, run)
        values = self.n * int(len(log) - changes.ready.sum())
        threads = self.threads if values >= WORTH_A_THREAD else 1
        ordered_sum(update, equal_parts(-(-self.n // PANEL), threads), threads)
        stored = changes.slots >= 0
        kept.slot[changes.rows[stored]] = changes.slots[stored]
        self.seen[changes.rows] = True

    def _update_part(self, changes: Changes, run: KernelPerceptronPass, part: slice) -> tuple[()]:
        values, scores = self.rows.lines.values, run.state.scores
        gaussian_update(self.dense, self.gamma, self.rows.bias, changes, values, scores, part)
        return ()

    def _changes(self, run: KernelPerceptronPass, log: Ints) -> Changes:
        rows, sizes = log[:, 1].copy(), run.sizes(log)
        if run.y.dtype == np.float64:
            columns = np.stack([np.zeros_like(rows), np.full_like(rows, -1)], axis=1)
            factors = np.stack([run.y[rows] * sizes, np.zeros_like(sizes)], axis=1)
        else:
            columns = np.stack([run.y[rows], log[:, 2]], axis=1)
            factors = np.stack([sizes, -sizes], axis=1)
        kept = self.rows.lines
        slots = kept.slot[rows]
        ready = slots >= 0
        now = run.visits + run.position
        kept.last_used[slots[ready]] = now
        again = np.flatnonzero(self.seen[rows] & ~ready)[: self.rows.capacity - ready.sum()]
        if len(again):
            slots[again] = self.rows.free_slots(rows[again])
            kept.last_used[slots[again]] = now
        return Changes(rows, columns, factors, slots, ready.astype(np.int64))


def goes_by_blocks(kernel: Kernel, rows: Matrix, budget: int | None) -> bool:
    """Whether passes compute many kernel rows at a time, so that caching them hardly pays off."""
    return isinstance(kernel, Gaussian) and not sp.issparse(rows) and budget is None
