"""Tables of every format give the rows that pyarrow reads from the same file."""

import csv
import gzip
import io
import os
import sys
import threading

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix.data.files.formats import open_reader

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
    return pa.Table.from_batches([piece.X for piece in reader.pieces(columns)])


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


# Standard input and other streams


def test_what_is_read_once_is_spooled_to_a_file_that_goes_with_its_reader(tmp_path):
    reader = open_reader(TABLE.to_reader(max_chunksize=90), block_rows=128)
    assert reader.once
    with pytest.raises(ValueError, match=r"only once.*cache="):
        reader.pieces()
    again = reader.spooled(tmp_path / "cache")
    for _ in range(2):
        assert table_of(again).equals(TABLE)
    assert list((tmp_path / "cache").iterdir())
    del again
    assert not list((tmp_path / "cache").iterdir())


def test_readers_of_files_need_no_spool(tmp_path):
    write_csv(tmp_path / "t.csv")
    reader = open_reader(tmp_path / "t.csv")
    assert reader.spooled(tmp_path / "cache") is reader
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("name", [name for name in WRITERS if name != "t.tsv"])
def test_standard_input(tmp_path, monkeypatch, name):
    WRITERS[name](tmp_path / name)
    stdin = io.TextIOWrapper(io.BytesIO((tmp_path / name).read_bytes()))
    monkeypatch.setattr(sys, "stdin", stdin)
    with pytest.raises(ValueError, match="say format="):
        open_reader("-")
    known = {"feather": "arrow", "arrows": "arrow"}
    suffix = name.split(".")[1]
    reader = open_reader("-", format=known.get(suffix, suffix))
    assert reader.once
    with pytest.raises(ValueError, match=r"standard input can be read only once.*cache="):
        reader.pieces()
    assert table_of(reader.spooled(tmp_path / "cache")).equals(TABLE)


def test_a_pipe(tmp_path):
    pipe = tmp_path / "t.csv"
    os.mkfifo(pipe)
    writer = threading.Thread(target=write_csv, args=(pipe,))
    reader = open_reader(pipe)
    assert reader.once
    writer.start()
    assert table_of(reader.spooled(tmp_path / "cache")).equals(TABLE)
    writer.join()


def test_a_stream_that_is_empty_or_wrong_leaves_no_file(tmp_path):
    for text in (b"", b"ARROW1 perhaps"):
        reader = open_reader(io.BytesIO(text), format="arrow")
        with pytest.raises(ValueError, match=r"empty|no Arrow file"):
            table_of(reader.spooled(tmp_path))
        assert not list(tmp_path.iterdir())


def test_what_a_killed_process_spooled_is_taken_away(tmp_path):
    left = tmp_path / "spool.abc.unfinished"
    left.write_text("half")
    first = open_reader(TABLE.to_reader()).spooled(tmp_path)
    assert not left.exists()
    second = open_reader(TABLE.to_reader()).spooled(tmp_path)
    assert table_of(first).equals(table_of(second))  # that of a living one stays


def test_a_stream_that_breaks_leaves_no_file(tmp_path):
    def broken():
        yield from TABLE.to_batches()
        raise RuntimeError("the line is cut")

    stream = pa.RecordBatchReader.from_batches(TABLE.schema, broken())
    with pytest.raises(Exception, match="the line is cut"):
        open_reader(stream).spooled(tmp_path)
    assert not list(tmp_path.iterdir())


# Types of CSV

CHARACTERS = st.sampled_from(list("a15.-eé0\r\n\t ,;\"'\\"))
MISSING = {"", "NA"}  # of what these characters can make


