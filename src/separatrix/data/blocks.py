"""Blocks of rows, visits to their rows in an order, and random orders."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .. import loops
from ..numeric.lazy import cached_property
from ..numeric.types import AnyArray, Array, Ints
from ..rows import DenseRows, Rows, RowsLike, concatenate_rows
from .thresholds import GROUP, NEIGHBOURS_BYTES

BLOCK_STRIDE = 0x9E3779B97F4A7C15  # between seeds of blocks: golden-ratio increment (SplitMix64)
LARGEST_SEED = 2**62  # sums of seeds still fit into int64


class Block(NamedTuple):
    """Some rows, and their position in the data.

    Rows of weight 0 are ignored.

    See Also
    --------
    Source : yields blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import ArraySource
    >>> source = ArraySource(np.eye(3), np.array([-1.0, 1.0, 1.0]), np.array([0, 1]))
    >>> block = next(iter(source.blocks()))
    >>> block.start, block.y.tolist(), block.weights.tolist()
    (0, [-1.0, 1.0, 1.0], [1.0, 1.0, 1.0])
    """

    X: RowsLike
    """(n, d): an array for dense rows."""
    y: AnyArray
    """(n,): -1.0 and +1.0, or the numbers of classes; (n, q) of -1 and +1 for q labels that do not
    exclude each other."""
    weight: Array | None
    """(n,), or None: all 1."""
    start: int
    """The number of its first row."""

    @property
    def rows(self) -> Rows:
        """Its rows with their sums and visits."""
        X = self.X  # rows_of inlined: small fits call this often
        return DenseRows(X) if isinstance(X, np.ndarray) else X

    @property
    def weights(self) -> Array:
        """The weight of every row, 1 where none are given."""
        return np.ones(len(self.y)) if self.weight is None else self.weight

    @property
    def at(self) -> slice:
        """The slice of its rows in arrays of all rows."""
        return slice(self.start, self.start + len(self.y))

    @property
    def present(self) -> Ints | None:
        """Rows whose weight is not zero; None if that is all of them."""
        if self.weight is None or self.weight.all():
            return None
        return np.flatnonzero(self.weight)

    def numbers(self, rows: Ints) -> Ints:
        """Numbers of some of its rows in the whole data, int32 if they fit."""
        whole = rows + self.start if self.start else rows
        return whole.astype(np.int32 if self.at.stop <= 2**31 else np.int64)

    @property
    def stored(self) -> Block:
        """The same block with rows that are values of their own, copied if they are computed."""
        return self._replace(X=self.rows.stored.X)

    def part(self, start: int, stop: int) -> Block:
        """Rows start, ..., stop - 1 of it, not copied."""
        weight = None if self.weight is None else self.weight[start:stop]
        X = self.rows.part(start, stop).X
        return Block(X, self.y[start:stop], weight, self.start + start)


class KeptBlock(Block):
    """A block that its source yields again and again, so that its rows are wrapped only once."""

    @cached_property
    def rows(self) -> Rows:
        return super().rows


class Visit(NamedTuple):
    """A block and the order in which to visit its rows."""

    block: Block
    order: Ints | None  # rows of the block to visit, in this order; None: all, in storage order


class Shuffle(NamedTuple):
    """One random order of those given by a seed, or several in succession."""

    seed: int
    number: int
    passes: int = 1

    def of_block(self, number: int) -> Shuffle:
        """A different shuffle for each block, so that blocks of equal length differ in order."""
        return self._replace(seed=(self.seed + number * BLOCK_STRIDE) % LARGEST_SEED)


def neighbouring_rows(row_bytes: float) -> int:
    """Number of neighbouring rows that random orders keep together."""
    return max(1, int(NEIGHBOURS_BYTES / max(row_bytes, 1.0)))  # a row may store no value


def random_order(
    n: int,
    shuffle: Shuffle,
    row_bytes: float = 0.0,
    group: int = GROUP,
    room: Ints | None = None,
) -> Ints:
    """A random order of n rows; with ``row_bytes``, such that memory pages are read once."""
    neighbours = neighbouring_rows(row_bytes) if row_bytes else max(1, n)
    return loops.draw_orders(n, neighbours, group, *shuffle, room=room).reshape(-1)


def shuffled(block: Block, shuffle: Shuffle, row_bytes: float) -> Visit:
    """A visit to the rows of non-zero weight of a block in a random order."""
    present = block.present
    count = len(block.y) if present is None else len(present)
    order = random_order(count, shuffle, row_bytes)
    return Visit(block, order if present is None else present[order])


def random_rows(n: int, size: int) -> Ints:
    """``size`` of n row numbers, increasing, one per stretch; the same at each call."""
    if size >= n:
        return np.arange(n)
    found = np.random.default_rng(n).random(size)
    found += np.arange(size)
    found *= n / size
    rows = found.astype(np.int64)
    return np.minimum(rows, n - 1, out=rows)


def taken(block: Block, rows: Ints) -> Block:
    """Some rows of a block, copied, as the next block may reuse its memory."""
    X = block.rows.take(rows).X
    if isinstance(X, np.ndarray) and X.base is not None:
        X = X.copy()
    weight = None if block.weight is None else block.weight[rows]
    return Block(X, block.y[rows], weight, 0)


def row_hash(first: int, count: int) -> AnyArray:
    """A fixed 64-bit hash for each of ``count`` row numbers from ``first``.

    The finaliser of SplitMix64: Steele, Lea and Flood, Fast splittable pseudorandom number
    generators, OOPSLA 2014.
    """
    with np.errstate(over="ignore"):
        mixed = np.arange(first + 1, first + count + 1, dtype=np.uint64) * np.uint64(BLOCK_STRIDE)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    hashed: AnyArray = mixed ^ (mixed >> np.uint64(31))
    return hashed


def concatenated(blocks: list[Block]) -> Block:
    weight = None
    if any(block.weight is not None for block in blocks):
        weight = np.concatenate([block.weights for block in blocks])
    X = concatenate_rows([block.X for block in blocks])
    return Block(X, np.concatenate([block.y for block in blocks]), weight, 0)


def check_numbers(y: AnyArray, classes: int) -> None:
    """Check that labels of more than two classes are class numbers.

    They index weights, so one out of range would corrupt memory. Sources check their rows once, as
    a loop may be called for every few rows.
    """
    if y.ndim == 2:
        if y.shape[1] != classes or y.dtype != np.int8 or not y.flags.c_contiguous:
            raise ValueError(
                f"y must have a column of -1 and +1, int8, for each of {classes} labels, row after "
                f"row in memory (C order), got {y.dtype} of shape {y.shape}"
            )
        return
    if classes <= 2 or not len(y):
        return
    # As unsigned integers negative numbers are the largest.
    if y.dtype != np.int64 or y.view(np.uint64).max() >= classes:
        raise ValueError(
            f"y must hold the numbers of {classes} classes, int64 from 0 to {classes - 1}, got "
            f"{y.dtype} from {y.min()} to {y.max()}"
        )
