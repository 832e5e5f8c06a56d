"""Numbers kept beside every row from pass to pass."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic, TypeVar

from ..numeric.types import AnyArray
from .blocks import Block

S = TypeVar("S")
R = TypeVar("R")


class RowState(Generic[S]):
    """Numbers kept beside every row of a source from pass to pass, a piece for each of its blocks.

    They live where the rows are, and ``advance`` alone writes them.
    """

    def __init__(self, begin: Callable[[Block], S]) -> None:
        self._begin = begin
        self._pieces: dict[int, S] = {}

    def advance(self, block: Block, step: Callable[[S], R]) -> R:
        """What a step makes of the numbers of a block, which it may write."""
        if block.start not in self._pieces:
            self._pieces[block.start] = self._begin(block)
        return step(self._pieces[block.start])


RowChange = Callable[[Block, "AnyArray | None"], AnyArray]
"""From rows and the numbers beside them (None at first) to those to keep: picklable, and pure."""


class RowNumbers(ABC):
    """Numbers kept beside every row where the rows are, far away; sums find them by ``name``.

    ``advance`` alone writes them. Whoever asked remembers with what: a run that is taken up again,
    or rows that are made again, go through the same changes and come to the same bits.
    """

    name: str

    @abstractmethod
    def advance(self, change: RowChange) -> None:
        """Let the numbers of all rows be changed before anything more is asked."""
