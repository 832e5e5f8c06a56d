"""CSV against Python's own reader and pandas: values, types, line ends, quotes."""

import csv
import gzip

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from written_tables import TABLE, table_of

from separatrix.data.files.readers.formats import open_reader

# Types of CSV

CHARACTERS = st.sampled_from(list("a15.-eé0\r\n\t ,;\"'\\"))


MISSING = {"", "NA"}  # of what these characters can make


@settings(max_examples=80, deadline=None)
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
        patch.setattr("separatrix.data.files.readers.csv.CHUNK_BYTES", chunk)
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
    monkeypatch.setattr("separatrix.data.files.readers.csv.CHUNK_BYTES", 32 if apart else 1 << 20)
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


def test_a_word_in_the_last_line_is_reported_with_file_and_line(tmp_path):
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
def test_numbers_among_words_are_reported_too(tmp_path, monkeypatch, block):
    monkeypatch.setattr("separatrix.data.files.readers.csv.CHUNK_BYTES", block)
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
    monkeypatch.setattr("separatrix.data.files.readers.csv.CHUNK_BYTES", 64)
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
        monkeypatch.setattr("separatrix.data.files.readers.csv.CHUNK_BYTES", chunk)
        assert table_of(open_reader(tmp_path / "t.csv"))["a"].to_pylist() == values


@pytest.mark.sampled(1)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_quotes_that_quote_nothing_and_every_line_end(tmp_path, monkeypatch, end):
    lines = ['\ufeff"a,\nb",c', '5" disk,1', '"x"y"z,2', '"he said ""no""",3', "", '"",4', 'last"']
    text = end.join(lines) + ",5" + end
    (tmp_path / "t.csv").write_bytes(text.encode())
    expected = {"a,\nb": ['5" disk', 'xy"z', 'he said "no"', None, 'last"'], "c": [1, 2, 3, 4, 5]}
    for chunk in (*range(1, 60), 1 << 20):
        monkeypatch.setattr("separatrix.data.files.readers.csv.CHUNK_BYTES", chunk)
        assert table_of(open_reader(tmp_path / "t.csv")).to_pydict() == expected


def test_rows_that_are_too_long_are_named_with_the_cause(tmp_path, monkeypatch):
    monkeypatch.setattr("separatrix.data.files.readers.csv.CHUNK_BYTES", 16)
    monkeypatch.setattr("separatrix.data.files.readers.csv_chunks.LONGEST_ROW", 100)
    quoted = 'a,b\n1,x\n2,"y\n' + "3,z\n" * 100
    for text in (quoted, quoted + '"\n'):
        with pytest.raises(ValueError, match=r"t\.csv, line 3 opens a quote that is not closed wi"):
            _ = csv_types(tmp_path, text).schema
    for end in ("\n", "\r\n", "\r"):
        text = "a,b\n" + f"1,x{end}" * 20 + "2," + "y" * 300 + "\n3,z\n"
        with pytest.raises(ValueError, match=r"t\.csv, line 22 is longer than 100 bytes"):
            _ = csv_types(tmp_path, text).schema


def test_values_longer_than_the_limit_of_the_csv_module(tmp_path):
    """It is the limit of another library, and no flaw of the file."""
    long = "z" * (csv.field_size_limit() + 1)
    reader = csv_types(tmp_path, f'a,b\n1,{long}\n2,"x\ny"\nword,x\n')
    assert table_of(reader)["b"].to_pylist() == [long, "x\ny", "x"]
    assert "t.csv, line 5: column 'a' holds 'word'" in reader.mixed()["a"]()
    with pytest.raises(ValueError, match=r"t\.csv, line 3 has 1 value; expected 2"):
        table_of(csv_types(tmp_path, f"a,b\n1,{long}\n2\n"))
    with pytest.raises(ValueError, match=r"t\.csv, line 3 has 1 value; expected 2"):
        table_of(csv_types(tmp_path, f"a;b\n1;{long}\n2\n"))
    assert csv.field_size_limit() == len(long) - 1


def test_names_after_many_empty_lines(tmp_path, monkeypatch):
    monkeypatch.setattr("separatrix.data.files.readers.csv.CHUNK_BYTES", 8)
    reader = csv_types(tmp_path, "\ufeff" + "\n" * 50 + "a,b\n1,2\n")
    assert table_of(reader).to_pydict() == {"a": [1], "b": [2]}
