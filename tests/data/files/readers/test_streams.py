"""What can be read only once is kept in a file that goes with its reader."""

import io
import os
import sys
import threading

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from written_tables import TABLE, WRITERS, table_of, write_csv

from separatrix.data.files.readers.formats import open_reader

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
    with pytest.raises(ValueError, match="pass format="):
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
