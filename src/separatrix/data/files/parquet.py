"""Parquet files, a few pages at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from .reader import Place
from .tables import TableFiles, explained

REMEDY = "it was cut off or damaged, or is no Parquet file; write or fetch it anew."
BUFFER_BYTES = 1 << 20  # read at once for each column


class ParquetReader(TableFiles):
    """Row group by row group; of each, only the pages that a batch needs are in memory."""

    format = "parquet"

    def _schema(self, path: Path) -> pa.Schema:
        with self.files.unchanged(path), _opened(path) as file:
            return file.schema_arrow

    def _batches(self, path: Path, columns: list[str]) -> Iterator[tuple[pa.RecordBatch, Place]]:
        with self.files.unchanged(path), _opened(path) as file:
            for group in range(file.num_row_groups):
                where = f"{path}, row group {group}"
                batches = file.iter_batches(
                    self.block_rows, row_groups=[group], columns=columns, use_threads=False
                )
                try:
                    for batch in batches:
                        yield batch, Place(where)
                except (pa.ArrowException, OSError) as error:
                    raise explained(error, where, REMEDY) from error


@contextmanager
def _opened(path: Path) -> Iterator[pq.ParquetFile]:
    """Without pyarrow's own reading ahead, which holds whole row groups."""
    with pa.OSFile(str(path)) as raw:
        try:
            file = pq.ParquetFile(
                raw, pre_buffer=False, buffer_size=BUFFER_BYTES, page_checksum_verification=True
            )
        except (pa.ArrowException, OSError) as error:
            raise explained(error, str(path), REMEDY) from error
        with file:
            yield file
