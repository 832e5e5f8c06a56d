"""What every place that holds rows offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ..layout import Rows
from ..typing import AnyArray, Array, Ints


class Shuffle(NamedTuple):
    """One of the random orders that a seed stands for, or several one after another."""

    seed: int
    number: int
    passes: int = 1


class Block(NamedTuple):
    """Some rows, and where they stand in the whole."""

    X: Rows
    y: AnyArray
    weight: Array | None
    start: int
    order: Ints | None = None
    """Rows of the block to visit, in this order; None: all, as they stand."""


class Source(ABC):
    """Rows, labels and weights: in memory, in files, on a cluster.

    For two classes ``y`` is -1.0 or +1.0, the larger class +1.
    """

    n_features: int
    classes: AnyArray

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows whose weight is not zero: the others are as if absent."""

    @property
    @abstractmethod
    def weight_sum(self) -> float:
        """Sum of the weights of all rows."""

    def typical_row(self) -> Array | None:
        """Values near the means, (d,); None for zeros, near which sparse rows are."""
        return None

    @abstractmethod
    def blocks(self, shuffle: Shuffle | None = None) -> Iterator[Block]:
        """For solvers that go row by row: as they stand, or in a random order."""

    @abstractmethod
    def total(self, part: Callable[[Block], tuple[Any, ...]]) -> tuple[Any, ...]:
        """For batch solvers: the sum of ``part(block)`` over all blocks, entry by entry.

        Block boundaries and the order of summation do not depend on the number of threads.
        """

    def sample(self, size: int) -> Source:
        """About so many random rows, the same ones each time; all of them will do too."""
        return self
