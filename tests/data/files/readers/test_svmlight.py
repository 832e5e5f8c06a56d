"""LIBSVM files against scikit-learn's reader, and what is said of those that are wrong."""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import lzma
import os
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

import separatrix
from separatrix.data.files.readers import svmlight
from separatrix.data.files.readers.formats import open_reader
from separatrix.data.files.readers.paths import Files
from separatrix.data.files.readers.svmlight import SvmlightReader
from separatrix.rows import rows_of


def read(what, **more):
    """All rows of a reader as one matrix, and the labels."""
    reader = open_reader(what, **more)
    pieces = list(reader.pieces())
    X = sp.vstack([rows_of(piece.X).as_scipy() for piece in pieces], format="csr")
    return X, np.concatenate([piece.y for piece in pieces]), reader


def some_rows(rng, n=200, d=30):
    X = rng.random((n, d)) * (rng.random((n, d)) < 0.2)
    X[0, [0, d - 1]] = 1.0
    return sp.csr_array(X), rng.integers(0, 3, n)


def write(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("zero_based", [True, False])
@pytest.mark.parametrize("chunk", [64, 1000, 1 << 20])
def test_the_rows_that_scikit_learn_reads(tmp_path, rng, monkeypatch, zero_based, chunk):
    monkeypatch.setattr(svmlight, "CHUNK", chunk)
    path = tmp_path / "rows.svm"
    dump_svmlight_file(*some_rows(rng), str(path), zero_based=zero_based, comment="a 0:0 comment")
    theirs, labels = load_svmlight_file(str(path), zero_based=zero_based)
    X, y, reader = read(path)
    assert reader.zero_based == zero_based
    assert (theirs != X).nnz == 0
    assert X.shape == theirs.shape == (200, 30)
    np.testing.assert_array_equal(y, labels, strict=True)


@pytest.mark.parametrize(
    ("suffix", "compress"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)]
)
def test_compressed(tmp_path, monkeypatch, suffix, compress):
    monkeypatch.setattr(svmlight, "CHUNK", 512)
    text = "".join(f"{i % 2} {i % 7 + 1}:{i}.5\n" for i in range(1000)).encode()
    plain, _, _ = read(write(tmp_path / "rows.svm", text))
    path = write(tmp_path / f"rows.svm.{suffix}", compress(text))
    packed, _, _ = read(path, format="svmlight")
    assert (plain != packed).nnz == 0
    write(path, compress(text)[:-20])
    with pytest.raises(ValueError, match=rf"rows.svm.{suffix} cannot be decompressed .* cut off"):
        read(path, format="svmlight")


def test_damaged_gzip_and_zstandard(tmp_path):
    packed = bytearray(gzip.compress(os.urandom(1000)))
    packed[100:200] = bytes(100)
    with pytest.raises(ValueError, match="cannot be decompressed"):
        read(write(tmp_path / "rows.svm.gz", bytes(packed)))
    zstd = write(tmp_path / "rows.svm.zst", b"\x28\xb5\x2f\xfd rest")
    with pytest.raises(ValueError, match=r"Zstandard; expected .* gzip.*zstd -d rows.svm.zst"):
        read(zstd)


def test_base_is_found_in_all_files_or_the_error_says_so(tmp_path):
    one = write(tmp_path / "1.svm", "1 1:1 3:1\n-1 2:5\n")
    two = write(tmp_path / "2.svm", "1 0:7\n-1\n")
    X, _, _ = read(one)
    assert X.toarray().tolist() == [[1, 0, 1], [0, 5, 0]]
    X, _, _ = read([one, two])
    assert X.toarray().tolist() == [[0, 1, 0, 1], [0, 0, 5, 0], [7, 0, 0, 0], [0, 0, 0, 0]]
    X, _, _ = read(one, format="svmlight-0")
    assert X.toarray().tolist() == [[0, 1, 0, 1], [0, 0, 5, 0]]
    with pytest.raises(ValueError, match=r"2.svm, line 1: the index 0 .* from 1 .*svmlight-0"):
        read([one, two], format="svmlight-1")


def test_the_features_of_a_model(tmp_path):
    path = write(tmp_path / "new.svm", "1 2:1 5:1 6:1\n-1 4:3 5:2\n1 2:2\n")
    reader = SvmlightReader(Files([path]), zero_based=True, n_features=5)
    for _ in range(2):
        (piece,) = reader.pieces()
        assert rows_of(piece.X).as_scipy().toarray().tolist() == [
            [0, 0, 1, 0, 0],
            [0, 0, 0, 0, 3],
            [0, 0, 2, 0, 0],
        ]
        assert (reader.n_features, reader.left_out) == (5, 3)


