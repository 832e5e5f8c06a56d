"""What may be asked of a source: one sum over all its rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypeVar

from ..numeric.standardization import Standardization
from ..numeric.types import AnyArray, Ints
from .blocks import Block

T = TypeVar("T", bound=tuple[Any, ...])
T_co = TypeVar("T_co", bound=tuple[Any, ...], covariant=True)


class Sum(ABC, Generic[T_co]):
    """What is asked of a source: some numbers and arrays, each a sum over all rows.

    A frozen dataclass of what it needs to know, which can be pickled and sent to where the rows
    are. It is pure: it writes into nothing but what it returns, and that is its own. Entries of
    the tuples are numbers, arrays, or lists, which add up to the list of all.

    A sum that is ``by_blocks`` can be made by a compiled loop that goes from block to block by
    itself.
    """

    @abstractmethod
    def of(self, block: Block) -> T_co:
        """Of one block, none of whose rows has to be there."""

    @property
    def by_blocks(self) -> bool:
        """Whether a compiled loop can go from block to block."""
        return False

    def over_blocks(self, rows: Block, edges: Ints, threads: int) -> T_co:
        """Only by blocks: of those between the edges, with the bits of ``of`` each, in order."""
        raise NotImplementedError(f"{self!r} has no compiled loop of its own")

    @property
    def batch_rows(self) -> int | None:
        """Rows at a time, if the sum is so large that threads had better share it than the rows."""
        return None

    def over(self, batches: Iterable[Block], threads: int) -> T_co:
        """Only with ``batch_rows``: of all batches, on so many threads."""
        raise NotImplementedError(f"{self!r} is summed over blocks")

    @property
    def whole_parts(self) -> bool:
        """Whether a part of ``parts`` must not be cut: it is asked of each as one block."""
        return False

    def of_given(
        self, standardization: Standardization
    ) -> tuple[Sum[T_co], Callable[[Any], T_co]] | None:
        """Over standardised rows, by a sum over the rows as given, and what makes one of the other.

        None where only the rows themselves will do.
        """
        return None

    def beside(self, numbers: Mapping[str, AnyArray], start: int) -> Sum[T_co]:
        """The same sum with numbers that are kept with the rows from ``start`` on, by name."""
        return self
