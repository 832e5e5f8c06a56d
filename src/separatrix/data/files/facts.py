"""What the first pass over the rows of files finds out, and the rows that are held out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...numeric.rows import CsrRows, shape_of
from ...numeric.types import AnyArray, Array, Ints
from ..blocks import Block, row_hash
from ..source import Storage

LARGEST_WEIGHT = 2.0**400  # beyond, sums and what weights are multiplied with overflow


def held_out(first: int, count: int, share: float) -> AnyArray:
    """Which of these rows are for validation: a share, by a hash of their numbers in the file."""
    return row_hash(first, count) < np.uint64(int(share * 2.0**64))


@dataclass
class Facts:
    """Counts of all rows; of those trained on and those held out, by the code of their label."""

    share: float = 0.0
    """Of the rows that are held out."""
    lengths: list[int] = field(default_factory=list)
    """Rows of every block."""
    kept: list[int] = field(default_factory=list)
    """Rows of every block that are not held out."""
    counts: list[dict[int, int]] = field(default_factory=lambda: [{}, {}])
    """Rows whose weight is not 0, trained on and held out, by code."""
    weights: list[dict[int, float]] = field(default_factory=lambda: [{}, {}])
    """Sums of weights, likewise."""
    n_features: int = 0
    n_values: int = 0
    """Stored ones: of sparse rows fewer than rows times features."""
    storage: Storage = "dense"
    dtype: str = "float64"
    index_bytes: int = 0

    def collect(self, blocks: Iterable[Block]) -> Iterator[Block]:
        """The same blocks, whose labels are codes, looked at on the way."""
        for block in blocks:
            self._add(block)
            yield block
            del block  # before the next is made: it may be large

    def _add(self, block: Block) -> None:
        n, d = shape_of(block.X)
        out = held_out(block.start, n, self.share) if self.share else np.zeros(n, dtype=bool)
        self.lengths.append(n)
        self.kept.append(n - int(np.count_nonzero(out)))
        self.n_features = max(self.n_features, d)
        if isinstance(block.X, CsrRows):
            self.storage, self.index_bytes = "csr", block.X.indices.itemsize
            self.n_values += int(block.X.indptr[-1] - block.X.indptr[0])
            self.dtype = block.X.data.dtype.name
        else:
            self.n_values += n * d
            self.dtype = block.X.dtype.name
        weights, present = block.weights, block.weights != 0.0
        for side, rows in enumerate((~out & present, out & present)):
            _add_up(self.counts[side], np.bincount(block.y[rows]))
            _add_up(self.weights[side], np.bincount(block.y[rows], weights[rows]))

    @property
    def n_rows(self) -> int:
        """All rows, also those of weight 0."""
        return sum(self.lengths)

    def present(self) -> list[int]:
        """Codes of labels with a row that counts."""
        return sorted({*self.counts[0], *self.counts[1]})

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Facts:
        """Back from plain data, whose keys may have become words."""
        found = cls(**data)
        found.counts = [{int(code): n for code, n in side.items()} for side in found.counts]
        found.weights = [{int(code): w for code, w in side.items()} for side in found.weights]
        return found


def _add_up(total: dict[int, Any], more: AnyArray) -> None:
    for code in np.flatnonzero(more).tolist():
        total[code] = total.get(code, 0) + more[code].item()


def check_weights(weight: Array | None, rows: int, where: str) -> Array | None:
    """Finite weights >= 0, one for every row."""
    if weight is None:
        return None
    weight = np.asarray(weight, dtype=np.float64)
    if weight.shape != (rows,):
        raise ValueError(
            f"{where}: weights have the shape {weight.shape}; expected ({rows},), one per row."
        )
    wrong = np.flatnonzero(~((weight >= 0.0) & (weight <= LARGEST_WEIGHT)))
    if len(wrong):
        raise ValueError(
            f"{where}: the weight of row {wrong[0]} (counted from 0) is {weight[wrong[0]]!r}; "
            "expected a finite number, 0 or more: leave out the row, or mend its weight."
        )
    return weight


def starts(lengths: list[int]) -> Ints:
    """Where blocks of these lengths begin."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