def test_ends_of_lines_and_long_lines(tmp_path, monkeypatch):
    monkeypatch.setattr(svmlight, "CHUNK", 16)
    long = " ".join(f"{i}:{i}" for i in range(1, 500))
    text = f"# {long}\r\n1 {long}\r\n\r\n-1 2:1\r\n1 500:1"
    X, y, _ = read(write(tmp_path / "rows.svm", text))
    assert y.tolist() == [1, -1, 1]
    assert X[[0]].toarray()[0].tolist() == [*range(1, 500), 0]
    assert X[[2]].toarray()[0].tolist() == [0] * 499 + [1]


def test_pieces_are_their_own(tmp_path, monkeypatch):
    monkeypatch.setattr(svmlight, "CHUNK", 32)
    reader = open_reader(write(tmp_path / "r.svm", "".join(f"{i} 1:{i}\n" for i in range(50))))
    pieces = list(reader.pieces())
    assert len(pieces) > 5
    assert np.concatenate([piece.X.data for piece in pieces]).tolist() == list(range(50))
    first = [int(piece.X.data[0]) + 1 for piece in pieces]
    places = [f"{tmp_path}/r.svm, from line {i}" for i in first]
    assert [str(piece.where) for piece in pieces] == places


def test_rows_are_named_by_their_lines(tmp_path, monkeypatch):
    """Lines without a row count too: empty ones, and comments."""
    monkeypatch.setattr(svmlight, "CHUNK", 32)
    text = "# made by hand\n" + "1 1:1\n\n-1 2:1 # a comment\n" * 10 + " # another\n0.5 1:1\n"
    with pytest.raises(ValueError, match=r"r\.svm, line 33: the label is 0\.5; expected classes"):
        separatrix.read(write(tmp_path / "r.svm", text))


BAD = {
    "1 3:": r"the value in '3:' is missing; expected a finite number after the colon",
    "1 3:1 2:1": r"the index 2 in '2:1' does not come after .* sort the entries",
    "1 3:1 3:1": r"the index 3 in '3:1' does not come after",
    "1 3:abc": r"the value in '3:abc' is no number",
    "1 3:nan": r"the value in '3:nan' is not a number \(nan\)",
    "1 3:-inf": r"the value in '3:-inf' is infinite",
    "1 3:1e999#x": r"the value in '3:1e999' is infinite, or too large",
    "1 3:1_0": r"the value in '3:1_0' is not written as a number",
    "1 word:1": r"'word:1' is no index:value",
    "1 word": r"'word' is no index:value; expected a whole number, a colon",
    "spam 1:1": r"the label 'spam' is no number",
    "1,3 1:1": r"'1,3' are several labels; expected one",
    "3:1 4:1": r"it begins with '3:1'; expected a label first",
    "1 3000000000:1": r"the index 3000000000 .* out of range; expected from 1 to 2147483647",
    "1 3:1\x0c4:1": r"the value in '3:1\\x0c4:1' is no number",
    "1 " + "9" * 5000 + ":1": r"the index 9{40}\.\.\. in '9{40}\.\.\.' is out of range",
    "1 " + "x" * 1000: r"'x{40}\.\.\.' is no index",
    "1 caf\u00e9": r"'caf\u00e9' is no index",
}


@pytest.mark.parametrize("line", BAD)
@pytest.mark.parametrize("chunk", [64, 1 << 20])
def test_bad_lines_are_named(tmp_path, monkeypatch, line, chunk):
    monkeypatch.setattr(svmlight, "CHUNK", chunk)
    path = write(tmp_path / "bad.svm", "1 1:1\n\n# note\n" * 10 + f"{line}\n1 1:1\n")
    with pytest.raises(ValueError, match=rf"bad.svm, line 31: {BAD[line]}.* as in '-1 3:0.5 7:2'"):
        read(path)


@pytest.mark.parametrize("blank", [*"\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0\u2028\u3000\0"])
def test_only_space_tab_and_carriage_return_are_blank(tmp_path, blank):
    path = write(tmp_path / "bad.svm", f"1 1:1\n \t\r\n{blank}\n-1 1:1\n")
    with pytest.raises(ValueError, match=r"bad\.svm, line 3: the label '.*' is no number"):
        separatrix.read(path)


def test_an_index_of_zeros(tmp_path):
    path = write(tmp_path / "bad.svm", f"1 1:1\n1 {'0' * 5000}:1\n")
    with pytest.raises(ValueError, match=r"bad\.svm, line 2: the index 0{40}\.\.\. .*svmlight-0"):
        read(path, format="svmlight-1")


@pytest.mark.parametrize(
    ("suffix", "compress"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)]
)
def test_damage_within_a_compressed_file(tmp_path, suffix, compress):
    packed = bytearray(compress("".join(f"{i % 2} 1:{i}\n" for i in range(1000)).encode()))
    packed[len(packed) // 2 : len(packed) // 2 + 20] = bytes(20)
    path = write(tmp_path / f"rows.svm.{suffix}", bytes(packed))
    with pytest.raises(ValueError, match=rf"rows\.svm\.{suffix} cannot be decompressed"):
        separatrix.read(path)


COMPRESSED = pytest.mark.parametrize(
    ("suffix", "compress"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)]
)
FIRST, SECOND = (
    "".join(f"{i % 2} 1:{i} 2:{k}\n" for i in range(1000)).encode() for k in (3, 4)
)  # fmt: skip


