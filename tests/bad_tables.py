"""Tables that are written to be damaged, and how they are read."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

from separatrix.data.files.readers.formats import open_reader

TABLE = pa.table({"x": np.arange(4000) / 3, "y": np.arange(4000) % 2})


def read(what, **options):
    return sum(piece.X.num_rows for piece in open_reader(what, **options).pieces())


def write(path, format):
    if format == "parquet":
        pa.parquet.write_table(TABLE, path, row_group_size=1000)
    elif format == "arrow":
        pa.feather.write_feather(TABLE, path, chunksize=1000)
    elif format == "stream":
        with pa.ipc.new_stream(str(path), TABLE.schema) as file:
            file.write_table(TABLE, max_chunksize=1000)
    elif format == "csv":
        pa.csv.write_csv(TABLE, path)
    else:
        with pa.OSFile(str(path), "w") as raw, pa.CompressedOutputStream(raw, format) as file:
            pa.csv.write_csv(TABLE, file)


def bad_csv(tmp_path, text):
    (tmp_path / "t.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    return tmp_path / "t.csv"


def labelled(tmp_path, *last):
    rows = "".join(f"{i % 7},{'red' if i % 2 else 'blue'},{i % 3 > 1}\n" for i in range(3000))
    return bad_csv(tmp_path, "size,colour,label\n" + rows + "\n".join(last))
