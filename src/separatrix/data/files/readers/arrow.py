"""Arrow's own files: IPC (also called Feather), and streams that were written to a file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from .reader import Place
from .tables import TypedFiles, brought_to, explained, selected

MAGIC = b"ARROW1"
END_OF_STREAM = b"\xff\xff\xff\xff\x00\x00\x00\x00"
REMEDY = "it was cut off or damaged, or is no Arrow file; write or fetch it anew."


class ArrowReader(TypedFiles):
    """Record batch by record batch: the largest of a file must fit into memory.

    Files are read, not mapped into memory: a mapped file that is cut off kills the process.
    """

    format = "arrow"

    def _schema(self, path: Path) -> pa.Schema:
        with self.files.unchanged(path), _opened(path) as reader:
            return reader.schema

    def _batches(self, path: Path, columns: list[str]) -> Iterator[tuple[pa.RecordBatch, Place]]:
        with self.files.unchanged(path):
            names, schema = self._schema(path).names, selected(self.schema, columns)
            chosen = sorted(names.index(name) for name in columns)
            with _opened(path, chosen) as reader:
                for number in range(getattr(reader, "num_record_batches", 1 << 62)):
                    where = f"{path}, record batch {number}"
                    try:
                        batch = _batch(reader, number)
                        if batch is not None:
                            batch.validate(full=True)  # else wrong offsets are followed anywhere
                    except (pa.ArrowException, OSError) as error:
                        raise explained(error, where, REMEDY) from error
                    if batch is None:
                        break
                    yield brought_to(batch, schema), Place(where)


def _batch(reader: Any, number: int) -> pa.RecordBatch | None:
    """The batch of that number of a file; the next of a stream, None at its end."""
    if isinstance(reader, pa.RecordBatchFileReader):
        return reader.get_batch(number)
    try:
        return reader.read_next_batch()
    except StopIteration:
        return None


@contextmanager
def _opened(path: Path, chosen: list[int] | None = None) -> Iterator[Any]:
    """A reader of the file or stream, of these columns."""
    options = pa.ipc.IpcReadOptions(included_fields=chosen, use_threads=False)
    with path.open("rb") as plain:
        is_file = plain.read(len(MAGIC)) == MAGIC
        if not is_file:
            _check_end(plain, path)
    with pa.OSFile(os.fsencode(path)) as raw:
        open_one = pa.ipc.open_file if is_file else pa.ipc.open_stream
        try:
            reader = open_one(raw, options=options)
        except (pa.ArrowException, OSError) as error:
            raise explained(error, str(path), REMEDY) from error
        with reader:
            yield reader


def _check_end(plain: Any, path: Path) -> None:
    """A stream that was cut off between two batches would only seem shorter."""
    plain.seek(-min(len(END_OF_STREAM), path.stat().st_size), 2)
    if plain.read() != END_OF_STREAM:
        raise ValueError(f"{path} has neither the beginning nor the end of an Arrow file: {REMEDY}")
