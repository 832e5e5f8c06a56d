"""What every place that holds rows offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import numpy as np

from ..loops import BlockSum, EpochResult
from ..losses import MarginLoss
from ..numeric.rows import Rows, take_rows
from ..numeric.threads import running_sum
from ..numeric.types import AnyArray, Array, Ints

T = TypeVar("T", bound=tuple[Any, ...])
T_co = TypeVar("T_co", bound=tuple[Any, ...], covariant=True)
Storage = Literal["dense", "csr"]


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

    @property
    def weights(self) -> Array:
        """The weight of every row, 1 where none are given."""
        return np.ones(len(self.y)) if self.weight is None else self.weight

    @property
    def at(self) -> slice:
        """Where its rows stand in arrays of all rows."""
        return slice(self.start, self.start + len(self.y))


def check_numbers(y: AnyArray, classes: int) -> None:
    """That labels of more than two classes are numbers of classes.

    They index weights: one out of range would read and write elsewhere. Sources check their rows
    once, for a loop may be called for every few of them.
    """
    if classes <= 2 or not len(y):
        return
    # Negative ones are the largest of all without a sign.
    if y.dtype != np.int64 or y.view(np.uint64).max() >= classes:
        raise ValueError(
            f"y must hold the numbers of {classes} classes, int64 from 0 to {classes - 1}, got "
            f"{y.dtype} from {y.min()} to {y.max()}"
        )


class Sum(ABC, Generic[T_co]):
    """What is asked of a source: some numbers and arrays, each a sum over all rows.

    A frozen dataclass of what it needs to know, which can be pickled and sent to where the rows
    are. It is pure: it writes into nothing but what it returns, and that is its own. Entries of
    the tuples are numbers, arrays, or lists, which add up to the list of all.

    A source may know a faster way for a sum by its type; for every other there is ``of``. One
    with a ``size`` can be made by a compiled loop that goes from block to block by itself.
    """

    @abstractmethod
    def of(self, block: Block) -> T_co:
        """Of one block, none of whose rows has to be there."""

    @property
    def size(self) -> int | None:
        """How many numbers a block comes to, if a compiled loop can go from block to block."""
        return None

    def add_blocks(self, rows: Block, blocks: BlockSum) -> None:
        """Only with a size: of those blocks of the rows that no other thread has taken."""
        raise NotImplementedError(f"{self!r} has no compiled loop of its own")

    def unpack(self, total: Array) -> T_co:
        """Only with a size: the sum of all blocks as ``of`` gives it."""
        raise NotImplementedError(f"{self!r} has no compiled loop of its own")


@dataclass(frozen=True)
class _Function(Sum[T]):
    function: Callable[[Block], T]

    def of(self, block: Block) -> T:
        return self.function(block)


def as_sum(sum: Sum[T] | Callable[[Block], T]) -> Sum[T]:
    """A bridge for functions of a block."""
    return sum if isinstance(sum, Sum) else _Function(sum)


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

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the rows."""
        return np.dtype(np.float64)

    @property
    def row_bytes(self) -> float:
        """Bytes of a row, on average."""
        return 8.0 * self.n_features

    @property
    def storage(self) -> Storage:
        """How the rows of its blocks are stored."""
        return "dense"

    def approximate_mean(self) -> Array | None:
        """Values near the means, (d,); None for zeros, near which sparse rows are."""
        return None

    @abstractmethod
    def blocks(self, shuffle: Shuffle | None = None) -> Iterator[Block]:
        """For solvers that go row by row: as they stand, or in a random order."""

    def total(self, sum: Sum[T] | Callable[[Block], T]) -> T:
        """The sum over all rows, entry by entry: for batch solvers.

        Here alone rows are summed and threads run. Block boundaries and the order of summation
        do not depend on the number of threads.
        """
        sum = as_sum(sum)
        return running_sum(sum.of(block) for block in self.blocks())

    @property
    def threads(self) -> int:
        """How many threads may work on its rows."""
        return 1

    def batches(self, size: int) -> Iterator[Block]:
        """All rows, so many at a time, for work that threads share otherwise than by blocks."""
        for X, y, weight, _, order in self.blocks():
            rows = np.arange(len(y)) if order is None else order
            for start in range(0, len(rows), size):
                at = rows[start : start + size]
                some = None if weight is None else weight[at]
                yield Block(take_rows(X, at), y[at], some, start)

    def sample(self, size: int) -> Source:
        """About so many random rows, the same ones each time; all of them will do too."""
        return self


class InMemory(Source):
    """Rows that are all there: numbers can be kept beside each, and any of them asked for."""

    y: AnyArray
    weight: Array | None

    @property
    def present(self) -> Ints | None:
        """Rows whose weight is not zero; None if that is all of them."""
        if self.weight is None or np.all(self.weight != 0.0):
            return None
        return np.flatnonzero(self.weight)

    @property
    def weights(self) -> Array:
        """The weight of every row, 1 where none are given."""
        return np.ones(len(self.y)) if self.weight is None else self.weight

    @abstractmethod
    def scores(self, W: Array, out: Array | None = None) -> Array:
        """(X, 1) W', of every row for weights (k, d + 1): (n, k)."""

    @abstractmethod
    def transpose_product(self, C: Array) -> Array:
        """C' (X, 1) for coefficients (n, k): (k, d + 1)."""

    @abstractmethod
    def take(self, rows: Ints) -> InMemory:
        """Some rows in the order given, with their labels and weights: copied."""

    @abstractmethod
    def with_weight(self, weight: Array | None) -> InMemory:
        """The same rows and labels with other weights."""

    @abstractmethod
    def with_labels(self, y: AnyArray, classes: AnyArray) -> InMemory:
        """The same rows and weights with other labels."""

    @abstractmethod
    def row_norms(self, squared: bool = False) -> Array:
        """|x| of every row, or its square: (n,)."""

    @abstractmethod
    def gram(self, rows: Ints | None = None) -> Array:
        """All products of two rows, X X', or of those given: (n, n)."""

    @abstractmethod
    def coordinate_epoch(
        self,
        loss: MarginLoss,
        alpha: Array,
        w: Array,
        order: Ints,
        *,
        inv_weight_sum: float,
        row_norm2: Array,
        inv_2l2: float,
        bias_inv_penalty: float,
        shrink_margin: float = np.inf,
    ) -> EpochResult:
        """One pass of dual coordinate ascent over the rows of ``order``.

        Writes ``alpha``, ``w`` and ``order``: see :func:`separatrix.loops.coordinate_epoch`.
        """
