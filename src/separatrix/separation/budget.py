"""Limits on reads of a source, and on work with rows that were read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from ..data import Block, Source, Sum
from ..data.sum import T
from ..data.wrapped import WrappedSource


class OutOfReads(Exception):
    """The limit on reads is reached."""


class ReadBudget:
    """The number of times that a source may still be read."""

    def __init__(self, most: float, n_rows: int) -> None:
        self.left, self.n_rows = most, n_rows

    def read(self, share: float = 1.0) -> None:
        """Count one read of all rows, or of a share of them that is in memory."""
        if self.left < share:
            raise OutOfReads
        self.left -= share

    def multiply(self, rows: float) -> None:
        """Count products with rows that were read before: a share of a read."""
        self.left -= rows / self.n_rows
        if self.left < 0:
            raise OutOfReads


class CountedSource(WrappedSource):
    """A source with a read limit: every sum over its blocks, and every pass, counts as a read.

    If it holds a share of the rows, that share of a read is counted.
    """

    def __init__(self, source: Source, budget: ReadBudget, share: float = 1.0) -> None:
        super().__init__(source)
        self.budget, self.share = budget, share

    def blocks(self) -> Iterator[Block]:
        """Count one read."""
        self.budget.read(self.share)
        return self.source.blocks()

    def total(self, sum: Sum[T]) -> T:
        """Count one read, even if few rows are selected."""
        self.budget.read(self.share)
        return self.source.total(sum)


class OutOfWork(Exception):
    """A question was not decided within its limit of work."""


@dataclass
class _Work:
    left: float
    outer: _Work | None


_work: ContextVar[_Work | None] = ContextVar("_work", default=None)


@contextmanager
def limited_work(units: float) -> Iterator[_Work]:
    """Raise :class:`OutOfWork` when the questions inside take more work than this.

    A unit is about a microsecond, but it is counted and not timed: the result does not depend on
    the machine. Inside another limit the work counts for both.
    """
    work = _Work(units, _work.get())
    token = _work.set(work)
    try:
        yield work
    finally:
        _work.reset(token)


def spend(units: float) -> None:
    """Count work before it is done; without a limit this does nothing."""
    work = _work.get()
    spent = False
    while work is not None:
        work.left -= units
        spent = spent or work.left < 0.0
        work = work.outer
    if spent:
        raise OutOfWork


def spend_on_integers(count: int, bits: int) -> None:
    """Count this many products and quotients of integers of this length."""
    spend(count * (1.0 + (bits / 400.0) ** 2))
