"""Predictions of a fitted kernel perceptron: scores, or votes, as sums over its supports."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ..data import InMemory, Source
from ..data.validation import check_scores
from ..kernels import Kernel, Matrix, Precomputed, Reference
from ..kernels.perceptron import KernelPerceptronRun
from ..kernels.votes import Votes
from ..numeric.types import AnyArray, Array, Ints
from ..rows import RowsLike, host_rows_of
from .sources import labels_of
from .thresholds import KERNEL_BLOCK_BYTES, KERNEL_BLOCK_ROWS


def as_matrix(X: RowsLike) -> Matrix:
    """Rows in the format for kernels: CSR, or an array."""
    return host_rows_of(X).as_matrix()


def rows_labels_weights(source: Source) -> tuple[Matrix, AnyArray, Array | None]:
    """Rows, labels and weights of a source in memory."""
    if not isinstance(source, InMemory):
        raise TypeError(
            f"KernelPerceptron compares all pairs of rows and needs them in memory, but "
            f"{type(source).__name__} does not hold them in memory: fit some of them, "
            "fit(source.sample(10_000)), or all of them with Perceptron().fit(source)"
        )
    return as_matrix(source.block().X), labels_of(source), source.weight


@dataclass(frozen=True)
class KernelExpansion:
    """``f(x) = sum_i a_i * (K(x_i, x) + bias)`` over the supports x_i, for every class.

    The coefficients are ``unit * sums / visits``: the sums are exact for whole numbers, so that
    ties are exact. With ``votes``, all weight vectors of the run vote instead.
    """

    kernel: Kernel
    bias: float
    support: Ints
    vectors: Matrix  # the supports; empty if the kernel is precomputed
    sums: Array
    bias_sums: Array
    unit: float
    visits: int
    votes: Votes | None

    @classmethod
    def of(
        cls, run: KernelPerceptronRun, kernel: Kernel, rows: Matrix, keep: str, rule: str
    ) -> KernelExpansion:
        """Create from the last complete pass of a run."""
        ended = run.ended
        kept, visits = ended.coefficients, 1
        if keep == "average" or (keep == "auto" and rule != "no mistakes"):
            # Divide last: sums of whole numbers stay exact until then.
            kept, visits = (ended.sums, ended.visits) if run.budget is None else (ended.best, 1)
        in_use = ended.counts if keep == "voted" else kept
        support = np.flatnonzero(in_use.any(axis=0))
        vectors = np.empty((0, 0)) if isinstance(kernel, Precomputed) else rows[support]
        bias_sums = run.rows.bias * kept.sum(axis=1)
        return cls(
            kernel, run.rows.bias, support, vectors, kept[:, support], bias_sums, run.unit, visits,
            run.votes() if keep == "voted" else None,
        )  # fmt: skip

    def scaled(self, sums: Array) -> Array:
        """The coefficients that these sums of whole numbers represent."""
        return self.unit * sums / self.visits

    def scores(self, rows: Matrix) -> Array:
        """Scores (n, 1) for two classes, else (n, k); computed in blocks."""
        scores = np.empty((rows.shape[0], len(self.sums)))
        per_row = 8 * max(len(self.support), 1)
        size = int(np.clip(KERNEL_BLOCK_BYTES // per_row, 1, KERNEL_BLOCK_ROWS))
        reference = self._reference()
        for start in range(0, rows.shape[0], size):
            at = slice(start, start + size)
            scores[at] = self._block_scores(rows[at], reference)
        return check_scores(scores)

    def of_rows(self, rows: RowsLike) -> Array:
        """The same for rows in the storage of sources."""
        return self.scores(as_matrix(rows).astype(np.float64, copy=False))

    def _reference(self) -> Reference | None:
        """The supports; None if nothing is compared with them."""
        # With step sizes of 0 nothing was learned.
        if isinstance(self.kernel, Precomputed) or not len(self.support):
            return None
        return self.kernel.prepare(self.vectors)

    def _block_scores(self, block: Matrix, reference: Reference | None) -> Array:
        """Scores, or votes, of some rows, in blocks that bound the kernel with all supports."""
        if reference is None:
            block = block[:, self.support]
            values: Array = block.toarray() if sp.issparse(block) else block
        elif self.votes is not None:
            values = self.kernel.between(block, reference)
        if self.votes is None:
            sums = (
                values @ self.sums.T
                if reference is None
                else self.kernel.sums(block, reference, self.sums)
            )
            return self.scaled(sums + self.bias_sums)
        by_support = np.ascontiguousarray(values.T) + self.bias
        places = {row: place for place, row in enumerate(self.support.tolist())}
        return self.votes.count(by_support, places).T
