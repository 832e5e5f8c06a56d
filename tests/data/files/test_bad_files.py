"""Every bad file is an error that names the file, and the line or row group, and the way out."""

import gc
import io
import lzma
import os
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
import scipy.sparse

import separatrix
from separatrix.data.files.decoding import decoded
from separatrix.data.files.formats import open_reader

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


# CSV


def bad_csv(tmp_path, text):
    (tmp_path / "t.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    return tmp_path / "t.csv"


def test_a_short_row_is_named_by_its_line(tmp_path):
    text = "x,y\n" + "1,2\n" * 3000 + '\n"a\nb",2\n' + "3\n" + "1,2\n" * 10
    with pytest.raises(ValueError, match=r"t\.csv, line 3005 has 1 value; expected 2"):
        read(bad_csv(tmp_path, text))


def test_a_long_row(tmp_path):
    with pytest.raises(ValueError, match=r"t\.csv, line 3 has 3 values; expected 2.*quotes"):
        read(bad_csv(tmp_path, "x,y\n1,2\n1,2,3\n"))


def test_a_quote_that_is_never_closed(tmp_path):
    """Arrow takes all that follows for one value, and would read fewer rows."""
    text = "x,y\n1,2\n" + '5,"6\n' + "1,2\n" * 100
    with pytest.raises(ValueError, match=r"t\.csv, line 3 opens a quote that is never closed"):
        read(bad_csv(tmp_path, text))
    assert read(bad_csv(tmp_path, 'x,y\n1,2\n1,"a\nb"\n')) == 2


def test_text_that_is_not_utf8(tmp_path):
    text = "x,y\n1,é\n".encode() * 2 + "2,é\n".encode("latin-1")
    with pytest.raises(ValueError, match=r"t\.csv, line 5 is not in UTF-8"):
        read(bad_csv(tmp_path, text))
    with pytest.raises(ValueError, match=r"t\.csv, line 1 is not in UTF-8"):
        read(bad_csv(tmp_path, "x,é\n1,2\n".encode("latin-1")))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n\n", "holds only empty lines"),
        ("1,2.5\n3,4\n", r"line 1: numbers \(1, 2.5, ...\) where the names of columns"),
        ("x,x\n3,4\n", r"several columns named \['x'\]"),
        ("x,\n3,4\n", "line 1: column 2 has no name"),
        ("x|y\n3|4\n", r"one column, 'x.y'.*separator="),
    ],
)
def test_names_that_are_wrong(tmp_path, text, message):
    with pytest.raises(ValueError, match=rf"t\.csv.*{message}"):
        read(bad_csv(tmp_path, text))


def labelled(tmp_path, *last):
    rows = "".join(f"{i % 7},{'red' if i % 2 else 'blue'},{i % 3 > 1}\n" for i in range(3000))
    return bad_csv(tmp_path, "size,colour,label\n" + rows + "\n".join(last))


def test_a_word_among_numbers(tmp_path):
    path = labelled(tmp_path, "", "huge,red,True")
    message = r"t\.csv, line 3003: column 'size' holds 'huge', but numbers such as 0 in other rows"
    with pytest.raises(ValueError, match=message):
        separatrix.read(path, target="label")
    words = separatrix.read(path, target="label", categorical={"size": "onehot"})
    assert words.n_features == 8 + 2
    assert separatrix.read(path, target="label", features=["colour"]).n_features == 2


def test_a_word_among_numbers_of_a_file_to_predict(tmp_path):
    """The model's columns are numbers, whatever the file has."""
    source = separatrix.read(labelled(tmp_path), target="label")
    (tmp_path / "new.csv").write_text("size,colour\n1,red\nhuge,blue\n")
    reader = open_reader(tmp_path / "new.csv")
    with pytest.raises(ValueError, match=r"new\.csv, line 3: column 'size' holds 'huge'"):
        list(decoded(reader, source.rows.encoding, labels=False))


def test_categories_that_look_like_numbers_in_a_file_to_predict(tmp_path):
    path = labelled(tmp_path, "1.50,red,True", "huge,red,True")
    source = separatrix.read(path, target="label", categorical={"size": "onehot"})
    (tmp_path / "new.csv").write_text("size,colour\n1.50,red\n2,blue\n")
    (found,) = decoded(open_reader(tmp_path / "new.csv"), source.rows.encoding, labels=False)
    assert found.unknown == {}


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