@COMPRESSED
@pytest.mark.parametrize("padding", [0, 8, 1 << 17])
def test_several_streams_are_one_file(tmp_path, suffix, compress, padding):
    packed = compress(FIRST[:5000]) + compress(b"") + compress(FIRST[5000:]) + compress(SECOND)
    path = write(tmp_path / f"rows.svm.{suffix}", packed + bytes(padding))
    X, y, _ = read(path)
    assert len(y) == 2000
    assert X[:, [1]].sum() == 7000


@COMPRESSED
@pytest.mark.parametrize(
    "damaged",
    [
        lambda packed: b"\1" + packed[1:],
        lambda packed: packed[:30] + b"\xff\xff\xff" + packed[33:],
        lambda packed: packed[: len(packed) // 2] + bytes(20) + packed[len(packed) // 2 + 20 :],
        lambda packed: packed[:-1],
        lambda packed: packed[:4],
        lambda packed: b"something else",
    ],
)
def test_damage_within_a_later_stream(tmp_path, suffix, compress, damaged):
    packed = compress(FIRST) + damaged(compress(SECOND))
    path = write(tmp_path / f"rows.svm.{suffix}", packed)
    with pytest.raises(ValueError, match=rf"rows\.svm\.{suffix} cannot be decompressed"):
        separatrix.read(path)


@pytest.mark.parametrize(
    "begin", [b"1 1:2\n" * 9, bz2.compress(FIRST), gzip.compress(FIRST)], ids=["plain", "bz2", "gz"]
)
def test_an_error_of_the_disk_names_the_file(tmp_path, monkeypatch, begin):
    """Once a disk fails, in the middle of a file."""
    path = write(tmp_path / "rows.svm", begin)

    class Disk(io.FileIO):
        def readinto(self, room):
            if self.tell() >= 40:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return super().readinto(memoryview(room)[:40])

    monkeypatch.setattr(
        "separatrix.data.files.readers.paths._open", lambda path: io.BufferedReader(Disk(path))
    )
    with pytest.raises(OSError, match=r"Input/output error: '.*rows\.svm'") as reported:
        separatrix.read(path)
    assert (reported.value.errno, reported.value.filename) == (errno.EIO, str(path))


def test_a_file_that_changes_between_passes(tmp_path):
    reader = open_reader(write(tmp_path / "rows.svm", "1 1:1\n-1 1:2\n"))
    assert len(list(reader.pieces())) == 1
    write(tmp_path / "rows.svm", "1 1:1\n-1 9:2000\n")
    with pytest.raises(ValueError, match=r"rows\.svm has changed"):
        list(reader.pieces())


def test_identity_tells_the_options(tmp_path):
    path = write(tmp_path / "rows.svm", "1 1:1\n")
    reported = [open_reader(path, format=f"svmlight{end}").identity() for end in ("", "-0", "-1")]
    assert reported[0] != reported[1] != reported[2]
    assert reported[0]["files"][0]["size"] == 6


def test_memory_is_bounded(tmp_path):
    path = tmp_path / "rows.svm"
    with path.open("w") as file:
        for i in range(300):
            file.write("".join(f"{(i + j) % 2} 1:{j} 7:0.25 9:{i}\n" for j in range(1000)))
    assert path.stat().st_size > 5e6
    reader = open_reader(path)
    assert reader.n_features == 9
    tracemalloc.start()
    rows = sum(len(piece.y) for piece in reader.pieces())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert rows == 300_000
    assert peak < 8 * svmlight.CHUNK  # two pieces, each of three times as many bytes as the text


def test_a_fit_from_text_is_that_in_memory(tmp_path, rng):
    X, y = some_rows(rng)
    path = tmp_path / "rows.svm"
    dump_svmlight_file(X, y, str(path), zero_based=False)
    theirs, labels = load_svmlight_file(str(path))
    in_memory = separatrix.LinearClassifier(tol=1e-10).fit(theirs, labels)
    for cache in (None, tmp_path / "cache", tmp_path / "cache"):
        source = separatrix.read(path, cache=cache, block_rows=64)
        fitted = separatrix.LinearClassifier(tol=1e-10).fit(source)
        np.testing.assert_allclose(fitted.coef_, in_memory.coef_, atol=1e-6)
        assert fitted.classes_.tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize(("suffix", "compress"), [("gz", gzip.compress), ("bz2", bz2.compress)])
def test_a_compressed_file_without_text(tmp_path, suffix, compress):
    path = tmp_path / f"t.svm.{suffix}"
    path.write_bytes(compress(b""))
    with pytest.raises(ValueError, match=rf"t\.svm\.{suffix} unpacks to no text"):
        separatrix.read(path)
