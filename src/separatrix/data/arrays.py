"""Rows in memory, dense or sparse, including memory-mapped arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ..numeric.lazy import cached_property
from ..numeric.pool import Task
from ..numeric.threads import n_threads, ordered_sum, submit
from ..numeric.types import AnyArray, Array, Ints
from ..rows import Rows, RowsLike, Storage, rows_of, with_offset
from .blocks import Block, KeptBlock, Shuffle, Visit, check_numbers, random_order, random_rows
from .in_memory import InBlocks
from .source import InMemory, Source
from .subset import Subset
from .sum import Sum, T
from .thresholds import (
    BLOCK_BYTES,
    BLOCK_ROWS_PER_SUM,
    FEW_BLOCKS,
    MOST_BLOCKS,
)


class ArraySource(InBlocks):
    """Rows, labels and weights in arrays, never copied.

    ``X`` is C-contiguous float32 or float64, or :class:`separatrix.rows.CsrRows`.

    With two classes labels are -1.0 and +1.0, with more the numbers of the ``classes``.

    Parameters
    ----------
    X : array (n, d), or CsrRows
        The rows.
    y : array (n,)
        -1.0 and +1.0, or the numbers of classes.
    classes : array (k,)
        Their labels, in order.
    weight : array (n,), optional
        Weights of the rows; None: all 1.
    n_jobs : int or None
        Threads; None: all of this process's.

    See Also
    --------
    read : a source of files and frames.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import ArraySource, LinearClassifier
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([-1.0, -1.0, 1.0, 1.0])
    >>> source = ArraySource(X, y, classes=np.array(["no", "yes"]))
    >>> LinearClassifier().fit(source).predict(X).tolist()
    ['no', 'no', 'yes', 'yes']
    """

    def __init__(
        self,
        X: RowsLike,
        y: AnyArray,
        classes: AnyArray,
        weight: Array | None = None,
        n_jobs: int | None = None,
    ) -> None:
        check_numbers(y, len(classes))
        self.X, self.y, self.weight, self.classes = X, y, weight, classes
        self._whole = KeptBlock(X, y, weight, 0)
        self.weight_power = 0  # weights are 2**weight_power times those that were given
        self.n_jobs = n_jobs
        self.stored = rows_of(X)
        self.stored.keep(y, weight)
        self.n_features = X.shape[1]
        self._samples: dict[int, InMemory] = {}
        self._next_permutation: tuple[Shuffle, Task[Ints]] | None = None

    @property
    def original(self) -> Rows:
        return self.stored

    @cached_property
    def present(self) -> Ints | None:
        if self.weight is None or self.weight.all():
            return None
        return np.flatnonzero(self.weight)

    @cached_property
    def n_rows(self) -> int:
        return len(self.y) if self.present is None else len(self.present)

    @cached_property
    def weight_sum(self) -> float:
        return float(len(self.y)) if self.weight is None else float(self.weight.sum())

    # Asked for by every bound, and by every pass in random order.
    @cached_property
    def storage(self) -> Storage:
        return self.stored.storage

    @cached_property
    def cancelling(self) -> AnyArray | float:
        return self.stored.cancelling

    @cached_property
    def has_offset(self) -> bool:
        return self.stored.offset is not None

    @cached_property
    def rounding(self) -> float:
        return self.stored.rounding

    @cached_property
    def row_bytes(self) -> float:
        return self.stored.row_bytes

    @property
    def start_bytes(self) -> float:
        return self.stored.start_bytes

    def approximate_mean(self) -> Array | None:
        """Mean of a few rows spread over the data; None for sparse rows."""
        if self.storage == "csr":
            return None
        apart = max(1, self.n_rows // 64)
        if apart == 1 and self.present is None:
            return self.stored.mean()
        some = np.arange(0, len(self.y), apart) if self.present is None else self.present[::apart]
        return self.stored.take(some).mean()

    def blocks(self) -> Iterator[Block]:
        yield self._whole

    def visits(self, shuffle: Shuffle | None = None) -> Iterator[Visit]:
        order = self.present
        if shuffle is not None and (self.n_rows > 1 or shuffle.passes > 1):
            drawn = self._prefetched_permutation(shuffle)
            order = drawn if order is None else order[drawn]
        yield Visit(self._whole, order)

    def _prefetched_permutation(self, shuffle: Shuffle) -> Ints:
        """A random order; the next one is drawn on another thread meanwhile."""
        if shuffle.passes > 1:  # orders are short
            return self._draw(shuffle)
        following, self._next_permutation = self._next_permutation, None
        if following is not None and following[0] == shuffle:
            order = following[1].result()
        else:
            order = self._draw(shuffle)
        if self.threads > 1:
            then = Shuffle(shuffle.seed, shuffle.number + 1)
            # Allocated here: memory that a thread allocates returns to that thread only.
            room = np.empty((1, self.n_rows), dtype=np.int64)
            self._next_permutation = then, submit(lambda: self._draw(then, room))
        return order

    def _draw(self, shuffle: Shuffle, room: Ints | None = None) -> Ints:
        return random_order(self.n_rows, shuffle, self.row_bytes, room=room)

    def slices_of(self, n: int) -> list[slice]:
        each = max(self.row_bytes, 1)
        apart = min(int(BLOCK_ROWS_PER_SUM * 8 * self.n_features / each), -(-n // FEW_BLOCKS))
        size = max(1, int(BLOCK_BYTES / each), -(-n // MOST_BLOCKS), apart)
        return [slice(start, min(start + size, n)) for start in range(0, n, size)]

    def block(self, at: slice | None = None) -> Block:
        start, stop, _ = (at or slice(None)).indices(len(self.y))
        weight = None if self.weight is None else self.weight[start:stop]
        return Block(self.stored.part(start, stop).X, self.y[start:stop], weight, start)

    @cached_property
    def _parts(self) -> list[Block]:
        if len(self.y) * self.row_bytes <= BLOCK_BYTES:
            return [self._whole]
        return [self.block(at) for at in self.slices_of(len(self.y))]

    @cached_property
    def threads(self) -> int:
        shared = self.stored.on_threads and len(self._parts) > 1
        return n_threads(self.n_jobs) if shared else 1

    def total(self, sum: Sum[T]) -> T:
        """The sum over blocks, which depend only on the shape of X."""
        if sum.batch_rows is not None and self.stored.on_threads:
            return super().total(sum)
        whole = self._whole
        if sum.few_numbers and not self.stored.on_threads:  # one worker, as fast as it can be
            return sum.of(whole)
        parts = self._parts
        if len(parts) == 1:
            return sum.of(parts[0])
        return sum.over_parts(whole, parts, self.threads)

    def _each(self, of: Callable[[Block], T]) -> T:
        return ordered_sum(of, self._parts, self.threads)

    def block_of(self, rows: Ints, start: int = 0) -> Block:
        """Some rows; increasing runs of dense ones are not copied."""
        weight = None if self.weight is None else self.weight[rows]
        return Block(self.stored.take(rows).X, self.y[rows], weight, start)

    def of_block(self, block: Block) -> ArraySource:
        return ArraySource(block.X, block.y, self.classes, block.weight, self.n_jobs)

    def with_weight(self, weight: Array | None) -> ArraySource:
        return ArraySource(self.X, self.y, self.classes, weight, self.n_jobs)

    def with_rows(self, X: RowsLike) -> ArraySource:
        """The same labels and weights with other rows."""
        other = ArraySource(X, self.y, self.classes, self.weight, self.n_jobs)
        other.weight_power = self.weight_power
        return other

    @property
    def without_offset(self) -> ArraySource:
        return self.with_rows(self.stored.without_offset.X) if self.has_offset else self

    def with_labels(self, y: AnyArray, classes: AnyArray) -> ArraySource:
        return ArraySource(self.X, y, classes, self.weight, self.n_jobs)

    def gram(self, rows: Ints | None = None) -> Array:
        return (self.stored if rows is None else self.stored.take(rows)).row_products()

    def sample(self, size: int) -> InMemory:
        """One random row from each of ``size`` stretches; few rows are copied once."""
        if size >= self.n_rows:
            return self
        if size not in self._samples:
            rows = random_rows(self.n_rows, size)
            some = Subset(self, rows if self.present is None else self.present[rows])
            self._samples = {size: some.sampled_from(self.n_rows)}
        return self._samples[size]


def _gathered(block: Block, classes: AnyArray) -> ArraySource:
    return ArraySource(block.X, block.y, classes, block.weight)


Source.gathered = staticmethod(_gathered)


def with_offset_column(source: InMemory, number: int) -> InMemory:
    """The same rows with one column of their offset, if they have one."""
    if not source.has_offset:
        return source
    arrays = as_arrays(source)
    offset = arrays.stored.offset
    assert offset is not None
    return arrays.with_rows(with_offset(arrays.stored, offset[:, number, None].copy()).X)


def as_arrays(source: InMemory) -> ArraySource:
    """Rows in memory as an ``ArraySource``: copied unless they are one."""
    if isinstance(source, ArraySource):
        return source
    if isinstance(source, Subset):
        return as_arrays(source.materialised)
    return _gathered(source.block(), source.classes)
