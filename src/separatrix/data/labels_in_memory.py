"""Labels and weights in memory, rows elsewhere: for solvers that number the rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import loops
from ..losses import MarginLoss
from ..numeric.types import AnyArray, Array, Ints
from .blocks import Block, Shuffle, random_order
from .source import InMemory, Source
from .sum import Sum, T
from .wrapped import WrappedSource


class LabelsInMemory(WrappedSource, InMemory):
    """A source whose labels and weights, one or two numbers a row, are kept in memory.

    Every query of its rows reads all of them, block by block. Taken rows are copied into memory;
    callers should take few. Labels and weights may differ from the source's own.
    """

    def __init__(
        self, source: Source, y: AnyArray, weight: Array | None, classes: AnyArray
    ) -> None:
        super().__init__(source)
        self.y, self.weight, self.classes = y, weight, classes

    @classmethod
    def of(cls, source: Source) -> LabelsInMemory:
        """Read labels and weights of a source once."""
        read = [(block.y.copy(), block.weight, len(block.y)) for block in source.blocks()]
        y = np.concatenate([labels for labels, _, _ in read])
        weight = None
        if any(some is not None for _, some, _ in read):
            weight = np.concatenate(
                [np.ones(count) if some is None else some for _, some, count in read]
            )
        return cls(source, y, weight, source.classes)

    @property
    def n_rows(self) -> int:
        """Number of rows whose weight is not zero."""
        return len(self.y) if self.weight is None else int(np.count_nonzero(self.weight))

    @property
    def weight_sum(self) -> float:
        """Sum of the weights."""
        return float(len(self.y)) if self.weight is None else float(self.weight.sum())

    def blocks(self) -> Iterator[Block]:
        """The blocks of the source, with the labels and weights in memory."""
        for block in self.source.blocks():
            weight = None if self.weight is None else self.weight[block.at]
            yield Block(block.X, self.y[block.at], weight, block.start)

    def total(self, sum: Sum[T]) -> T:
        """The sum over all rows, block by block."""
        return Source.total(self, sum)

    def block(self, at: slice | None = None) -> Block:
        """A slice of the rows, or all, copied into memory."""
        rows = np.arange(len(self.y))[at or slice(None)]
        start = int(rows[0]) if len(rows) else 0
        return self.take(rows).block()._replace(start=start)

    def scores(self, W: Array, out: Array | None = None) -> Array:
        """(X, 1) W', in one read."""
        found = np.empty((len(self.y), len(W))) if out is None else out
        for block in self._filled_blocks():
            block.rows.scores(W, found[block.at])
        return found

    def transpose_product(self, C: Array) -> Array:
        """C' (X, 1), in one read."""
        out = np.zeros((C.shape[1], self.n_features + 1))
        for block in self._filled_blocks():
            block.rows.transpose_product(C[block.at], out)
        return out

    def row_norms(self, squared: bool = False) -> Array:
        """|x| of every row, or its square, in one read."""
        out = np.empty(len(self.y))
        for block in self._filled_blocks():
            block.rows.squared_norms(out[block.at])
        return out if squared else np.sqrt(out)

    def take(self, rows: Ints) -> InMemory:
        """Some rows in the given order, copied in one read."""
        increasing, back = np.unique(rows, return_inverse=True)
        found = Source.take(self, increasing)
        return (
            found
            if len(rows) == len(increasing) and np.all(back[:-1] < back[1:])
            else (found.take(back))
        )

    def with_weight(self, weight: Array | None) -> InMemory:
        """The same rows and labels with other weights."""
        return LabelsInMemory(self.source, self.y, weight, self.classes)

    def with_labels(self, y: AnyArray, classes: AnyArray) -> InMemory:
        """The same rows and weights with other labels."""
        return LabelsInMemory(self.source, y, self.weight, classes)

    def gram(self, rows: Ints | None = None) -> Array:
        """All products of two rows, or of those given, which are taken into memory."""
        return self.take(np.arange(len(self.y)) if rows is None else rows).gram()

    # ---- passes of dual coordinate ascent, block after block ------------------------------

    def _epoch(
        self, loss: MarginLoss, alpha: Array, w: Array, order: Ints, **numbers: Any
    ) -> loops.EpochResult:
        """One epoch in one read: blocks in order, the given order within each block."""
        row_norm2, slope, gap, again = numbers.pop("row_norm2"), 0.0, 0.0, [order[:0]]
        for block, rows in self._in_blocks(order):
            found = block.rows.visits.coordinate_epoch(
                block.y, loss, alpha[block.at], w, rows, weight=block.weight,
                row_norm2=row_norm2[block.at], **numbers,
            )  # fmt: skip
            slope, gap = slope + found.projected_gradient, gap + found.gap
            again.append(rows[: found.n_active] + block.start)
        return loops.EpochResult(_to_the_front(order, again), slope, gap)

    def ascent_round(
        self,
        loss: MarginLoss,
        alpha: Array,
        w: Array,
        active: Ints,
        shuffle: Shuffle,
        group: int,
        **numbers: Any,
    ) -> loops.RoundResult:
        """One read per epoch. Steps in a subspace and repeated rows would need more reads, so they
        are left out.
        """
        limits = {name: numbers.pop(name) for name in ("most_epochs", "enough", "careful", "gap")}
        for helped_by in ("identified", "stands_out", "history"):
            numbers.pop(helped_by)
        margin, gap, rows = numbers.pop("shrink_margin"), limits["gap"], active.copy()
        epochs, visits, reached = 0, 0, False
        share = numbers["inv_weight_sum"] * self.weights
        while epochs < limits["most_epochs"] and not reached:
            drawn = shuffle._replace(number=shuffle.number + epochs)
            order = rows[random_order(len(rows), drawn, self.row_bytes, group)]
            found = self._epoch(loss, alpha, w, order, shrink_margin=margin, **numbers)
            epochs, visits, before, gap = epochs + 1, visits + len(rows), gap, found.gap
            rows = np.sort(order[: found.n_active])
            if loss.attained:
                margin = limits["careful"] * found.projected_gradient / (found.n_active or 1)
            fall = min(1.0, gap / before) if 0.0 < before < np.inf else 1.0
            dual = loops.dual_estimate(loss, alpha, w, share, numbers["inv_2l2"])
            reached = bool(
                gap * min(1.0, loops.SURPRISE * fall) <= limits["enough"] * min(1.0, dual)
            )
        active[: len(rows)] = rows
        return loops.RoundResult(len(rows), epochs, gap, margin, False, reached, 0, visits)

    def multiclass_epoch(
        self, alpha: Array, lines: Array, order: Ints, **numbers: Any
    ) -> loops.MulticlassEpochResult:
        """One epoch for many classes, in one read."""
        row_norm2, violation, gap, again = numbers.pop("row_norm2"), 0.0, 0.0, [order[:0]]
        for block, rows in self._in_blocks(order):
            found = block.rows.visits.multiclass_epoch(
                block.y, alpha[block.at], lines, rows, weight=block.weight,
                row_norm2=row_norm2[block.at], **numbers,
            )  # fmt: skip
            violation, gap = violation + found.violation, gap + found.gap
            again.append(rows[: found.n_active] + block.start)
        return loops.MulticlassEpochResult(_to_the_front(order, again), gap, violation)

    def _in_blocks(self, order: Ints) -> Iterator[tuple[Block, Ints]]:
        """Blocks, and which of their rows to visit, in the given order."""
        places = np.argsort(order)
        sorted_rows = order[places]
        for block in self._filled_blocks():
            ends = np.searchsorted(sorted_rows, [block.at.start, block.at.stop])
            mine = np.sort(places[slice(*ends)])
            if len(mine):
                yield block, order[mine] - block.start


def _to_the_front(order: Ints, again: list[Ints]) -> int:
    """Write the rows to visit again to the front of ``order`` and return their number."""
    rows = np.concatenate(again)
    order[: len(rows)] = rows
    return len(rows)
