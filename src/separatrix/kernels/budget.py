"""A kernel perceptron with a bounded number of supports.

Problem: every mistake adds a support, so that memory and the cost of a score grow with the
mistakes. Input: the most supports, the kernel rows, and the state of a run. Output: that state, one
support less whenever there is one too many.

Algorithm: the support with the smallest part of the weights, ``|a|^2 K(x, x)``, of equal ones the
oldest, leaves. Its part is projected on the most similar remaining support, which costs two more
kernel rows. Removal and projection are those of Z. Wang, K. Crammer and S. Vucetic, Breaking the
curse of kernelization, JMLR 13 (2012); to project instead of to forget is the idea of F. Orabona,
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
    """The supports of a run, of which there are never more than so many."""

    def __init__(self, most: int, cache: KernelCache, state: KernelPerceptronState) -> None:
        self.most, self.cache, self.state = most, cache, state
        self.supports: dict[int, float] = {}  # in the order of their coming, with K(x, x)

    def admit(self, row: int) -> None:
        """A row that was just a mistake is a support; if one too many, another one leaves."""
        self.supports.setdefault(row, float(self.cache.row(row, _nothing_likely)[row]))
        if len(self.supports) > self.most:
            self._evict_support(row)

    def _evict_support(self, newest: int) -> None:
        """The support with the smallest part leaves it to the one most similar to it."""
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
    """No other rows are worth computing along."""
    return np.empty(0, dtype=np.int64)
