"""Parquet files, a few pages at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from .reader import Place
from .tables import TypedFiles, brought_to, explained, kind_is_text, selected

REMEDY = "it was cut off or damaged, or is no Parquet file; write or fetch it anew."
PART_BYTES = 32 << 20  # that row groups have, where workers read some each: decoded, some more
DICTIONARY_BYTES = 4 << 20  # of a column in a row group: writers end a dictionary at 1 MB
BUFFER_BYTES = 1 << 20  # read at once for each column


class ParquetReader(TypedFiles):
    """Row group by row group; of each, only the pages that a batch needs are in memory."""

    format = "parquet"

    def _schema(self, path: Path) -> pa.Schema:
        with self.files.unchanged(path), _opened(path) as file:
            return file.schema_arrow

    def parts_of(self, path: Path) -> list[tuple[int, int] | None]:
        """Row groups side by side, until they are worth a part."""
        with self.files.unchanged(path), _opened(path) as file:
            groups = map(file.metadata.row_group, range(file.num_row_groups))
            sizes = [group.total_byte_size for group in groups]
        ends, size = [0], 0
        for group, more in enumerate(sizes):
            size += more
            if size >= PART_BYTES or group + 1 == len(sizes):
                ends.append(group + 1)
                size = 0
        return list(pairwise(ends)) or [None]

    def _first_row(self, path: Path) -> int:
        if self.stretch is None:
            return 0
        with self.files.unchanged(path), _opened(path) as file:
            return sum(file.metadata.row_group(at).num_rows for at in range(self.stretch[0]))

    def _batches(self, path: Path, columns: list[str]) -> Iterator[tuple[pa.RecordBatch, Place]]:
        schema = selected(self.schema, columns)
        with self.files.unchanged(path), _opened(path) as file:
            try:
                words = _dictionaries(file, columns)
            except (pa.ArrowException, OSError) as error:
                raise explained(error, str(path), REMEDY) from error
        with self.files.unchanged(path), _opened(path, words) as file:
            for group in range(*(self.stretch or (0, file.num_row_groups))):
                where = f"{path}, row group {group}"
                batches = file.iter_batches(
                    self.block_rows, row_groups=[group], columns=columns, use_threads=False
                )
                try:
                    for batch in batches:
                        batch.validate(full=True)  # Parquet's reader takes any bytes for text
                        yield brought_to(batch, schema), Place(where)
                except (pa.ArrowException, OSError) as error:
                    raise explained(error, where, REMEDY) from error


def _dictionaries(file: pq.ParquetFile, columns: list[str]) -> list[str]:
    """Columns of text to be read as dictionaries, so that their size is known before rows are made.

    One text of a page may stand in every row. Arrow keeps the dictionary of a whole row group: of
    larger ones, which have many different values, it would take too long.
    """
    words = {field.name for field in file.schema_arrow if kind_is_text(field.type)} & {*columns}
    if not words or not file.num_row_groups:
        return []
    # Metadata of columns that contradict the schema end the process where they are asked for, but
    # are an error where rows are read: so one row of every group is read before.
    for number in range(file.num_row_groups):
        next(file.iter_batches(1, row_groups=[number], columns=[*words], use_threads=False), None)
    groups = [file.metadata.row_group(number) for number in range(file.num_row_groups)]
    places = {name: at for at, name in enumerate(_paths(file)) if name in words}
    return [
        name
        for name, at in places.items()
        if all(group.column(at).total_uncompressed_size <= DICTIONARY_BYTES for group in groups)
    ]


def _paths(file: pq.ParquetFile) -> list[str]:
    """Names of the stored columns, nested ones with dots."""
    return [file.schema.column(at).path for at in range(len(file.schema))]


@contextmanager
def _opened(path: Path, words: list[str] | None = None) -> Iterator[pq.ParquetFile]:
    """Without pyarrow's own reading ahead, which holds whole row groups.

    ``words``: columns that are read as dictionaries.
    """
    with pa.OSFile(os.fsencode(path)) as raw:
        try:
            file = pq.ParquetFile(
                raw, pre_buffer=False, buffer_size=BUFFER_BYTES, page_checksum_verification=True,
                read_dictionary=words,
            )  # fmt: skip
        except (pa.ArrowException, OSError) as error:
            raise explained(error, str(path), REMEDY) from error
        with file:
            yield file