@settings(max_examples=200, deadline=None)
@given(
    rows=st.lists(st.tuples(*[st.text(CHARACTERS, max_size=6)] * 2), min_size=1, max_size=30),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    chunk=st.sampled_from([1, 7, 100, 1 << 18]),
)
def test_values_are_those_that_were_written(tmp_path_factory, rows, quoting, chunk):
    path = tmp_path_factory.getbasetemp() / "any.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=quoting)
        writer.writerows([("a", "b"), *rows])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("separatrix.data.files.csv.CHUNK_BYTES", chunk)
        found = table_of(open_reader(path))
    for name, written in zip("ab", zip(*rows, strict=True), strict=True):
        convert = {"string": str, "int64": int, "double": float}.get(str(found[name].type))
        expected = [None if value in MISSING else convert(value) for value in written]
        assert found[name].to_pylist() == expected


def csv_types(tmp_path, text, **options):
    (tmp_path / "t.csv").write_text(text)
    return open_reader(tmp_path / "t.csv", **options)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "2"], pa.int64()),
        (["1", "2.5"], pa.float64()),
        (["1", " 2 "], pa.int64()),
        (["1", "1e300", ".5"], pa.float64()),
        (["1", "12345678901234567890"], pa.float64()),
        (["true", "False"], pa.bool_()),
        (["", "NA"], pa.null()),
        (["", "3"], pa.int64()),
        (["a", ""], pa.string()),
        (["true", "perhaps"], pa.string()),
        (["true", "1"], pa.string()),
        (["1", "true"], pa.string()),
        (["1_000", "2"], pa.string()),
    ],
)
@pytest.mark.parametrize("apart", [False, True])
def test_types_come_from_all_rows(tmp_path, monkeypatch, values, kind, apart):
    """Whether the values come in one block or in many, and in whichever file they are."""
    monkeypatch.setattr("separatrix.data.files.csv.CHUNK_BYTES", 32 if apart else 1 << 20)
    filler = ",y\n" * (20 if apart else 0)
    rows = "".join(f'"{value}",x\n{filler}' for value in values)
    reader = csv_types(tmp_path, f"v,w\n{rows}")
    assert reader.schema.field("v").type == kind
    found = table_of(reader)["v"].drop_null()
    assert len(found) == len([value for value in values if value not in ("", "NA")])


def test_numbers_are_those_of_pandas(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=500) * 10.0 ** rng.integers(-300, 300, 500)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    found = table_of(open_reader(tmp_path / "t.csv"))["x"].to_numpy()
    assert np.array_equal(found, frame["x"].to_numpy())


def test_a_word_in_the_last_line_is_told_with_file_and_line(tmp_path):
    text = "a,b\n" + "1,x\n" * 5000 + "\n" + '2,"two\nlines"\n' + "none,x\n"
    reader = csv_types(tmp_path, text)
    assert reader.schema.field("a").type == pa.string()
    assert list(reader.mixed()) == ["a"]
    said = reader.mixed()["a"]()
    assert "t.csv, line 5005" in said
    assert "'none'" in said
    assert "such as 1 " in said
    assert "categorical={'a': 'onehot'}" in said


@pytest.mark.parametrize("block", [16, 1 << 20])
def test_numbers_among_words_are_told_too(tmp_path, monkeypatch, block):
    monkeypatch.setattr("separatrix.data.files.csv.CHUNK_BYTES", block)
    reader = csv_types(tmp_path, "a,b\n" + "?,1\n" * 50 + "7,1\n")
    assert "line 2: column 'a' holds '?', but numbers such as 7" in reader.mixed()["a"]()
    assert not csv_types(tmp_path, "a,b\nred,1\nblue,2.5\ntrue,\n").mixed()


def test_words_among_the_numbers_of_another_file(tmp_path):
    (tmp_path / "0.csv").write_text("a,b\n1,1\n")
    (tmp_path / "1.csv").write_text("b,a\n1,1\n1,one\n")
    reader = open_reader(tmp_path / "*.csv")
    assert "1.csv, line 3" in reader.mixed()["a"]()
    assert table_of(reader).to_pydict() == {"a": ["1", "1", "one"], "b": [1, 1, 1]}


