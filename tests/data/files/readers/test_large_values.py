"""Small files that would take much memory: an error that names the file and what to do."""

from __future__ import annotations

import gzip
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import separatrix
from separatrix.data.files.readers import csv_chunks
from separatrix.data.files.readers.csv_chunks import row_chunks

LONG = "z" * 100_000


def refused(match, *what, **options):
    """Without taking more memory than some copies of the text."""
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=match):
            separatrix.read(*what, **options)
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("length", [100_000, 1_000_000])
def test_a_label_of_a_csv_file_that_is_no_class(tmp_path, length):
    rows = "".join(f"{at},c{at % 300}\n" for at in range(3000))
    path = tmp_path / "t.csv"
    path.write_text(f"x,y\n{rows}1,{'z' * length}\n")
    match = rf"t\.csv, line 3002: the target 'y' is a label of {length} characters; expected"
    refused(match, path, target="y")


def test_a_label_of_a_function_that_is_no_class():
    y = np.array(["a", "b", LONG] * 100, dtype=object)
    refused(r"row 2 .*is a label of 100000 characters", lambda: iter([(np.ones((300, 1)), y)]))


def test_labels_of_a_thousand_characters_are_classes(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n1,a\n2," + "z" * 1000 + "\n")
    source = separatrix.read(path, target="y", cache=tmp_path / "cache")
    again = separatrix.read(path, target="y", cache=tmp_path / "cache")
    assert again.classes.tolist() == source.classes.tolist() == ["a", "z" * 1000]
    assert source.classes.dtype == "<U1000"


@pytest.mark.parametrize("categorical", ["onehot", "hash"])
def test_a_name_that_every_category_would_have(tmp_path, categorical):
    path = tmp_path / "t.csv"
    path.write_text(f"{LONG},y\n" + "".join(f"k{at},{at % 2}\n" for at in range(3000)))
    match = r"t\.csv: the name of column 1 has 100000 characters \('zzz.*expected at most 1000"
    refused(match, path, target="y", categorical=categorical)


@pytest.mark.parametrize("format", ["parquet", "parquet of text", "arrow"])
@pytest.mark.parametrize("target", ["y", "c"])
def test_a_text_that_stands_in_every_row(tmp_path, format, target):
    n = 8000
    words = pa.DictionaryArray.from_arrays(pa.array(np.arange(n) % 2, pa.int32()), [LONG, "b"])
    table = pa.table({"c": words, "y": np.arange(n) % 2})
    path = tmp_path / f"t.{format[:7]}"
    if format == "arrow":
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table)
    else:
        parquet.write_table(table, path, store_schema=format == "parquet")
        assert path.stat().st_size < 20_000
    refused(r"column 'c' has 400004000 bytes of text in 8000 rows", path, target=target)


def test_a_dictionary_that_an_arrow_file_points_beyond(tmp_path):
    words = pa.DictionaryArray.from_arrays(
        pa.array([0, 1, 1_000_000_000], pa.int32()), ["a", "b"], safe=False
    )
    table = pa.table({"c": words, "y": [0, 1, 1]})
    with pa.ipc.new_file(tmp_path / "t.arrow", table.schema) as file:
        file.write_table(table)
    match = r"t\.arrow, record batch 0 cannot be read .*damaged"
    with pytest.raises(ValueError, match=match):
        separatrix.read(tmp_path / "t.arrow", target="y")


@pytest.mark.parametrize("delimiter", [",", ";"])
def test_a_compressed_line_is_read_no_further_than_a_row_may_go(tmp_path, monkeypatch, delimiter):
    read = []

    class Counted:
        def __init__(self, file):
            self.file = file

        def readinto(self, room):
            read.append(self.file.readinto(room))
            return read[-1]

    monkeypatch.setattr(
        csv_chunks, "row_chunks", lambda file, *options: row_chunks(Counted(file), *options)
    )
    monkeypatch.setattr(csv_chunks, "LONGEST_ROW", 1 << 16)
    row = f"2{delimiter}".encode() + b"z" * 10_000_000 + b"\n"
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(f"x{delimiter}y\n".encode() + row))
    refused(r"t\.csv\.gz, line 2 is longer than 65536 bytes", tmp_path / "t.csv.gz", target="y")
    assert 1 << 16 < sum(read) < 1 << 20


@pytest.mark.parametrize("format", ["svm", "npy"])
def test_values_too_large_for_float32(tmp_path, format):
    path = tmp_path / f"t.{format}"
    options = {}
    if format == "svm":
        path.write_text("0 1:1 2:3\n1 1:2 2:1e300\n")
    else:
        np.save(path, [[0.0, 1.0, 3.0], [1.0, 2.0, 1e300]])
        options = {"target": 0}
    match = r"(line 2|row 1).*: the value 1e\+300 is too large for float32; read with dtype="
    with pytest.raises(ValueError, match=match):
        separatrix.read(path, dtype="float32", **options)
    assert separatrix.read(path, **options).n_rows == 2
