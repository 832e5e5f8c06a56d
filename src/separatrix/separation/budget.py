"""Reads of a source, and work on rows that were read: counted, and refused beyond a number."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from ..data import Block, Source, Sum
from ..data.sum import T
from ..data.wrapped import WrappedSource


class OutOfReads(Exception):
    """A question that may read the data no more."""


class ReadBudget:
    """How often a source may still be read."""

    def __init__(self, most: float, n_rows: int) -> None:
        self.left, self.n_rows = most, n_rows

    def read(self) -> None:
        """All rows, once."""
        if self.left < 1:
            raise OutOfReads
        self.left -= 1

    def multiply(self, rows: float) -> None:
        """Products with so many rows that were read before: a share of a read."""
        self.left -= rows / self.n_rows
        if self.left < 0:
            raise OutOfReads


class CountedSource(WrappedSource):
    """A source that may be read so often: every sum over its blocks, and every pass, is a read."""

    def __init__(self, source: Source, budget: ReadBudget) -> None:
        super().__init__(source)
        self.budget = budget

    def blocks(self) -> Iterator[Block]:
        """One read."""
        self.budget.read()
        return self.source.blocks()

    def total(self, sum: Sum[T]) -> T:
        """One read, even where it picks but a few rows."""
        self.budget.read()
        return self.source.total(sum)


class OutOfWork(Exception):
    """A question that is not settled by the work that it may take."""


@dataclass
class _Work:
    left: float
    outer: _Work | None


_work: ContextVar[_Work | None] = ContextVar("_work", default=None)


@contextmanager
def limited_work(units: float) -> Iterator[None]:
    """Raise :class:`OutOfWork` when the questions asked inside take more than this.

    A unit is about a microsecond, but it is counted and not timed: whether a question is settled
    does not depend on the machine. Inside another such limit the work counts for both.
    """
    token = _work.set(_Work(units, _work.get()))
    try:
        yield
    finally:
        _work.reset(token)


def spend(units: float) -> None:
    """Count work that is about to be done; a no-op unless work is limited."""
    work = _work.get()
    spent = False
    while work is not None:
        work.left -= units
        spent = spent or work.left < 0.0
        work = work.outer
    if spent:
        raise OutOfWork


def spend_on_integers(count: int, bits: int) -> None:
    """The same for so many products and quotients of integers of this length."""
    spend(count * (1.0 + (bits / 400.0) ** 2))
