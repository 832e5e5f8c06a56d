"""A kernel perceptron with a bounded number of supports.

Problem: every mistake adds a support, so that memory and the cost of a score grow with the number
of mistakes. Input: the maximum number of supports, the kernel rows, and the state of a run. Output:
that state, with one support removed whenever there is one too many.

Algorithm: the support with the smallest share of the weights, ``|a|^2 K(x, x)`` (the oldest in a
tie), is removed. Its share is projected onto the most similar remaining support, which costs two
more kernel rows. Removal and projection follow Z. Wang, K. Crammer and S. Vucetic, Breaking the
curse of kernelization, JMLR 13 (2012); projecting instead of forgetting is the idea of F. Orabona,
J. Keshet and B. Caputo, Bounded kernel-based online learning, JMLR 10 (2009).
"""

from __future__ import annotations

import numpy as np

from ..loops.kernel import KernelPerceptronState
from ..numeric.tolerances import SAFE_DIVISOR
from ..numeric.types import Ints
from .cache import KernelCache
from .votes import add


class SupportBudget:
    """The supports of a run, at most a given number."""

    def __init__(self, most: int, cache: KernelCache, state: KernelPerceptronState) -> None:
        self.most, self.cache, self.state = most, cache, state
        self.supports: dict[int, float] = {}  # in the order they were added, with K(x, x)

    def admit(self, row: int) -> None:
        """Add the row of a mistake as a support; if there is one too many, remove another."""
        self.supports.setdefault(row, float(self.cache.row(row, _nothing_likely)[row]))
        if len(self.supports) > self.most:
            self._evict_support(row)

    def _evict_support(self, newest: int) -> None:
        """Remove the support with the smallest share and project it onto the most similar one."""
        scores, coefficients = self.state.scores, self.state.coefficients
        rows = np.array([row for row in self.supports if row != newest])
        norms2 = np.array([self.supports[row] for row in rows.tolist()])
        evicted = int(rows[((coefficients[:, rows] ** 2).sum(axis=0) * norms2).argmin()])
        del self.supports[evicted]
        kernel = self.cache.row(evicted, _nothing_likely)
        remaining = np.array(list(self.supports))
        norms2 = np.array(list(self.supports.values()))
        cosines = np.abs(kernel[remaining]) / np.sqrt(np.maximum(norms2, SAFE_DIVISOR))
        nearest = int(remaining[cosines.argmax()])
        projection = float(kernel[nearest] / max(self.supports[nearest], SAFE_DIVISOR))
        part = coefficients[:, evicted].copy()
        columns = np.flatnonzero(part).tolist()
        for column in columns:
            add(scores[column], -part[column], kernel)
        coefficients[:, nearest] += projection * part
        coefficients[:, evicted] = 0.0
        kernel = self.cache.row(nearest, _nothing_likely)
        for column in columns:
            add(scores[column], projection * part[column], kernel)


def _nothing_likely() -> Ints:
    """No other rows are worth computing in the same block."""
    return np.empty(0, dtype=np.int64)
