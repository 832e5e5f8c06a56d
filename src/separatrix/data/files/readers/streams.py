"""Tables of other libraries, and what can be read only once and is spooled to a file first."""

from __future__ import annotations

import os
import shutil
import uuid
import weakref
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from ....numeric.lazy import cached_property
from ..unfinished import locked_file, remove_abandoned
from .arrow import ArrowReader
from .paths import Files, named_as
from .reader import Piece, Place, Reader, TableReader
from .tables import brought_to, cut, plain_schema, selected

COPIED = 1 << 20  # bytes at a time


class StreamReader(TableReader):
    """Columns of an object in memory or of a query, which is run anew for each pass.

    Only the number of rows is checked to be the same at each pass.
    """

    def __init__(self, what: Any, block_rows: int) -> None:
        self.what = what
        self.name = f"the {type(what).__module__.partition('.')[0]} {type(what).__name__}"
        self.block_rows = block_rows
        self.token = uuid.uuid4().hex
        self.n_rows: int | None = None

    @cached_property
    def schema(self) -> pa.Schema:
        return plain_schema(self._schema(), self.name)

    @abstractmethod
    def _schema(self) -> pa.Schema:
        """Names and types of the columns."""

    @abstractmethod
    def _batches(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        """The rows, with these columns at least."""

    def identity(self) -> dict[str, Any]:
        """Unique: rows in memory have no lasting name."""
        return {"format": "stream", "token": self.token}

    def pieces(self, columns: Sequence[str] | None = None) -> Iterator[Piece]:
        schema = selected(self.schema, columns)
        n_rows = 0
        for batch in self._batches(schema.names):
            yield from cut(brought_to(batch, schema), Place(self.name), n_rows, self.block_rows)
            n_rows += batch.num_rows
        if self.n_rows not in (None, n_rows):
            raise ValueError(
                f"{self.name} gave {self.n_rows} rows at first and {n_rows} now; expected the same "
                "rows again: pass cache= so that it is read only once."
            )
        if n_rows == 0:
            raise ValueError(f"{self.name} has columns but no rows; expected at least two.")
        self.n_rows = n_rows


class ObjectReader(StreamReader):
    """An object with ``__arrow_c_stream__``: of pyarrow, polars, pandas, DuckDB and others."""

    def _schema(self) -> pa.Schema:
        return pa.RecordBatchReader.from_stream(self.what).schema

    def _batches(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        yield from pa.RecordBatchReader.from_stream(self.what)


class LazyFrameReader(StreamReader):
    """A query of polars, run batch by batch by its streaming engine, with only these columns.

    How much memory that takes is for polars to say: it reads ahead, and sorting and joining may
    need all rows. Of a file that this package reads, its name takes less.
    """

    def _schema(self) -> pa.Schema:
        return _arrow_schema(self.what.limit(0).collect())

    def _batches(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        frames = self.what.select(columns).collect_batches(
            chunk_size=self.block_rows, maintain_order=True, lazy=True
        )
        for frame in frames:
            yield from pa.RecordBatchReader.from_stream(frame)


def _arrow_schema(frame: Any) -> pa.Schema:
    return pa.RecordBatchReader.from_stream(frame).schema


class BatchStream(TableReader):
    """A RecordBatchReader: its batches are gone when they were read."""

    once = True
    name = "the RecordBatchReader"

    def __init__(self, batches: pa.RecordBatchReader, block_rows: int) -> None:
        self.batches, self.block_rows = batches, block_rows
        self.token = uuid.uuid4().hex

    @property
    def schema(self) -> pa.Schema:
        return plain_schema(self.batches.schema, self.name)

    def identity(self) -> dict[str, Any]:
        return {"format": "stream", "token": self.token}

    def pieces(self, columns: Sequence[str] | None = None) -> Iterator[Piece]:
        """Refused: a fit reads its rows again and again."""
        raise ValueError(read_once("a RecordBatchReader"))

    def spooled(self, folder: Path) -> Reader:
        """Its batches, in an Arrow file."""
        with _spool(folder, self.name) as spool:
            with pa.ipc.new_file(str(spool.path), self.schema) as file:
                for batch in self.batches:
                    for piece in cut(brought_to(batch, self.schema), Place(), 0, self.block_rows):
                        file.write_batch(piece.X)
            return spool.kept_by(ArrowReader(Files([spool.path]), self.block_rows))


class ByteStream(Reader):
    """Standard input, or another stream of bytes: gone when they were read."""

    once = True

    def __init__(
        self,
        open_bytes: Callable[[], AbstractContextManager[BinaryIO]],
        name: str,
        open_file: Callable[[Files], Reader],
    ) -> None:
        self.open_bytes, self.name, self.open_file = open_bytes, name, open_file
        self.token = uuid.uuid4().hex

    def identity(self) -> dict[str, Any]:
        return {"format": "stream", "token": self.token}

    def pieces(self) -> Iterator[Piece]:
        """Refused: a fit reads its rows again and again."""
        raise ValueError(read_once(self.name))

    def spooled(self, folder: Path) -> Reader:
        with _spool(folder, self.name) as spool:
            with self.open_bytes() as bytes, spool.path.open("wb") as file:
                shutil.copyfileobj(bytes, file, COPIED)
            return spool.kept_by(self.open_file(Files([spool.path])))


def read_once(name: str) -> str:
    """Why it is refused, and what to do."""
    return (
        f"{name} can be read only once, and a fit reads its rows again and again: pass "
        'cache="auto" (or a folder), where they are kept meanwhile.'
    )


class _Spool:
    """A locked file, so that it is not removed as abandoned, deleted with its reader."""

    def __init__(self, folder: Path, name: str) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        remove_abandoned(folder)
        self._descriptor, path = locked_file(folder, "spool")
        self.path, self.name = Path(path), name

    def kept_by(self, reader: Reader) -> Reader:
        """The reader, with which it goes, and which goes by the name of what was given."""
        reader.name, reader.spool = self.name, self.path
        weakref.finalize(reader, self.remove)
        return reader

    def remove(self) -> None:
        """Leave nothing behind."""
        self.path.unlink(missing_ok=True)
        os.close(self._descriptor)


@contextmanager
def _spool(folder: Path, name: str) -> Iterator[_Spool]:
    """A new file, taken away again if it cannot be written to its end."""
    spool = _Spool(folder, name)
    try:
        with named_as(name, spool.path):
            yield spool
    except BaseException:
        spool.remove()
        raise
