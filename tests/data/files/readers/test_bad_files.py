"""Every bad file is an error that names the file, and the line or row group, and the way out."""

import bz2
import gzip
import os
import random
import struct
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
import scipy.sparse
from bad_tables import TABLE, read, write
from processes import in_children

import separatrix
from separatrix.data.files.readers.formats import open_reader

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


def damaged(raw, draw, number):
    """The same bytes but for some."""
    changed = bytearray(raw)
    at, other = sorted(draw.randrange(len(raw)) for _ in range(2))
    how = number % 6
    if how == 0:
        changed[at] ^= 1 << draw.randrange(8)
    elif how == 1:
        del changed[at:other]
    elif how == 2:
        changed[at:at] = draw.randbytes(draw.randrange(1, 20))
    elif how == 3:
        changed[at : at + 8] = draw.randbytes(8)
    elif how == 4:
        changed[at : at + 4] = draw.choice([b"\xff\xff\xff\x7f", bytes(4), b"\x80\xff\xff\xff"])
    else:
        changed[at] = draw.choice(b'\0"\n\r,\x0c\xff:#')
    return bytes(changed)


WORDS = pa.table(
    {
        "x": np.arange(60) / 3,
        "word": ["red", "blue", "gr\u00fcn"] * 20,
        "class": pa.array(["a", "b"] * 30).dictionary_encode(),
    }
)


def write_words(path):
    kind = path.name.partition(".")[2]
    if kind == "parquet":
        pa.parquet.write_table(WORDS, path, compression="none", use_dictionary=False)
    elif kind in ("feather", "lz4.feather"):
        pa.feather.write_feather(
            WORDS, path, compression="lz4" if "lz4" in kind else "uncompressed"
        )
    elif kind == "arrows":
        with pa.ipc.new_stream(str(path), WORDS.schema) as file:
            file.write_table(WORDS)
    elif kind == "npy":
        np.save(path, np.arange(60.0).reshape(20, 3))
    elif kind == "svm":
        path.write_text("".join(f"{i % 2} 1:{i} {i % 7 + 2}:0.25 # c\n" for i in range(60)))
    else:
        compress = {"csv": bytes, "csv.gz": gzip.compress, "csv.bz2": bz2.compress}[kind]
        lines = (f"{i / 3},w{i % 3},{'ab'[i % 2]}\n" for i in range(60))
        path.write_bytes(compress(("x,word,class\n" + "".join(lines)).encode()))


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    "name",
    ["t.parquet", "t.feather", "t.lz4.feather", "t.arrows", "t.csv", "t.csv.gz", "t.csv.bz2",
     "t.svm", "t.npy"],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:the target 'class' is .* in a single row")
def test_damage_anywhere_is_read_or_named(tmp_path, name):
    """Wrong offsets of an Arrow file would be followed anywhere, which ends the process."""
    path, draw = tmp_path / name, random.Random(name)
    write_words(path)
    raw = path.read_bytes()
    plain = name.endswith(("svm", "npy"))
    options = {} if plain else {"target": "class", "missing": "mean"}
    for number in range(60):
        path.write_bytes(damaged(raw, draw, number))
        try:
            separatrix.read(path, **options)
        except (ValueError, OSError) as error:
            said = str(error)
            assert name in said, number


CHANGED_FOOTER = """
import sys
from pathlib import Path
import separatrix
path = Path(sys.argv[1])
raw = path.read_bytes()
footer = int.from_bytes(raw[-8:-4], "little")
for at in range(len(raw) - 8 - footer, len(raw) - 8):
    for bit in (2, 32):
        path.write_bytes(raw[:at] + bytes([raw[at] ^ bit]) + raw[at + 1:])
        try:
            separatrix.read(path, target="class", missing="mean")
        except (ValueError, OSError):
            pass
print("all read or refused")
"""


@pytest.mark.processes
def test_footers_of_parquet_files_that_contradict_themselves(tmp_path):
    """Arrow ends the process where the metadata of a column does not fit the schema."""
    path = tmp_path / "t.parquet"
    pa.parquet.write_table(WORDS, path, compression="none", store_schema=False)
    assert in_children(CHANGED_FOOTER, [[str(path)]]) == ["all read or refused\n"]


def test_a_compressed_file_without_a_row_is_named(tmp_path):
    path = tmp_path / "t.svm.gz"
    path.write_bytes(gzip.compress(b"# a comment alone\n"))
    with pytest.raises(ValueError, match=r"t\.svm\.gz: no row was read"):
        separatrix.read(path)


@pytest.mark.parametrize(
    "head",
    ["{'descr': '<f8', 'fortran_order': False, 'shape': (2, (", "{", "(" * 5000, "\0",
     "{'descr': '<f8', 'fortran_order': False, 'shape': (-2, 3)}"],
)  # fmt: skip
def test_heads_of_npy_files_that_are_wrong(tmp_path, head):
    text = f"{head}\n".encode()
    path = tmp_path / "t.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + bytes(48))
    with pytest.raises(ValueError, match=r"t\.npy"):
        open_reader(path)


@pytest.mark.parametrize("name", ["t.parquet", "t.feather"])
def test_files_that_are_something_else(tmp_path, name):
    (tmp_path / name).write_text("x,y\n1,2\n" * 10)
    with pytest.raises(ValueError, match=rf"{name}.*is no (Parquet|Arrow) file"):
        read(tmp_path / name)