def test_words_that_look_like_numbers_stay_as_they_are_written(tmp_path):
    reader = csv_types(tmp_path, "a,b\n1.50,1\n02,2\n")
    reader = reader.with_text(["a"])
    assert table_of(reader).to_pydict() == {"a": ["1.50", "02"], "b": [1, 2]}
    mixed = csv_types(tmp_path, "a,b\n1.50,1\nx,2\n")
    assert list(mixed.mixed()) == ["a"]
    assert not mixed.with_text(["a"]).mixed()
    assert list(mixed.mixed()) == ["a"]


def test_rows_longer_than_a_chunk(tmp_path, monkeypatch):
    monkeypatch.setattr("separatrix.data.files.csv.CHUNK_BYTES", 64)
    text = "a,b\n" + "1,2\n" * 40 + f"3,{'x' * 5000}\n" + "4,5\n"
    reader = csv_types(tmp_path, text)
    assert table_of(reader)["a"].to_pylist() == [1] * 40 + [3, 4]


def test_the_numbers_of_rows_that_pandas_and_r_write_are_no_column(tmp_path):
    TABLE.to_pandas().to_csv(tmp_path / "t.csv")
    assert table_of(open_reader(tmp_path / "t.csv")).equals(TABLE)
    TABLE.to_pandas().sample(frac=1, random_state=0).to_parquet(tmp_path / "t.parquet")
    assert open_reader(tmp_path / "t.parquet").schema.names == TABLE.column_names


def test_a_byte_order_mark_and_carriage_returns(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"\xef\xbb\xbfa,b\r\n1,2\r\n3,4\r\n")
    assert table_of(open_reader(tmp_path / "t.csv")).to_pydict() == {"a": [1, 3], "b": [2, 4]}


def test_gzip_files_that_were_joined(tmp_path):
    parts = gzip.compress(b"a,b\n1,2\n") + gzip.compress(b"3,4\n")
    (tmp_path / "t.csv.gz").write_bytes(parts)
    assert table_of(open_reader(tmp_path / "t.csv.gz"))["a"].to_pylist() == [1, 3]


def test_line_ends_within_values_survive_at_every_edge(tmp_path, monkeypatch):
    """Arrow's own reader loses the LF of a CR LF that stands where two of its blocks meet."""
    values = ["one\r\ntwo", "\r\n", 'a "\r\n" b', "\r", "x"]
    with (tmp_path / "t.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("a", "b"), *((value, 1) for value in values)])
    for chunk in range(1, 80):
        monkeypatch.setattr("separatrix.data.files.csv.CHUNK_BYTES", chunk)
        assert table_of(open_reader(tmp_path / "t.csv"))["a"].to_pylist() == values


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_quotes_that_quote_nothing_and_every_line_end(tmp_path, monkeypatch, end):
    lines = ['\ufeff"a,\nb",c', '5" disk,1', '"x"y"z,2', '"he said ""no""",3', "", '"",4', 'last"']
    text = end.join(lines) + ",5" + end
    (tmp_path / "t.csv").write_bytes(text.encode())
    expected = {"a,\nb": ['5" disk', 'xy"z', 'he said "no"', None, 'last"'], "c": [1, 2, 3, 4, 5]}
    for chunk in (*range(1, 60), 1 << 20):
        monkeypatch.setattr("separatrix.data.files.csv.CHUNK_BYTES", chunk)
        assert table_of(open_reader(tmp_path / "t.csv")).to_pydict() == expected


def test_a_quote_that_closes_nowhere_near_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr("separatrix.data.files.csv.CHUNK_BYTES", 16)
    monkeypatch.setattr("separatrix.data.files.csv_chunks.LONGEST_ROW", 100)
    with pytest.raises(ValueError, match=r"t\.csv, line 3 opens a quote that is never closed"):
        _ = csv_types(tmp_path, 'a,b\n1,x\n2,"y\n' + "3,z\n" * 100).schema
    with pytest.raises(ValueError, match=r"t\.csv has a row of more than 256 MB"):
        _ = csv_types(tmp_path, 'a,b\n1,x\n2,"y\n' + "3,z\n" * 100 + '"\n').schema
