"""Pieces as readers give them, cut into blocks whose edges no reader decides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...numeric.rows import CsrRows, Rows, shape_of, slice_rows
from ..blocks import Block, concatenated
from .thresholds import DENSE_BLOCK_VALUES, MOST_BLOCK_ROWS, SPARSE_BLOCK_ROWS


def default_block_rows(sparse: bool, features: int) -> int:
    """Rows of a block where nobody says: by the number of features, and the way of storage."""
    if sparse:
        return SPARSE_BLOCK_ROWS
    return max(1, min(MOST_BLOCK_ROWS, DENSE_BLOCK_VALUES // max(features, 1)))


def cut(pieces: Iterable[Block], block_rows: int | None) -> Iterator[Block]:
    """The same rows in blocks of exactly so many, the last with the rest; ``start`` is told anew.

    Of sparse rows, later pieces may know more features than earlier ones.
    """
    waiting: list[Block] = []
    count = start = 0
    for piece in pieces:
        sparse, features = isinstance(piece.X, CsrRows), shape_of(piece.X)[1]
        block_rows = block_rows or default_block_rows(sparse, features)
        first, length = 0, len(piece.y)
        while length - first >= block_rows - count:
            last = first + block_rows - count
            waiting.append(_part(piece, first, last))
            block, waiting = _joined(waiting, start), []
            yield block
            del block  # before the next is made: it may be large
            count, start, first = 0, start + block_rows, last
        if first < length:
            waiting.append(_part(piece, first, length))
            count += length - first
    if waiting:
        yield _joined(waiting, start)


def _part(piece: Block, first: int, last: int) -> Block:
    weight = None if piece.weight is None else piece.weight[first:last]
    return Block(slice_rows(piece.X, first, last), piece.y[first:last], weight, 0)


def _joined(parts: list[Block], start: int) -> Block:
    """One block; sparse rows are copied, so that none holds more than its own values."""
    features = max(shape_of(part.X)[1] for part in parts)
    if len(parts) == 1 and not isinstance(parts[0].X, CsrRows):
        return parts[0]._replace(start=start)
    joined = concatenated([part._replace(X=_widened(part.X, features)) for part in parts])
    return joined._replace(start=start)


def _widened(X: Rows, features: int) -> Rows:
    return X._replace(n_features=features) if isinstance(X, CsrRows) else X
