"""Frames in memory as Arrow tables: without the index of pandas, which is no column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from .reader import Piece, Place, SharedParts, TableReader
from .tables import brought_to, cut, explained, plain_schema, selected, unified

PIECE_ROWS = 1 << 13  # encoded at a time
REMEDY = "convert the column to one type, such as str or float."


def is_pandas(frame: Any) -> bool:
    """Whether this is a frame of pandas; does not import it."""
    return type(frame).__module__.partition(".")[0] == "pandas"


def arrow_table(frame: Any, name: str) -> pa.Table:
    """The columns of a frame of pandas, polars, pyarrow or others; ``name`` is for errors."""
    try:
        if is_pandas(frame):
            return pa.Table.from_pandas(frame, preserve_index=False)
        return pa.RecordBatchReader.from_stream(frame).read_all()
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise explained(error, name, REMEDY) from error


@dataclass(frozen=True)
class FrameTypes:
    """The types of the columns of some partitions."""

    schema: pa.Schema
    first: str  # the first of the partitions

    def __add__(self, other: FrameTypes) -> FrameTypes:
        """The types that hold the values of both."""
        return FrameTypes(unified(self.schema, other.schema, self.first, other.first), self.first)


class FrameReader(SharedParts, TableReader):
    """The rows of a frame, or of one partition; without a table, what all partitions share."""

    def __init__(
        self, name: str, table: pa.Table | None = None, schema: pa.Schema | None = None
    ) -> None:
        self.name, self.table, self._schema = name, table, schema

    @property
    def schema(self) -> pa.Schema:
        assert self._schema is not None, "the types come from all partitions"
        return self._schema

    def identity(self) -> dict[str, Any]:
        """Nothing lasting identifies rows in memory, and no cache of them is written."""
        return {"format": "stream", "token": self.name}

    def findings(self) -> FrameTypes:
        assert self.table is not None
        return FrameTypes(plain_schema(self.table.schema, self.name), self.name)

    def common(self, findings: Any = None) -> Any:
        """The types, which depend on all partitions."""
        return None if findings is None else findings.schema

    def as_part(self, common: Any, stretch: tuple[int, int] | None = None) -> FrameReader:
        return FrameReader(self.name, self.table, common)

    def pieces(self, columns: Sequence[str] | None = None) -> Iterator[Piece]:
        """All rows of the partition, which may have none."""
        schema, start = selected(self.schema, columns), 0
        for batch in () if self.table is None else self.table.select(schema.names).to_batches():
            yield from cut(brought_to(batch, schema), Place(self.name), start, PIECE_ROWS)
            start += batch.num_rows
