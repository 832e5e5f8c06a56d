"""Sums over the signed rows of a source, each over one block at a time.

Each is a frozen object that can be sent to the rows. Lists are concatenated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data import Block, Sum
from ..numeric.types import Array, Ints
from ..rows import RowsLike, host_rows_of
from .signed_blocks import CHUNK, MarginSelection, SignedRowEncoding


@dataclass(frozen=True)
class Extremes(Sum[tuple[list[Array], list[float], list[Array]]]):
    """Largest absolute value of every entry of (x, 1), largest |(x, 1)|, rows of each class."""

    encoding: SignedRowEncoding

    def of(self, block: Block) -> tuple[list[Array], list[float], list[Array]]:
        """Lists of one entry: the largest of all is taken later."""
        encoding = self.encoding
        present, rows = encoding.present(block), host_rows_of(block.X)
        d = rows.shape[1]
        numbers = encoding.numbers(block)[present]
        counts = np.bincount(numbers, minlength=encoding.n_classes).astype(np.float64)
        largest = np.ones(d + encoding.intercept)
        if rows.storage == "csr":
            X = rows.as_scipy().astype(np.float64)
            if not present.all():
                X = X[np.flatnonzero(present)]
            largest[:d] = abs(X).max(axis=0).toarray().ravel() if X.shape[0] else 0.0
            scale = float(largest.max()) or 1.0
            squares = (X / scale).power(2).sum(axis=1) if X.nnz else np.zeros(1)
        else:
            X = rows.values if present.all() else rows.values[present]
            largest[:d] = np.maximum(X.max(axis=0), -X.min(axis=0)) if len(X) else 0.0
            scale = float(largest.max()) or 1.0
            squares = np.zeros(1)
            for start in range(0, len(X), CHUNK):
                some = X[start : start + CHUNK].astype(np.float64) / scale
                squares = max(squares, np.einsum("ij,ij->i", some, some).max(keepdims=True))
        one = scale**-2 if encoding.intercept else 0.0
        norm = scale * np.sqrt(float(np.max(squares)) + one) if present.any() else 0.0
        return [largest], [float(norm)], [counts]


@dataclass(frozen=True)
class LowMargins(Sum[tuple[list[Ints], list[Array], int]]):
    """Signed rows that a selection chooses, their margins, and their total number.

    At most the ``most`` lowest of each block.
    """

    encoding: SignedRowEncoding
    selection: MarginSelection
    most: int | None = None

    def of(self, block: Block) -> tuple[list[Ints], list[Array], int]:
        """Numbers of signed rows, in no order."""
        ids, margins = self.selection.among(block, self.encoding)
        count = len(ids)
        if self.most is not None and count > self.most:
            lowest = np.argpartition(margins, self.most - 1)[: self.most]
            ids, margins = ids[lowest], margins[lowest]
        return [ids + block.start * self.encoding.stacked], [margins], count


@dataclass(frozen=True)
class StratifiedSample(Sum[tuple[list[Ints]]]):
    """Numbers of random signed rows, a share of the rows of each class."""

    encoding: SignedRowEncoding
    share: Array

    def of(self, block: Block) -> tuple[list[Ints]]:
        """Drawn with the position of the block as the seed."""
        rng = np.random.default_rng(block.start)
        y, k = self.encoding.numbers(block), self.encoding.stacked
        drawn = self.encoding.present(block) & (rng.random(len(y)) < self.share[y])
        rows = np.flatnonzero(drawn) + block.start
        if k == 1:
            return ([rows],)
        rivals = (y[rows - block.start][:, None] + np.arange(1, k)) % k
        return ([(rows[:, None] * k + rivals).ravel()],)


@dataclass(frozen=True)
class Gather(Sum[tuple[list[RowsLike], list[Array]]]):
    """The x of some rows, and their signs, or the numbers of their classes."""

    encoding: SignedRowEncoding
    rows: Ints  # in ascending order

    def of(self, block: Block) -> tuple[list[RowsLike], list[Array]]:
        first, last = np.searchsorted(self.rows, [block.start, block.start + len(block.y)])
        at = self.rows[first:last] - block.start
        signs = self.encoding.signs(block) if self.encoding.stacked == 1 else block.y
        return [block.rows.take(at).X], [signs[at].astype(np.float64)]


@dataclass(frozen=True)
class SelectedSum(Sum[tuple[Array, int]]):
    """The sum of all signed rows, or of those that a selection chooses, and their number."""

    encoding: SignedRowEncoding
    selection: MarginSelection | None

    def of(self, block: Block) -> tuple[Array, int]:
        """Summed in floating point."""
        encoding = self.encoding
        rows, k = block.rows, encoding.stacked
        n, d = rows.shape
        if self.selection is None:
            chosen = np.isfinite(encoding.margins(block, np.zeros((k, d + encoding.intercept))))
        else:
            chosen = np.zeros(n * k, bool)
            chosen[self.selection.among(block, encoding)[0]] = True
        total = np.zeros((k, d + 1))
        coefficients = encoding.coefficients(block, chosen.reshape(n, k))
        rows.transpose_product(coefficients, total)
        return total if encoding.intercept else total[:, :-1], int(chosen.sum())
