"""Partitions of a Dask frame, encoded on the workers that hold them, as files are.

A first pass finds types, categories and means, which are merged along the tree. Then each worker
encodes its partitions and keeps the numbers in place of the frame. A partition that is lost is
computed and encoded again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ..files.readers.frames import arrow_table
from ..files.readers.reader import Piece, Place, SharedParts, TableReader
from ..files.readers.tables import brought_to, cut, plain_schema, selected, unified
from .parts import Part

PIECE_ROWS = 1 << 13  # encoded at a time


@dataclass(frozen=True)
class FrameTypes:
    """The types of the columns of some partitions."""

    schema: pa.Schema
    first: str
    """The first of the partitions."""

    def __add__(self, other: FrameTypes) -> FrameTypes:
        """The types that hold the values of both."""
        return FrameTypes(unified(self.schema, other.schema, self.first, other.first), self.first)


class FrameReader(SharedParts, TableReader):
    """The rows of one partition; without a table, all that is known about all of them."""

    def __init__(
        self, name: str, table: pa.Table | None = None, schema: pa.Schema | None = None
    ) -> None:
        self.name, self.table, self._schema = name, table, schema

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns, the same for all partitions."""
        assert self._schema is not None, "the types come from all partitions"
        return self._schema

    def identity(self) -> dict[str, Any]:
        """Nothing lasting identifies rows in memory, and no cache of them is written."""
        return {"format": "stream", "token": self.name}

    def findings(self) -> FrameTypes:
        """The types of this partition."""
        assert self.table is not None
        return FrameTypes(plain_schema(self.table.schema, self.name), self.name)

    def common(self, findings: Any = None) -> Any:
        """The types, which depend on all partitions."""
        return None if findings is None else findings.schema

    def as_part(self, common: Any, stretch: tuple[int, int] | None = None) -> FrameReader:
        """The same partition with the types of all."""
        return FrameReader(self.name, self.table, common)

    def pieces(self, columns: Sequence[str] | None = None) -> Iterator[Piece]:
        """All rows of the partition, which may have none."""
        schema, start = selected(self.schema, columns), 0
        for batch in () if self.table is None else self.table.select(schema.names).to_batches():
            yield from cut(brought_to(batch, schema), Place(self.name), start, PIECE_ROWS)
            start += batch.num_rows


@dataclass(frozen=True)
class FramePart:
    """A partition of a Dask frame where it is held."""

    table: pa.Table
    name: str

    def __str__(self) -> str:
        return self.name

    def findings(self) -> Any:
        """Its types."""
        return FrameReader(self.name, self.table).findings()

    def open(self, common: Any) -> FrameReader:
        """Its reader, given the types of all partitions."""
        return FrameReader(self.name, self.table, common)


def framed(number: int, frame: Any) -> Part:
    """A part whose rows are still a frame."""
    name = f"partition {number} of the Dask frame"
    file = FramePart(arrow_table(frame, name), name)
    return Part(number, None, np.empty(0), None, None, file=file)
