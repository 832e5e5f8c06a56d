"""What every place that holds rows offers, and what may be asked of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, TypeVar

import numpy as np

from ..loops import (
    BlockSum,
    EpochOrders,
    MulticlassEpochResult,
    RoundResult,
    ascent_round,
    multiclass_epoch,
)
from ..losses import MarginLoss
from ..numeric.rows import take_rows, to_dense
from ..numeric.standardization import Standardization
from ..numeric.threads import running_sum
from ..numeric.types import AnyArray, Array, Ints
from .blocks import (
    Block,
    Shuffle,
    Visit,
    check_numbers,
    concatenated,
    neighbouring_rows,
    random_order,
    random_rows,
    taken,
)
from .class_moments import FEW_ROWS, ClassMoments
from .fingerprint import fingerprint
from .labels import class_numbers

T = TypeVar("T", bound=tuple[Any, ...])
T_co = TypeVar("T_co", bound=tuple[Any, ...], covariant=True)
S = TypeVar("S")
R = TypeVar("R")
Storage = Literal["dense", "csr"]


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

    def unpack(self, total: Array) -> T_co:
        """Only with a size: the sum of all blocks as ``of`` gives it."""
        raise NotImplementedError(f"{self!r} has no compiled loop of its own")

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


@dataclass(frozen=True)
class _ClassWeightSums(Sum[tuple[Array]]):
    """What the rows of so many classes weigh."""

    classes: int

    def of(self, block: Block) -> tuple[Array]:
        """(classes,)."""
        number = class_numbers(block.y, self.classes)
        return (np.bincount(number, block.weights, self.classes).astype(np.float64),)


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


class Source(ABC):
    """Rows, labels and weights: in memory, in files, on a cluster.

    For two classes ``y`` is -1.0 or +1.0, the larger class +1. Besides ``n_features`` and
    ``classes`` a source has to say how many rows there are, what they weigh, and give its blocks;
    it may know better ways than these for the rest.

    See Also
    --------
    read : makes one of files.
    ArraySource : of arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import ArraySource, Source
    >>> source = ArraySource(np.eye(3), np.array([-1.0, 1.0, 1.0]), np.array(["no", "yes"]))
    >>> isinstance(source, Source), source.n_rows, source.n_features, source.weight_sum
    (True, 3, 3, 3.0)
    """

    n_features: int
    classes: AnyArray
    gathered: ClassVar[Callable[[Block, AnyArray], InMemory]]
    """A source in memory of some rows and all classes: told by the arrays, which stand above."""
    validation: Source | None = None
    """Rows that are held out: a fit tells their loss after every pass."""
    reading: Any = None
    """How rows of files are read, so that a model that is fitted to them can read others."""
    target: str = "y"
    """What errors call its labels."""

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows whose weight is not zero: the others are as if absent."""

    @property
    @abstractmethod
    def weight_sum(self) -> float:
        """Sum of the weights of all rows."""

    @property
    def length(self) -> int:
        """Number of all rows, also of those of weight 0: beyond the largest number of a row."""
        return sum(len(block.y) for block in self.blocks())

    @abstractmethod
    def blocks(self) -> Iterator[Block]:
        """All rows as they stand, the same blocks each time; some may have no rows."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the rows."""
        return np.dtype(np.float64)

    @property
    def storage(self) -> Storage:
        """How the rows of its blocks are stored."""
        return "dense"

    @property
    def row_bytes(self) -> float:
        """Bytes of a row, on average."""
        return 8.0 * self.n_features

    @property
    def row_values(self) -> float:
        """Values stored in a row, on average."""
        return float(self.n_features)

    @property
    def threads(self) -> int:
        """How many threads may work on its rows."""
        return 1

    @property
    def parts(self) -> int | None:
        """In how many places rows lie that are passed over at once, row by row.

        None: they are visited here, one after another.
        """
        return None

    def total(self, sum: Sum[T]) -> T:
        """The sum over all rows, entry by entry: for batch solvers.

        Here rows are summed and threads run. Block boundaries and the order of summation
        do not depend on the number of threads.
        """
        return running_sum(map(sum.of, self._filled_blocks()))

    def visits(self, shuffle: Shuffle | None = None) -> Iterator[Visit]:
        """For solvers that go row by row: the rows that count, as they stand or shuffled.

        Of a source that is read block by block the rows of each block are shuffled, in an order
        of its own: which rows follow each other then depends on where blocks end.
        """
        for number in range(1 if shuffle is None else shuffle.passes):
            for block in self._filled_blocks():
                order = block.present
                if shuffle is not None:
                    once = Shuffle(shuffle.seed, shuffle.number + number).of_block(block.start)
                    count = len(block.y) if order is None else len(order)
                    drawn = random_order(count, once, self.row_bytes)
                    order = drawn if order is None else order[drawn]
                yield Visit(block, order)

    def class_weight_sums(self) -> Array:
        """What the rows of every class weigh, in one read unless that is known."""
        return self.total(_ClassWeightSums(len(self.classes)))[0]

    def class_moments(self) -> ClassMoments | None:
        """Sums of every feature by class, if they are known or will be remembered; else None."""
        return None

    @property
    def far_off(self) -> Array | None:
        """Of rows that are summed as they were given, how far from 0 they lie: (d,).

        In the units of these rows. It adds to what scores are summed from, and so to rounding.
        """
        return None

    def row_state(self, begin: Callable[[Block], S]) -> RowState[S]:
        """Numbers to be kept beside every row, which begin as told of each block."""
        return RowState(begin)

    def row_numbers(self) -> RowNumbers | None:
        """Numbers to be kept where the rows are; None where whoever needs them had better."""
        return None

    def batches(self, size: int) -> Iterator[Block]:
        """The rows that count, so many at a time, for work that threads share otherwise."""
        for block, order in self.visits():
            rows = np.arange(len(block.y)) if order is None else order
            for start in range(0, len(rows), size):
                at = rows[start : start + size]
                some = None if block.weight is None else block.weight[at]
                yield Block(take_rows(block.X, at), block.y[at], some, block.start + start)

    def sample(self, size: int) -> InMemory:
        """At most so many random rows in memory, the same ones each time, wherever blocks end."""
        wanted, before, found = random_rows(self.n_rows, size), 0, []
        for block, order in self.visits():
            count = len(block.y) if order is None else len(order)
            at = wanted[slice(*np.searchsorted(wanted, [before, before + count]))] - before
            found.append(taken(block, at if order is None else order[at]))
            before += count
        return Source.gathered(concatenated(found), self.classes)

    def take(self, rows: Ints) -> InMemory:
        """Some rows by their numbers, increasing, in memory: copied in one read of all."""
        found = []
        for block in self._filled_blocks():
            at = rows[slice(*np.searchsorted(rows, [block.start, block.start + len(block.y)]))]
            found.append(taken(block, at - block.start))
        return Source.gathered(concatenated(found), self.classes)

    def approximate_mean(self) -> Array | None:
        """Values near the means, (d,); None for zeros, near which sparse rows are."""
        if self.storage == "csr":
            return None
        for block in self.batches(FEW_ROWS):
            mean: Array = to_dense(block.X).mean(axis=0)
            return mean
        return None

    def fingerprint(self) -> str:
        """A name for the data: the same for the same rows, labels, weights and classes.

        Whatever the blocks, threads and memory layout. Other precisions, or sparse rows in place
        of dense ones, have other names.
        """
        return fingerprint(self.blocks(), self.classes)

    def layout(self, shuffled: bool) -> dict[str, Any]:
        """What the last bits of a result depend on beside the data, as plain data.

        Where blocks end and, if rows are visited in a random order, what decides it.
        """
        return {"source": type(self).__name__}

    def _filled_blocks(self) -> Iterator[Block]:
        """Blocks that have rows, their labels checked."""
        for block in self.blocks():
            check_numbers(block.y, len(self.classes))
            if len(block.y):
                yield block
            del block  # before the next is read: it may be large


