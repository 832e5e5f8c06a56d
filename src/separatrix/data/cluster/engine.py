"""The seam between a source whose rows are elsewhere and the engine that holds them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, TypeVar

from .parts import Change, PartSum

T = TypeVar("T", bound=tuple[Any, ...])


class Engine(ABC):
    """Numbered parts of the rows on workers: another engine is one more class of this kind.

    It has three verbs: ``place`` parts and keep them, ``total`` one sum over all of them, and
    ``replace_lost``, which notices those whose worker is gone. Parts go through ``changes``, such
    as the numbers that labels become, each once and in their order; a part that is made again goes
    through all of them again, and so comes to the same bits.
    """

    n_parts: int

    def __init__(self) -> None:
        self.changes: list[Change] = []

    @abstractmethod
    def place(self) -> None:
        """Make the parts where they are to stay: neighbouring ones on one worker."""

    @abstractmethod
    def total(self, of: PartSum[T]) -> T:
        """The sum over all parts, entry by entry, along one binary tree over their numbers.

        What is asked goes out once per worker; back come sums of whole subtrees. So the bits depend
        on the parts alone, not on who holds which.
        """

    @abstractmethod
    def replace_lost(self) -> None:
        """Let other workers have the parts of those that are gone."""

    def change(self, change: Change) -> None:
        """Let every part go through a change, before it is asked anything more."""
        self.changes.append(change)
