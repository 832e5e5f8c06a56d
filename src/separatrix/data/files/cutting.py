"""Cut pieces from readers into blocks whose boundaries do not depend on the reader."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...rows import widened
from ..blocks import Block, concatenated
from .thresholds import DENSE_BLOCK_VALUES, MOST_BLOCK_ROWS, SPARSE_BLOCK_ROWS


def default_block_rows(sparse: bool, features: int) -> int:
    """Default number of rows per block, by storage and number of features."""
    if sparse:
        return SPARSE_BLOCK_ROWS
    return max(1, min(MOST_BLOCK_ROWS, DENSE_BLOCK_VALUES // max(features, 1)))


def cut(pieces: Iterable[Block], block_rows: int | None) -> Iterator[Block]:
    """The same rows in blocks of exactly ``block_rows``, the last with the rest; sets ``start``.

    With sparse rows, later pieces may have more features than earlier ones.
    """
    waiting: list[Block] = []
    count = start = 0
    for piece in pieces:
        rows = piece.rows
        block_rows = block_rows or default_block_rows(rows.storage == "csr", rows.shape[1])
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
    return piece.part(first, last)._replace(start=0)


def _joined(parts: list[Block], start: int) -> Block:
    """One block; sparse rows are copied, so that the block keeps only its own values."""
    features = max(part.rows.shape[1] for part in parts)
    if len(parts) == 1 and parts[0].rows.storage == "dense":
        return parts[0]._replace(start=start)
    joined = concatenated([part._replace(X=widened(part.rows, features).X) for part in parts])
    return joined._replace(start=start)
