"""Files that differ from each other or from pass to pass, and what is read once."""

import gc
import io
import lzma
import os
import sys

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from bad_tables import TABLE, labelled, read, write

import separatrix
from separatrix.data.files.formats import open_reader


def test_standard_input_is_read_with_a_cache(tmp_path):
    text = labelled(tmp_path).read_bytes()
    whole = separatrix.read(tmp_path / "t.csv", target="label")
    with pytest.raises(ValueError, match=r"only once.*cache="):
        separatrix.read(io.BytesIO(text), format="csv", target="label")
    stream = separatrix.read(
        io.BytesIO(text), format="csv", target="label", cache=tmp_path / "cache"
    )
    assert (stream.n_rows, stream.n_features) == (whole.n_rows, whole.n_features)
    assert stream.fingerprint() == whole.fingerprint()
    del stream
    gc.collect()
    assert not list((tmp_path / "cache").iterdir())  # no later run could know it again


def test_later_runs_with_a_cache_do_not_read_the_text(tmp_path, monkeypatch):
    path = labelled(tmp_path)
    first = separatrix.read(path, target="label", cache=tmp_path / "cache")

    def parsed(*_):
        raise AssertionError("the text is read again")

    monkeypatch.setattr("separatrix.data.files.csv.CsvReader._parsed", parsed)
    again = separatrix.read(path, target="label", cache=tmp_path / "cache")
    assert again.fingerprint() == first.fingerprint()


def test_a_compression_that_arrow_does_not_know(tmp_path):
    (tmp_path / "t.csv.xz").write_bytes(lzma.compress(b"x,y\n1,2\n"))
    with pytest.raises(ValueError, match=r"t\.csv\.xz is compressed by xz; expected .*gzip"):
        read(tmp_path / "t.csv.xz")


# Several files


@pytest.mark.parametrize("format", ["parquet", "csv", "arrow"])
def test_files_with_different_columns(tmp_path, format):
    write(tmp_path / f"0.{format}", format)
    other = TABLE.rename_columns(["x", "z"])
    if format == "csv":
        pa.csv.write_csv(other, tmp_path / "1.csv")
    elif format == "parquet":
        pa.parquet.write_table(other, tmp_path / "1.parquet")
    else:
        pa.feather.write_feather(other, tmp_path / "1.arrow")
    expected = r"1\.\w+ has not the columns of .*0\.\w+: it lacks \['y'\] and only it has \['z'\]"
    with pytest.raises(ValueError, match=expected):
        read(tmp_path / f"*.{format}")


def test_files_with_different_types(tmp_path):
    write(tmp_path / "0.parquet", "parquet")
    pa.parquet.write_table(pa.table({"x": ["a"], "y": [1]}), tmp_path / "1.parquet")
    with pytest.raises(ValueError, match=r"column 'x' is double in .*0\.parquet and string in"):
        read(tmp_path / "*.parquet")


# Files that change


@pytest.mark.parametrize("format", ["parquet", "csv", "arrow"])
def test_a_file_that_changes_between_passes(tmp_path, format):
    path = tmp_path / f"t.{format}"
    write(path, format)
    reader = open_reader(path)
    list(reader.pieces())
    reader.check_unchanged()
    os.utime(path, ns=(0, 0))
    for look in (reader.check_unchanged, lambda: list(reader.pieces())):
        with pytest.raises(ValueError, match=rf"t\.{format} has changed since it was first read"):
            look()


@pytest.mark.parametrize("format", ["parquet", "csv", "arrow"])
def test_a_file_that_vanishes_between_passes(tmp_path, format):
    path = tmp_path / f"t.{format}"
    write(path, format)
    reader = open_reader(path)
    list(reader.pieces())
    path.unlink()
    for look in (reader.check_unchanged, lambda: list(reader.pieces())):
        with pytest.raises(FileNotFoundError, match=rf"t\.{format} has vanished"):
            look()


def test_a_file_that_changes_while_it_is_read(tmp_path):
    path = tmp_path / "t.csv"
    write(path, "csv")
    pieces = open_reader(path, block_rows=100).pieces()
    next(pieces)
    with path.open("a") as file:
        file.write("1\n")
    with pytest.raises(ValueError, match=r"t\.csv has changed"):
        list(pieces)


def test_another_file_is_another_identity(tmp_path):
    path = tmp_path / "t.csv"
    write(path, "csv")
    before = open_reader(path).identity()
    os.utime(path, ns=(0, 0))
    assert open_reader(path).identity() != before
    write(tmp_path / "u.csv", "csv")
    assert (
        open_reader(tmp_path / "*.csv").identity()["files"][0]
        == open_reader(path).identity()["files"][0]
    )


def test_without_pyarrow(tmp_path, monkeypatch):
    write(tmp_path / "t.csv", "csv")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pyarrow is needed.*separatrix\[files\]"):
        open_reader(tmp_path / "t.csv")
