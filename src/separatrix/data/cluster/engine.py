"""The interface between a source of remote rows and the engine that stores them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, TypeVar

from .parts import Change, PartSum

T = TypeVar("T", bound=tuple[Any, ...])


class Engine(ABC):
    """Numbered parts of the rows on workers: the base class of engines.

    It has three methods: ``place`` stores parts, ``total`` computes one sum over all of them, and
    ``replace_lost`` moves those whose worker is gone. ``changes``, such as the encoding of labels,
    are applied to every part once and in order; a part that is recomputed goes through all of them
    again, and so gets the same bits.
    """

    n_parts: int

    def __init__(self) -> None:
        self.changes: list[Change] = []

    @abstractmethod
    def place(self) -> None:
        """Create the parts on workers: neighbouring ones on the same worker."""

    @abstractmethod
    def total(self, of: PartSum[T]) -> T:
        """The sum over all parts, entry by entry, along one binary tree over their numbers.

        The query is sent once per worker, which returns sums of whole subtrees. So the bits depend
        only on the parts, not on which worker holds them.
        """

    @abstractmethod
    def replace_lost(self) -> None:
        """Assign the parts of lost workers to others."""

    def change(self, change: Change) -> None:
        """Apply a change to every part before the next query."""
        self.changes.append(change)
