"""Facts that the first pass over files collects, also about held-out rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from ...numeric.types import Array, Ints
from ...rows import Storage, host_rows_of
from ..blocks import Block, taken
from ..fingerprint import fingerprint
from .cutting import default_block_rows
from .encoding.encoding import INDEX_BYTES, Encoding
from .held_out import held_out
from .readers.reader import Place

WITNESSES = 4  # rows of every block that identify it
LARGEST_WEIGHT = 2.0**400  # beyond, sums and products of weights overflow


@dataclass
class Facts:
    """Counts of all rows, and by label code of training and held-out rows.

    None depends on how rows are cut into pieces, not even by rounding.
    """

    share: float = 0.0  # share of the rows that are held out
    n_rows: int = 0  # number of all rows, including those of weight 0
    block_rows: int = 0  # rows of every block except the last, which may have fewer
    counts: list[dict[int, int]] = field(default_factory=lambda: [{}, {}])
    """Number of training and of held-out rows of non-zero weight, by code."""
    weights: list[dict[int, float]] = field(default_factory=lambda: [{}, {}])
    """Sums of the weights of training and of held-out rows, by code."""
    n_features: int = 0
    n_values: int = 0  # number of stored values: fewer than rows times features if sparse
    n_nonzero: int = field(default=0, compare=False)
    """Number of non-zero values, counted for dense rows."""
    surveyed: bool = False
    """Whether ``n_values`` comes from the survey of a table: decoded rows may store a few less."""
    storage: Storage = "dense"
    dtype: str = "float64"
    index_bytes: int = 0
    witnesses: list[str] = field(default_factory=list, compare=False)
    """Hashes of a few rows of every block; empty until rows are decoded in their final form."""

    @classmethod
    def of_blocks(cls, before: Facts) -> Facts:
        """Empty facts to be collected from blocks; results of a survey are kept."""
        known = before.n_values if before.surveyed else 0
        return cls(before.share, n_values=known, surveyed=before.surveyed)

    def of_table(self, encoding: Encoding, block_rows: int | None, n_values: int) -> None:
        """Set what is known before rows are decoded, after a survey has added all labels."""
        sparse, d = encoding.storage == "csr", encoding.n_features
        self.block_rows = min(block_rows or default_block_rows(sparse, d), self.n_rows)
        self.n_features, self.storage, self.dtype = d, encoding.storage, encoding.dtype
        self.n_values = n_values if sparse else self.n_rows * d
        self.surveyed, self.index_bytes = True, INDEX_BYTES if sparse else 0
        self.witnesses = []

    def collect(self, blocks: Iterable[Block]) -> Iterator[Block]:
        """Yield the same blocks, whose labels are codes, and count their rows."""
        for block in blocks:
            self._add(block)
            yield block
            del block  # before the next is made: it may be large

    def _add(self, block: Block) -> None:
        rows = host_rows_of(block.X)
        n, d = rows.shape
        self.block_rows = max(self.block_rows, n)
        self.n_features = max(self.n_features, d)
        self.dtype = rows.dtype.name
        if rows.storage == "csr":
            self.storage, self.index_bytes = "csr", rows.index_bytes
        else:
            self.n_nonzero += int(np.count_nonzero(rows.values))
        self.n_values += 0 if self.surveyed else rows.n_values
        self.add_labels(block.y, block.weight)
        if n:
            some = np.unique(np.linspace(0, n - 1, WITNESSES).astype(np.int64))
            self.witnesses.append(fingerprint([taken(block, some)], some))

    def agrees(self, before: Facts) -> bool:
        """Whether a pass found the same rows as the first, as far as these facts show."""
        return self == before and before.witnesses in ([], self.witnesses)

    def add_labels(self, codes: Ints, weight: Array | None) -> None:
        n = len(codes)
        rows = np.arange(n) if weight is None else np.flatnonzero(weight)
        sides = [rows]
        if self.share:
            out = held_out(self.n_rows, n, self.share)[rows]
            sides = [rows[~out], rows[out]]
        for side, some in enumerate(sides):
            sizes = np.ones(len(some)) if weight is None else weight[some]
            counts = np.bincount(codes[some]).tolist()
            self.counts[side] = _merged(self.counts[side], counts)
            self.weights[side] = _added(self.weights[side], codes[some], sizes)
        self.n_rows += n

    @property
    def lengths(self) -> list[int]:
        """Rows of every block."""
        whole, rest = divmod(self.n_rows, max(self.block_rows, 1))
        return [self.block_rows] * whole + [rest] * (rest > 0)

    @property
    def kept(self) -> list[int]:
        """Rows of every block that are not held out."""
        if not self.share:
            return self.lengths
        edges = starts(self.lengths).tolist()
        out = (held_out(a, b - a, self.share) for a, b in pairwise(edges))
        return [n - int(np.count_nonzero(o)) for n, o in zip(self.lengths, out, strict=True)]

    @property
    def value_bytes(self) -> int:
        """Bytes of a stored value, including its index."""
        return np.dtype(self.dtype).itemsize + self.index_bytes

    def present(self) -> list[int]:
        """Codes of labels that have a row of non-zero weight."""
        return sorted({*self.counts[0], *self.counts[1]})

    @property
    def size(self) -> str:
        """Numbers of rows and values, in words."""
        return f"{self.n_rows} rows with {self.n_values} values"

    @property
    def nothing(self) -> str:
        """Why there are no rows to train on."""
        if not self.n_rows:
            return "no row was read; expected some: does a file contain only its header?"
        if any(self.counts[1].values()):
            return (
                f"validation={self.share:g} holds out every row of weight > 0, of {self.n_rows}; "
                "expected some to train on: hold out fewer, or read more rows."
            )
        return (
            f"the weights of all {self.n_rows} rows are 0; expected some above 0: no row is left "
            "to learn from."
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Facts:
        """Restore from plain data, whose keys may have become strings.

        ValueError or TypeError if its entries are not of the types that facts have.
        """
        found = cls(**data)
        found.counts = [{int(code): n for code, n in side.items()} for side in found.counts]
        found.weights = [{int(code): w for code, w in side.items()} for side in found.weights]
        counts = [n for side in found.counts for n in side.values()]
        sums = [w for side in found.weights for w in side.values()]
        whole = (found.n_rows, found.block_rows, found.n_features, found.n_values, found.n_nonzero)
        if any(type(n) is not int or n < 0 for n in (*whole, found.index_bytes, *counts)):
            raise TypeError("counts that are none")
        if any(type(w) is not float or not 0.0 <= w < np.inf for w in sums):
            raise TypeError("weights that are none")
        if len(found.counts) != 2 or len(found.weights) != 2:
            raise ValueError("rows trained on and held out")
        if type(found.surveyed) is not bool or any(type(w) is not str for w in found.witnesses):
            raise TypeError("facts of another type")
        return found

    def check_layout(
        self, lengths: list[int], storage: Storage, dtype: str, features: int, share: float
    ) -> None:
        """Raise ValueError unless these are facts of blocks of these lengths and this storage."""
        known = (self.storage, self.dtype, self.n_features, self.share, self.n_rows)
        if known != (storage, dtype, features, share, sum(lengths)):
            raise ValueError("facts of other rows")
        if self.block_rows != max(lengths) or self.lengths != lengths:
            raise ValueError("facts of other blocks")
        index_bytes = (4, 8) if storage == "csr" else (0,)
        if self.n_values > self.n_rows * features or self.index_bytes not in index_bytes:
            raise ValueError("more values than rows have")

    def check_codes(self, labels: int, codes: int) -> None:
        """Raise ValueError unless all codes are below the number of labels."""
        k = max(labels, 1)
        used = {code for sides in (self.counts, self.weights) for side in sides for code in side}
        if codes > k or not used <= set(range(k)):
            raise ValueError("codes without a label")
        if sum(sum(side.values()) for side in self.counts) > self.n_rows:
            raise ValueError("more rows than there are")


def _merged(total: Mapping[int, int], counts: list[int]) -> dict[int, int]:
    more = {code: count for code, count in enumerate(counts) if count}
    return {code: total.get(code, 0) + more.get(code, 0) for code in sorted({*total, *more})}


def _added(total: Mapping[int, float], codes: Ints, weight: Array) -> dict[int, float]:
    """Sums by code, continued row by row: the bits do not depend on piece boundaries."""
    size = max([int(codes.max(initial=-1)), *total]) + 1
    before = np.zeros(size)
    before[list(total)] = list(total.values())
    sums = np.bincount(np.append(np.arange(size), codes), np.append(before, weight), size)
    return {code: float(sums[code]) for code in np.flatnonzero(sums).tolist()}


def check_weights(weight: Array | None, rows: int, where: Place) -> Array | None:
    """Check that there is one finite weight >= 0 for every row."""
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
            f"{where.row(int(wrong[0]))}: the weight is {weight[wrong[0]]!r}; "
            "expected a finite number, 0 or more: leave out the row, or mend its weight."
        )
    return weight


def starts(lengths: list[int]) -> Ints:
    """Where blocks of these lengths begin."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
