"""The signed rows of a block, and the selection of some of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data import Block
from ..numeric.types import AnyArray, Array, Ints

CHUNK = 2048  # rows at a time, if something is stored for each of their entries


@dataclass(frozen=True)
class SignedRowEncoding:
    """How the rows of a block are converted to signed rows."""

    n_classes: int
    pair: tuple[int, int] | None = None  # only these two classes of many, the second as +1
    intercept: bool = True  # whether a 1 is appended to every row

    @property
    def stacked(self) -> int:
        """Number of stacked weight vectors: k, or 1 for two classes."""
        return 1 if self.pair or self.n_classes == 2 else self.n_classes

    def full(self, W: Array) -> Array:
        """Weights (k, d + 1), bias last: 0 if there is none."""
        if self.intercept:
            return W
        return np.column_stack([W, np.zeros((len(W), 1), W.dtype)])

    def signs(self, block: Block) -> Array:
        """Two classes: -1 or +1 for each row, 0 for an ignored one."""
        if self.pair is None:
            signs = block.y.astype(np.float64)
        else:
            signs = (block.y == self.pair[1]) * 1.0 - (block.y == self.pair[0])
        return np.where(_counted(block), signs, 0.0)

    def present(self, block: Block) -> AnyArray:
        return self.signs(block) != 0.0 if self.stacked == 1 else _counted(block)

    def numbers(self, block: Block) -> Ints:
        two = self.pair is None and self.stacked == 1
        return (block.y > 0).astype(np.int64) if two else block.y

    def margins(self, block: Block, W: Array) -> Array:
        """``z.W`` of every signed row of a block, infinity where there is none."""
        scores = block.rows.scores(self.full(W))
        if self.stacked == 1:
            signs = self.signs(block)
            with np.errstate(invalid="ignore"):
                return np.where(signs == 0.0, np.inf, scores[:, 0] * signs)
        own = np.take_along_axis(scores, block.y[:, None], axis=1)
        margins: Array = own - scores
        np.put_along_axis(margins, block.y[:, None], np.inf, axis=1)
        margins[~_counted(block)] = np.inf
        return margins.ravel()

    def compensated_margins(self, block: Block, W: Array, correction: Array) -> Array:
        """``z.(W + correction)``, from sums of twice the working precision."""
        k = len(W)
        high, low = block.rows.compensated_scores(self.full(np.vstack([W, correction])))
        low = low[:, :k] + high[:, k:]
        high = high[:, :k]
        if self.stacked == 1:
            signs = self.signs(block)
            return np.where(signs == 0.0, np.inf, (high + low)[:, 0] * signs)
        own = block.y[:, None]
        first, less = (np.take_along_axis(part, own, axis=1) for part in (high, low))
        difference = first - high
        part = first - difference
        lost = (first - (difference + part)) + (part - high)
        margins: Array = difference + (lost + (less - low))
        np.put_along_axis(margins, own, np.inf, axis=1)
        margins[~_counted(block)] = np.inf
        return margins.ravel()

    def coefficients(self, block: Block, chosen: AnyArray) -> Array:
        """The factor of every (x, 1) for each class in the sum of some signed rows, (n, k)."""
        if self.stacked == 1:
            return np.ascontiguousarray(chosen * self.signs(block)[:, None])
        coefficients = -chosen.astype(np.float64)
        np.put_along_axis(coefficients, block.y[:, None], chosen.sum(axis=1)[:, None], axis=1)
        return coefficients


def _counted(block: Block) -> AnyArray:
    """Which rows of a block count: rows of weight 0 are ignored."""
    return np.ones(len(block.y), bool) if block.weight is None else block.weight != 0.0


@dataclass(frozen=True)
class MarginSelection:
    """Rows by their margin: at most a bound, and at most a share of the size of its terms."""

    W: Array
    at_most: float
    of_terms: float | None = None
    size: Array | None = None
    at_least: float = -np.inf
    correction: Array | None = None
    """Added to W; margins are then summed to twice the working precision."""

    def among(self, block: Block, encoding: SignedRowEncoding) -> tuple[Ints, Array]:
        """Positions of the selected rows among the margins of a block, and these margins."""
        if self.correction is None:
            margins = encoding.margins(block, self.W)
        else:
            margins = encoding.compensated_margins(block, self.W, self.correction)
        at = np.flatnonzero(~(margins > self.at_most) & (margins != np.inf))
        if self.of_terms is None or self.size is None or len(at) == 0:
            return at, margins[at]
        bounds = np.empty(len(at))
        for start in range(0, len(at), CHUNK):
            some = at[start : start + CHUNK]
            rows, rivals = np.divmod(some, encoding.stacked)
            terms = block.rows.take(rows).absolute().scores(encoding.full(self.size))
            bound = terms[:, 0]
            if encoding.stacked > 1:
                here = np.arange(len(some))
                bound = terms[here, block.y[rows]] + terms[here, rivals]
            bounds[start : start + CHUNK] = bound
        # Below the smallest float rounding is absolute.
        at = at[~(margins[at] > np.maximum(self.of_terms * bounds, self.at_least))]
        return at, margins[at]
