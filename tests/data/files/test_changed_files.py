"""Files that differ from each other or from pass to pass, and what is read once."""

import gc
import io
import lzma
import os
import sys
import time

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from bad_tables import TABLE, labelled, read, write

import separatrix
from separatrix.data.cluster.file_parts import file_parts
from separatrix.data.files.readers.formats import open_reader
from separatrix.data.files.readers.paths import Version, sampled_digest


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

    monkeypatch.setattr("separatrix.data.files.readers.csv.CsvReader._parsed", parsed)
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


def with_other_content(path, replace=False):
    """The file with a digit changed, of the same size, its time of modification set back."""
    before = path.stat()
    content = path.read_bytes().replace(b"7", b"8")
    if replace:
        path.with_suffix(".new").write_bytes(content)
        path.with_suffix(".new").replace(path)
    else:
        time.sleep(0.02)  # as fine as clocks of file systems are
        path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = path.stat()
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)


@pytest.mark.parametrize("replace", [False, True])
def test_a_file_whose_time_was_set_back_is_another(tmp_path, replace):
    path = tmp_path / "t.svm"
    path.write_text("0 1:7\n1 1:2\n")
    options = {"cache": tmp_path / "cache"}
    first = separatrix.read(path, **options).fingerprint()
    unchanged = separatrix.read(path)
    with_other_content(path, replace)
    again = separatrix.read(path, **options)
    assert next(again.blocks()).X.data.tolist() == [8.0, 2.0]
    assert again.fingerprint() != first
    expected = "another file took its place" if replace else "it was written to"
    with pytest.raises(ValueError, match=rf"t\.svm has changed since .*{expected}"):
        list(unchanged.blocks())


def test_content_is_looked_at_where_nothing_else_differs(tmp_path, monkeypatch):
    monkeypatch.setattr(Version, "of", classmethod(lambda cls, about: cls(about.st_size, 0, 0, 0)))
    path = tmp_path / "t.svm"
    path.write_text("0 1:7\n1 1:2\n")
    before = open_reader(path).identity()
    path.write_text("0 1:8\n1 1:2\n")
    assert open_reader(path).identity() != before


class Counted(io.BufferedReader):
    """Counts the bytes that are asked for."""

    n_read = 0

    def read(self, size=-1):
        found = super().read(size)
        self.n_read += len(found)
        return found


def test_of_a_large_file_some_pieces_are_looked_at(tmp_path):
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(1 << 30)

    def digest():
        with Counted(path.open("rb", buffering=0)) as file:
            return sampled_digest(file), file.n_read

    before, n_read = digest()
    assert n_read == 1 << 18
    for place in (0, (1 << 30) - 1):  # begin and end are among them
        with path.open("r+b") as file:
            file.seek(place)
            file.write(b"!")
        after, _ = digest()
        assert after != before
        before = after


def test_workers_know_a_file_again_by_its_content(tmp_path):
    path = tmp_path / "t.svm"
    path.write_text("0 1:7\n1 1:2\n")
    _, (part,) = file_parts(path, None)
    os.utime(path, ns=(0, 0))  # a copy on another machine may have another time
    part.findings()
    with_other_content(path)
    with pytest.raises(ValueError, match=r"t\.svm has other content on the worker"):
        part.findings()


def test_without_pyarrow(tmp_path, monkeypatch):
    write(tmp_path / "t.csv", "csv")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pyarrow is needed.*separatrix\[files\]"):
        open_reader(tmp_path / "t.csv")
