"""The interface of data: sources of rows, labels and weights."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np

from ..loops import EpochOrders, MulticlassEpochResult, RoundResult
from ..losses import MarginLoss
from ..numeric.threads import running_sum
from ..numeric.tolerances import EPS
from ..numeric.types import AnyArray, Array, Ints
from ..rows import HOST, Storage, VectorSpace
from .blocks import (
    Block,
    Shuffle,
    Visit,
    check_numbers,
    concatenated,
    neighbouring_rows,
    random_rows,
    shuffled,
    taken,
)
from .class_moments import FEW_ROWS, ClassMoments, ClassWeightSums
from .fingerprint import fingerprint
from .row_state import RowNumbers, RowState, S
from .sum import Sum, T


class Source(ABC):
    """Rows, labels and weights: in memory, in files, on a cluster.

    For two classes ``y`` is -1.0 or +1.0, the larger class +1. If ``classes`` has the shape (q, 1),
    these are labels that do not exclude each other, and ``y`` is (n, q), -1 or +1. Besides
    ``n_features`` and ``classes``, a subclass must define ``n_rows``, ``weight_sum`` and
    ``blocks``; it may override the other methods with faster ones.

    See Also
    --------
    read : a source of files.
    ArraySource : a source of arrays.

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
    """A source in memory of some rows and all classes; set by arrays.py (no import cycle)."""
    validation: Source | None = None
    """Held-out rows: a fit reports their loss after every pass."""
    reading: Any = None
    """How rows of files are read, so that a fitted model can read other files."""
    labels: Any = None
    """If there are several labels per row, all their columns; ``classes`` has those that vary."""
    target: str = "y"
    """The name of its labels in error messages."""

    @property
    def multilabel(self) -> bool:
        """Whether its labels do not exclude each other, with a column of ``y`` for each."""
        return self.classes.ndim == 2

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows whose weight is not zero; the others are ignored."""

    @property
    @abstractmethod
    def weight_sum(self) -> float:
        """Sum of the weights of all rows."""

    @property
    def length(self) -> int:
        """Number of all rows, including those of weight 0."""
        return sum(len(block.y) for block in self.blocks())

    @abstractmethod
    def blocks(self) -> Iterator[Block]:
        """All rows in storage order, in the same blocks each time; blocks may be empty."""

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
    def start_bytes(self) -> float:
        """Bytes of rows that could be read while a sum over them is started."""
        return 0.0

    @property
    def row_values(self) -> float:
        """Values stored in a row, on average."""
        return float(self.n_features)

    @property
    def threads(self) -> int:
        """Number of threads that may work on its rows."""
        return 1

    @property
    def parts(self) -> int | None:
        """Number of partitions that are trained on in parallel, row by row.

        None: rows are visited sequentially in this process.
        """
        return None

    def total(self, sum: Sum[T]) -> T:
        """The sum over all rows, entry by entry: for batch solvers.

        Rows are summed here, on threads. Block boundaries and the order of summation do not depend
        on the number of threads.
        """
        return running_sum(map(sum.of, self._filled_blocks()))

    def visits(self, shuffle: Shuffle | None = None) -> Iterator[Visit]:
        """For online solvers: the rows of non-zero weight, in storage order or shuffled.

        If a source is read block by block, the rows of each block are shuffled separately, so the
        order depends on block boundaries.
        """
        for number in range(1 if shuffle is None else shuffle.passes):
            for block in self._filled_blocks():
                if shuffle is None:
                    yield Visit(block, block.present)
                else:
                    once = Shuffle(shuffle.seed, shuffle.number + number).of_block(block.start)
                    yield shuffled(block, once, self.row_bytes)

    def class_weight_sums(self) -> Array:
        """Sum of the weights of every class or label, in one read unless it is known."""
        return self.total(ClassWeightSums(len(self.classes)))[0]

    def class_moments(self) -> ClassMoments | None:
        """Sums of every feature by class, if they are known or will be cached; else None."""
        return None

    @property
    def rounding(self) -> float:
        """Largest relative error of one multiplication or addition in its sums."""
        return EPS

    @property
    def cancelling(self) -> AnyArray | float:
        """What its sums add to every feature and subtract again: (d,), or 0 for nothing.

        Rounding errors are relative to the size of the features plus this.
        """
        return 0.0

    @property
    def has_offset(self) -> bool:
        """Whether known numbers are added to the scores of its rows: see ``Rows.offset``."""
        return False

    @property
    def without_offset(self) -> Source:
        """The same rows without an offset."""
        return self

    def vectors_of(self, shape: tuple[int, int]) -> VectorSpace:
        """Where weights of this shape and gradients live when solvers compute with them."""
        return HOST

    @property
    def vectors(self) -> VectorSpace:
        """Where the weights of its classes live."""
        return self.vectors_of((len(self.classes), self.n_features + 1))

    @property
    def visitable(self) -> bool:
        """Whether the storage of its rows allows visits row by row: see ``Rows.visits``."""
        return True

    def row_state(self, begin: Callable[[Block], S]) -> RowState[S]:
        """Numbers to be stored for every row, initialised by ``begin`` for each block."""
        return RowState(begin)

    def row_numbers(self) -> RowNumbers | None:
        """Numbers to be stored where the rows are; None if the caller must store them."""
        return None

    def batches(self, size: int) -> Iterator[Block]:
        """Rows of non-zero weight, ``size`` at a time, for sums that threads share by tiles."""
        for block, order in self.visits():
            rows = np.arange(len(block.y)) if order is None else order
            for start in range(0, len(rows), size):
                at = rows[start : start + size]
                some = None if block.weight is None else block.weight[at]
                yield Block(block.rows.take(at).X, block.y[at], some, block.start + start)

    def sample(self, size: int) -> InMemory:
        """At most ``size`` random rows: the same at each call and for any blocks.

        They stay in their storage, in memory or wherever that keeps them.
        """
        wanted, before, found = random_rows(self.n_rows, size), 0, []
        for block, order in self.visits():
            count = len(block.y) if order is None else len(order)
            at = wanted[slice(*np.searchsorted(wanted, [before, before + count]))] - before
            found.append(taken(block, at if order is None else order[at]))
            before += count
        return Source.gathered(concatenated(found), self.classes)

    def take(self, rows: Ints) -> InMemory:
        """Copy some rows, given by increasing numbers, into memory in one read."""
        found = []
        for block in self._filled_blocks():
            at = rows[slice(*np.searchsorted(rows, [block.start, block.start + len(block.y)]))]
            found.append(taken(block, at - block.start))
        return Source.gathered(concatenated(found), self.classes)

    def approximate_mean(self) -> Array | None:
        """Values near the means, (d,); None stands for zeros, as for sparse rows."""
        if self.storage == "csr":
            return None
        for block in self.batches(FEW_ROWS):
            return block.rows.mean()
        return None

    def fingerprint(self) -> str:
        """A hash of the data: equal for equal rows, labels, weights and classes.

        It does not depend on blocks, threads or memory layout, but on precision and on whether
        rows are sparse.
        """
        return fingerprint(self.blocks(), self.classes)

    def layout(self, shuffled: bool) -> dict[str, Any]:
        """What the last bits of a result depend on, besides the data, as plain data.

        Block boundaries and, if rows are shuffled, whatever determines the order.
        """
        return {"source": type(self).__name__}

    def _filled_blocks(self) -> Iterator[Block]:
        """Non-empty blocks with checked labels."""
        for block in self.blocks():
            check_numbers(block.y, len(self.classes))
            if len(block.y):
                yield block
            del block  # before the next is read: it may be large


class InMemory(Source):
    """A source with random access to its rows: solvers can store a number for each."""

    y: AnyArray
    weight: Array | None

    @property
    def length(self) -> int:
        return len(self.y)

    @property
    def present(self) -> Ints | None:
        """Rows whose weight is not zero; None if that is all of them."""
        if self.weight is None or self.weight.all():
            return None
        return np.flatnonzero(self.weight)

    @property
    def weights(self) -> Array:
        """The weight of every row, 1 where none are given."""
        return np.ones(len(self.y)) if self.weight is None else self.weight

    @property
    def without_offset(self) -> InMemory:
        return self

    @property
    def offset(self) -> Array | None:
        """Numbers that are added to the scores, (n, k); None for nothing."""
        return self.block().rows.offset if self.has_offset else None

    @abstractmethod
    def block(self, at: slice | None = None) -> Block:
        """A slice of the rows, or all; not copied if they are contiguous."""

    @abstractmethod
    def scores(self, W: Array, out: Array | None = None) -> Array:
        """(X, 1) W', plus the offset, of every row for weights (k, d + 1): (n, k)."""

    @abstractmethod
    def transpose_product(self, C: Array) -> Array:
        """C' (X, 1) for coefficients (n, k): (k, d + 1)."""

    @abstractmethod
    def take(self, rows: Ints) -> InMemory:
        """Copy some rows in the given order, with their labels and weights."""

    @abstractmethod
    def with_weight(self, weight: Array | None) -> InMemory:
        """The same rows and labels with other weights."""

    @abstractmethod
    def with_labels(self, y: AnyArray, classes: AnyArray) -> InMemory:
        """The same rows and weights with other labels."""

    @abstractmethod
    def row_norms(self, squared: bool = False) -> Array:
        """``|x|`` of every row, or its square: (n,)."""

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
        """Passes of dual coordinate ascent, each over the active rows in a new random order.

        Orders mix groups of ``group`` blocks of neighbours. Writes ``alpha``, ``w``, ``active`` and
        the history: see :func:`separatrix.loops.ascent_round`.
        """
        whole = self.block()
        neighbours = neighbouring_rows(self.row_bytes)
        return whole.rows.visits.ascent_round(
            whole.y, loss, alpha, w, active, weight=whole.weight,
            orders=EpochOrders(shuffle.seed, shuffle.number, neighbours, group), **numbers,
        )  # fmt: skip

    def multiclass_epoch(
        self, alpha: Array, lines: Array, order: Ints, **numbers: Any
    ) -> MulticlassEpochResult:
        """One epoch for many classes: see :func:`separatrix.loops.multiclass_epoch`."""
        whole = self.block()
        return whole.rows.visits.multiclass_epoch(
            whole.y, alpha, lines, order, weight=whole.weight, **numbers
        )
