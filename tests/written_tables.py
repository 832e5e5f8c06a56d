"""One table, written in every format, and read again."""

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

ROWS = 1000


TABLE = pa.table(
    {
        "count": np.arange(ROWS),
        "length": np.arange(ROWS) / 7,
        "colour": ["red", "green, or blue"] * (ROWS // 2),
        "new": [True, False] * (ROWS // 2),
    }
)


def write_csv(path, table=TABLE):
    pa.csv.write_csv(table, path)


def write_compressed(path, codec):
    with pa.OSFile(str(path), "w") as raw, pa.CompressedOutputStream(raw, codec) as file:
        pa.csv.write_csv(TABLE, file)


def write_stream(path):
    with pa.ipc.new_stream(str(path), TABLE.schema) as file:
        file.write_table(TABLE, max_chunksize=170)


WRITERS = {
    "t.parquet": lambda path: pa.parquet.write_table(TABLE, path, row_group_size=300),
    "t.feather": lambda path: pa.feather.write_feather(TABLE, path, chunksize=300),
    "t.arrows": write_stream,
    "t.csv": write_csv,
    "t.tsv": lambda path: pl.from_arrow(TABLE).write_csv(path, separator="\t"),
    "t.csv.gz": lambda path: write_compressed(path, "gzip"),
    "t.csv.zst": lambda path: write_compressed(path, "zstd"),
    "t.csv.bz2": lambda path: write_compressed(path, "bz2"),
}


def table_of(reader, columns=None):
    return pa.Table.from_batches([arrow_batch(piece.X) for piece in reader.pieces(columns)])


def arrow_batch(batch):
    """A batch of a reader as Arrow's."""
    if isinstance(batch, pa.RecordBatch):
        return batch
    columns = [batch.column(name) for name in batch.names]
    columns = [
        column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
        for column in columns
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.names)
