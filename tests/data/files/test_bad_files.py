"""Every bad file is an error that names the file, and the line or row group, and the way out."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
import scipy.sparse
from bad_tables import TABLE, read, write

import separatrix
from separatrix.data.files.formats import open_reader

# What is not there, or may not be read


def test_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no file .*none\.csv.*check the path"):
        open_reader(tmp_path / "none.csv")


def test_a_glob_that_matches_nothing(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no file matches .*\*\.csv"):
        open_reader(tmp_path / "*.csv")
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere"):
        open_reader(tmp_path / "nowhere" / "*.csv")


@pytest.mark.parametrize("what", [np.ones((3, 2)), scipy.sparse.eye_array(3)])
def test_what_is_in_memory_needs_no_reading(what):
    with pytest.raises(TypeError, match=r"goes straight to fit\(X, y\)"):
        separatrix.read(what)


def test_a_folder(tmp_path):
    with pytest.raises(IsADirectoryError, match=r"is a folder.*\*\.parquet"):
        open_reader(tmp_path)


@pytest.mark.parametrize("what", [[], 3, [3]])
def test_what_names_no_file(what):
    with pytest.raises((ValueError, TypeError), match="expected"):
        open_reader(what)


def test_an_address():
    with pytest.raises(ValueError, match=r"s3://.*fetch it first"):
        open_reader("s3://bucket/part.parquet")


@pytest.mark.parametrize("name", ["data.xlsx", "a9a", "data.gz"])
def test_an_unknown_suffix(tmp_path, name):
    (tmp_path / name).write_text("1")
    with pytest.raises(ValueError, match=rf"{name}: its suffix.*format= \(parquet, arrow, csv"):
        open_reader(tmp_path / name)
    with pytest.raises(ValueError, match=r"format must be one of parquet.*'excel'"):
        open_reader(tmp_path / name, format="excel")


def test_format_helps_where_no_suffix_tells(tmp_path):
    write(tmp_path / "data", "csv")
    assert read(tmp_path / "data", format="csv") == len(TABLE)


def test_files_of_two_formats(tmp_path):
    write(tmp_path / "a.csv", "csv")
    write(tmp_path / "b.parquet", "parquet")
    with pytest.raises(ValueError, match=r"a\.csv is csv and .*b\.parquet is parquet.*one format"):
        open_reader(tmp_path / "*")


def refuse_to_read(monkeypatch, forbidden):
    """As for a user who is not root: access and open fail."""
    access, listing = os.access, os.scandir

    def no_access(path, mode, **options):
        return Path(path) != forbidden and access(path, mode, **options)

    def no_listing(path="."):
        if Path(path) == forbidden:
            raise PermissionError(13, "Permission denied", str(path))
        return listing(path)

    monkeypatch.setattr(os, "access", no_access)
    monkeypatch.setattr(os, "scandir", no_listing)


def test_a_file_without_permission(tmp_path, monkeypatch):
    write(tmp_path / "a.csv", "csv")
    refuse_to_read(monkeypatch, tmp_path / "a.csv")
    with pytest.raises(PermissionError, match=r"a\.csv may not be read.*chmod \+r"):
        open_reader(tmp_path / "a.csv")


def test_a_folder_without_permission(tmp_path, monkeypatch):
    write(tmp_path / "a.csv", "csv")
    refuse_to_read(monkeypatch, tmp_path)
    with pytest.raises(PermissionError, match=r"no file matches .*may not be listed.*chmod \+rx"):
        open_reader(tmp_path / "*.csv")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_permissions_that_the_system_refuses(tmp_path):
    folder = tmp_path / "closed"
    folder.mkdir()
    write(folder / "a.csv", "csv")
    folder.chmod(0)
    try:
        for what in (folder / "a.csv", folder / "*.csv"):
            with pytest.raises(PermissionError, match="permission denied"):
                open_reader(what)
    finally:
        folder.chmod(0o700)


# What is not whole


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.csv", "t.csv.gz", "t.npy"])
def test_an_empty_file(tmp_path, name):
    (tmp_path / name).touch()
    with pytest.raises(ValueError, match=rf"{name} is empty \(0 bytes\)"):
        open_reader(tmp_path / name)


@pytest.mark.parametrize("text", ["x,y", "x,y\n", "x,y\n\n\n"])
def test_names_without_rows(tmp_path, text):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(ValueError, match=r"t\.csv has columns but no rows"):
        read(tmp_path / "t.csv")
    write(tmp_path / "u.csv", "csv")
    assert read(tmp_path / "*.csv") == len(TABLE)


@pytest.mark.parametrize("format", ["parquet", "arrow"])
def test_tables_without_rows(tmp_path, format):
    path = tmp_path / f"t.{format}"
    writer = pa.parquet.write_table if format == "parquet" else pa.feather.write_feather
    writer(TABLE.slice(0, 0), path)
    with pytest.raises(ValueError, match=r"t\.\w+ has columns but no rows"):
        read(path)
    with pytest.raises(ValueError, match="has columns but no rows"):
        read(TABLE.slice(0, 0))


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.stream", "t.gzip", "t.zstd", "t.bz2"])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 0.99, 1.0])
def test_files_that_were_cut_off(tmp_path, name, share):
    path, format = tmp_path / name, name[2:]
    write(path, format)
    whole = path.read_bytes()
    known = {"stream": "arrow", "gzip": "csv", "zstd": "csv", "bz2": "csv"}.get(format, format)
    assert read(path, format=known) == len(TABLE)
    path.write_bytes(whole[: max(20, min(len(whole) - 1, int(share * len(whole))))])
    with pytest.raises(ValueError, match=rf"{name}.*(write or fetch|fetch) it anew"):
        read(path, format=known)


def test_a_stream_cut_off_between_two_batches(tmp_path):
    """Arrow takes its end for that of the stream, and would read fewer rows."""
    path = tmp_path / "t.arrows"
    write(path, "stream")
    path.write_bytes(path.read_bytes()[:-8])
    with pa.ipc.open_stream(str(path)) as stream:
        assert stream.read_all().num_rows == len(TABLE)
    with pytest.raises(ValueError, match=r"t\.arrows has neither the beginning nor the end"):
        read(path)


def test_damage_within_a_row_group_is_named(tmp_path):
    path = tmp_path / "t.parquet"
    pa.parquet.write_table(TABLE, path, row_group_size=1000, write_page_checksum=True)
    group = pa.parquet.ParquetFile(path).metadata.row_group(2).column(0)
    data = bytearray(path.read_bytes())
    at = group.data_page_offset + 8
    data[at] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"t\.parquet, row group 2 cannot be read.*anew"):
        read(path)


@pytest.mark.parametrize("name", ["t.parquet", "t.feather"])
def test_files_that_are_something_else(tmp_path, name):
    (tmp_path / name).write_text("x,y\n1,2\n" * 10)
    with pytest.raises(ValueError, match=rf"{name}.*is no (Parquet|Arrow) file"):
        read(tmp_path / name)