class InMemory(Source):
    """Rows that are all there: numbers can be kept beside each, and any of them asked for."""

    y: AnyArray
    weight: Array | None

    @property
    def length(self) -> int:
        """Number of all rows."""
        return len(self.y)

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
    def block(self, at: slice | None = None) -> Block:
        """A run of rows, or all: not copied where they lie together."""

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

    def ascent_round(
        self,
        loss: MarginLoss,
        alpha: Array,
        w: Array,
        active: Ints,
        shuffle: Shuffle,
        group: int,
        **numbers: Any,
    ) -> RoundResult:
        """Passes of dual coordinate ascent, each over the active rows in an order of its own.

        These are mixed in groups of so many stretches of neighbours. Writes ``alpha``, ``w``,
        ``active`` and the history: see :func:`separatrix.loops.ascent_round`.
        """
        whole = self.block()
        neighbours = neighbouring_rows(self.row_bytes)
        return ascent_round(
            whole.X, whole.y, loss, alpha, w, active, weight=whole.weight,
            orders=EpochOrders(shuffle.seed, shuffle.number, neighbours, group), **numbers,
        )  # fmt: skip

    def multiclass_epoch(
        self, alpha: Array, lines: Array, order: Ints, **numbers: Any
    ) -> MulticlassEpochResult:
        """The same for many classes: see :func:`separatrix.loops.multiclass_epoch`."""
        whole = self.block()
        return multiclass_epoch(
            whole.X, whole.y, alpha, lines, order, weight=whole.weight, **numbers
        )
