"""Tables of every format give the rows that pyarrow reads from the same file."""

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from written_tables import ROWS, TABLE, WRITERS, table_of, write_csv

from separatrix.data.files.readers.formats import open_reader


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_rows_again_and_again(tmp_path, name):
    WRITERS[name](tmp_path / name)
    reader = open_reader(tmp_path / name, block_rows=128)
    assert not reader.once
    assert reader.schema == TABLE.schema
    for _ in range(2):
        assert table_of(reader).equals(TABLE)
    assert max(piece.X.num_rows for piece in reader.pieces()) <= 128
    assert reader.identity() == open_reader(str(tmp_path / name)).identity()


@pytest.mark.parametrize("name", WRITERS)
def test_only_some_columns_in_the_order_asked_for(tmp_path, name):
    WRITERS[name](tmp_path / name)
    columns = ["colour", "count"]
    assert table_of(open_reader(tmp_path / name), columns).equals(TABLE.select(columns))
    with pytest.raises(ValueError, match=r"no columns \['size'\].*'length'"):
        list(open_reader(tmp_path / name).pieces(["size"]))


@pytest.mark.parametrize("name", WRITERS)
def test_pieces_say_where_they_are(tmp_path, name):
    WRITERS[name](tmp_path / name)
    *_, last = open_reader(tmp_path / name, block_rows=100).pieces()
    row, last_row = ROWS - last.X.num_rows, f"row {ROWS - 1} (counted from 0)"
    place = f"row {row}"
    if ".csv" in name or ".tsv" in name:  # the names come first, and lines are counted from 1 on
        place, last_row = f"line {row + 2}", f"line {ROWS + 1}"
    assert str(last.where).startswith(str(tmp_path / name))
    assert str(last.where).endswith(f", from {place}")
    assert last.where.row(last.X.num_rows - 1).endswith(f", {last_row}")


OBJECTS = {
    "pyarrow": lambda: TABLE,
    "batch": lambda: TABLE.combine_chunks().to_batches()[0],
    "polars": lambda: pl.from_arrow(TABLE),
    "pandas": lambda: TABLE.to_pandas(),
    "pandas with an index": lambda: TABLE.to_pandas().set_index(np.arange(ROWS)[::-1]),
    "lazy": lambda: pl.from_arrow(TABLE).lazy(),
    "lazy query": lambda: pl.concat([pl.from_arrow(TABLE)] * 2).lazy().head(ROWS),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_of_other_libraries(name):
    reader = open_reader(OBJECTS[name](), block_rows=128)
    for _ in range(2):
        assert table_of(reader).equals(TABLE)
    assert table_of(reader, ["new", "length"]).equals(TABLE.select(["new", "length"]))
    assert max(piece.X.num_rows for piece in reader.pieces()) <= 128
    assert reader.identity() != open_reader(OBJECTS[name]()).identity()


def test_dictionaries_stay_and_views_become_text():
    frame = pl.DataFrame({"size": ["s", "m", "s"]}, schema={"size": pl.Categorical})
    reader = open_reader(frame)
    assert pa.types.is_dictionary(reader.schema.field("size").type)
    assert reader.schema.field("size").type.value_type == pa.string()
    assert table_of(reader)["size"].to_pylist() == ["s", "m", "s"]


def test_a_query_whose_rows_change_is_noticed():
    class Growing:
        rows = 1

        def __arrow_c_stream__(self, schema=None):
            self.rows += 1
            return pa.table({"x": range(self.rows)}).__arrow_c_stream__(schema)

    reader = open_reader(Growing())
    list(reader.pieces())
    with pytest.raises(ValueError, match="gave 3 rows at first and 4 now"):
        list(reader.pieces())


def test_globs_and_lists_read_files_one_after_another(tmp_path):
    for number in (2, 0, 1):
        part = TABLE.slice(100 * number, 100)
        pa.parquet.write_table(part, tmp_path / f"part-{number}.parquet")
    assert table_of(open_reader(tmp_path / "part-*.parquet")).equals(TABLE.slice(0, 300))
    some = [tmp_path / "part-2.parquet", str(tmp_path / "part-[0]*")]
    expected = pa.concat_tables([TABLE.slice(200, 100), TABLE.slice(0, 100)])
    assert table_of(open_reader(some)).equals(expected)


def test_a_file_whose_name_looks_like_a_glob(tmp_path):
    write_csv(tmp_path / "part[1].csv")
    assert table_of(open_reader(tmp_path / "part[1].csv")).equals(TABLE)


def test_files_may_order_columns_otherwise_and_have_narrower_types(tmp_path):
    narrow = pa.table({"x": pa.array([1, 2], pa.int32()), "s": ["a", "b"]})
    wide = pa.table({"s": pa.array(["c"]).dictionary_encode(), "x": [0.5]})
    pa.parquet.write_table(narrow, tmp_path / "0.parquet")
    pa.parquet.write_table(wide, tmp_path / "1.parquet")
    found = table_of(open_reader(tmp_path / "*.parquet"))
    assert found.to_pydict() == {"x": [1.0, 2.0, 0.5], "s": ["a", "b", "c"]}
