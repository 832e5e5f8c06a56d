"""Parts of the rows on the workers that hold them: checked, summed over, and changed in place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from ...numeric.tree_sum import Node, TreeSum
from ...numeric.types import AnyArray, Array
from ...rows import HostRowsLike, RowsLike, host_rows_of, rows_of, with_offset
from ..blocks import Block
from ..files.facts import check_weights
from ..files.readers.reader import Place
from ..labels import check_labels
from ..offset import check_offset
from ..sum import Sum
from ..thresholds import BLOCK_BYTES
from ..validation import check_rows

T = TypeVar("T", bound=tuple[Any, ...])
T_co = TypeVar("T_co", bound=tuple[Any, ...], covariant=True)


@dataclass
class Part:
    """Some rows with their labels and weights: as given at first, then as loops take them."""

    number: int
    X: RowsLike | None  # None: it has no rows
    y: AnyArray
    weight: Array | None
    names: tuple[str, ...] | None  # of its columns, if they have any
    start: int = 0  # the number of its first row in the data, once known
    changes: int = 0  # number of changes that were applied
    kept: dict[str, AnyArray] = field(default_factory=dict)
    """Numbers stored with the rows, by the name of their ``RowNumbers``."""
    file: Any = None  # where its rows are to be read from, if they do not come by themselves

    def __sizeof__(self) -> int:
        """Bytes, by which an engine knows what there is to hold and to send."""
        return self.row_bytes + sum(int(each.nbytes) for each in (self.y, *self.kept.values()))

    @property
    def row_bytes(self) -> int:
        return 0 if self.X is None else rows_of(self.X).nbytes

    @property
    def block(self) -> Block:
        assert self.X is not None, "a part without rows has no block"
        return Block(self.X, self.y, self.weight, self.start)

    def blocks(self) -> list[Block]:
        """Its rows in pieces that threads share; where they end depends on the rows alone."""
        block, n = self.block, len(self.y)
        size = max(1, BLOCK_BYTES * n // max(1, self.row_bytes))
        return [block.part(at, min(at + size, n)) for at in range(0, n, size)]


class PartSum(Protocol[T_co]):
    """A query of all parts: applied to one part, on some threads; None adds nothing."""

    def __call__(self, part: Part, threads: int) -> T_co | None:
        """The answer of one part."""


class Change(Protocol):
    """What is to happen to every part, once, before anything else is asked of it."""

    def __call__(self, part: Part) -> None:
        """The result depends only on the part and the changes before."""


@dataclass(frozen=True)
class SumOver(Generic[T]):
    """A sum over the rows of a part."""

    sum: Sum[T]

    def __call__(self, part: Part, threads: int) -> T | None:
        """Over its blocks, in their order."""
        if part.X is None:
            return None
        of = self.sum.with_row_numbers(part.kept, part.start)
        if of.whole_parts:
            return of.of(part.block)
        if (size := of.batch_rows) is None:
            return of.over_parts(part.block, part.blocks(), threads)
        n = len(part.y)
        batches = (part.block.part(at, min(at + size, n)) for at in range(0, n, size))
        return of.over(batches, threads)


class Folded(NamedTuple):
    """What a worker found of some neighbouring parts."""

    nodes: list[Node] | None  # None if some parts lack changes that were assumed to be applied
    worker: str


def fold(
    of: PartSum[Any], parts: Sequence[Part], done: int, changes: Sequence[Change], threads: int
) -> list[Node] | None:
    """Whole nodes of the tree over part numbers, of parts side by side.

    First the new changes are applied to the parts. If a part was recomputed since and lacks earlier
    changes, nothing is done.
    """
    if any(part.changes < done for part in parts):
        return None
    tree = TreeSum()
    with np.errstate(all="ignore"):  # overflow is detected where sums are used
        for part in parts:
            for change in changes[part.changes - done :]:
                change(part)
                part.changes += 1
            tree.add(Node(0, part.number, of(part, threads)))
    return tree.nodes


# ---- from what users have to parts


def named(number: int, file: Any) -> Part:
    """A part whose rows are to be read yet."""
    return Part(number, None, np.empty(0), None, None, file=file)


def loaded(number: int, X: Any, y: Any, weight: Any = None, offset: Any = None) -> Part:
    """A part from rows, labels, weights and offsets of any kind, checked; labels are as given."""
    part = Part(number, None, np.empty(0), None, _names(X))
    fill(part, X, y, weight, offset)
    return part


def fill(part: Part, X: Any, y: Any, weight: Any, offset: Any = None) -> None:
    """Give a part its rows, checked, if there are any."""
    where = f"part {part.number}" if part.file is None else str(part.file)
    if len(getattr(X, "shape", ())) == 2 and X.shape[0] == 0:
        return
    rows = _rows(X, where)
    n = rows_of(rows).shape[0]
    try:
        labels = check_labels(y)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error
    if len(labels) != n:
        raise ValueError(
            f"{where}: X has {n} rows and y {len(labels)} labels; expected one for each row: chunk "
            "X and y alike."
        )
    weight = None if weight is None else np.asarray(weight, dtype=np.float64)
    part.weight = check_weights(weight, n, Place(where))
    part.y = labels
    part.X = rows if offset is None else with_offset(rows_of(rows), _offset(offset, n, where)).X


def _offset(offset: Any, n: int, where: str) -> Array:
    """The offset of n rows, (n, columns): how many there must be is known with all classes."""
    found = np.asarray(offset, dtype=np.float64)
    if found.ndim not in (1, 2) or len(found) != n:
        raise ValueError(
            f"{where}: X has {n} rows and offset the shape {found.shape}; expected one number for "
            "each row, or one for each row and class: chunk X and offset alike."
        )
    columns = found.shape[1] if found.ndim == 2 else 1
    try:
        return check_offset(found[:, 0] if found.shape == (n, 1) else found, n, columns)
    except ValueError as error:
        raise ValueError(f"{where} (rows counted from 0 within it): {error}") from error


def _names(X: Any) -> tuple[str, ...] | None:
    """Names of the columns of a frame, if all are words."""
    columns = getattr(X, "columns", ())
    named = len(columns) > 0 and all(isinstance(name, str) for name in columns)
    return tuple(columns) if named else None


def _rows(X: Any, where: str) -> HostRowsLike:
    try:
        given: HostRowsLike = host_rows_of(check_rows(X, finite=False)).X
    except (TypeError, ValueError) as error:
        raise type(error)(f"{where}: {error}") from error
    rows = rows_of(given)
    if not np.all(np.isfinite(rows.values)):
        row, _ = rows.place_of(int(np.argmin(np.isfinite(rows.values))))
        raise ValueError(
            f"{where}, row {row} (counted from 0 within the part): X contains NaN or infinity; "
            "expected finite numbers: fill it in, or leave out the row."
        )
    return given
