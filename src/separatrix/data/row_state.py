"""Numbers stored for every row from pass to pass."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic, TypeVar

from ..numeric.types import AnyArray
from .blocks import Block

S = TypeVar("S")
R = TypeVar("R")


class RowState(Generic[S]):
    """Numbers stored for every row of a source from pass to pass, one piece per block.

    They live where the rows are, and only ``advance`` writes them.
    """

    def __init__(self, begin: Callable[[Block], S]) -> None:
        self._begin = begin
        self._pieces: dict[int, S] = {}

    def advance(self, block: Block, step: Callable[[S], R]) -> R:
        """Apply a step to the numbers of a block, which it may write; returns its result."""
        if block.start not in self._pieces:
            self._pieces[block.start] = self._begin(block)
        return step(self._pieces[block.start])


RowChange = Callable[[Block, "AnyArray | None"], AnyArray]
"""A picklable, pure function from rows and their numbers (None at first) to the new numbers."""


class RowNumbers(ABC):
    """Numbers stored with remote rows, where the rows are; sums find them by ``name``.

    Only ``advance`` writes them. The caller records the changes, so that a resumed run or
    recomputed rows go through the same changes and get the same bits.
    """

    name: str

    @abstractmethod
    def advance(self, change: RowChange) -> None:
        """Change the numbers of all rows before the next sum."""
