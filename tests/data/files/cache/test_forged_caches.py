"""Caches whose checksums are right, and what they say is not: rows are decoded again."""

from __future__ import annotations

import os
import time
import warnings
from contextlib import suppress

import numpy as np
import pytest
from forged_caches import AT, array_in, forge
from stored_blocks import IDENTITY, dense_blocks, write

import separatrix
from separatrix.data.files.cache import file as cache_module
from separatrix.data.files.cache.blocks import CacheWarning
from separatrix.data.files.cache.file import DecodedCache
from separatrix.data.files.cache.index import CacheDamaged

HUGE = 2**62


def sparse_text(path):
    rng = np.random.default_rng(0)
    rows = (sorted(rng.choice(20, 4, replace=False) + 1) for _ in range(60))
    lines = (f"{at % 3} " + " ".join(f"{j}:{j / 8}" for j in row) for at, row in enumerate(rows))
    path.write_text("\n".join(lines) + "\n")
    return {"block_rows": 25}


def dense_text(path):
    lines = (f"{at % 7 / 4},{'ab'[at % 2]},{at % 2 + 1},{'xyz'[at % 3]}" for at in range(60))
    path.write_text("a,b,w,y\n" + "\n".join(lines) + "\n")
    return {"block_rows": 25, "target": "y", "weight": "w", "validation": 0.2}


def entry(name, value, number=0):
    """Another value for an entry of a block in the index."""

    def change(index, blocks):
        index["blocks"][number][AT(name)] = value

    return change


def array(name, dtype=None, shape=None):
    """Another dtype or shape of an array, in the index."""

    def change(index, blocks):
        found = next(one for one in index["blocks"][0][AT("arrays")] if one[0] == name)
        found[1:] = [dtype or found[1], found[2] if shape is None else shape]

    return change


def values(name, at, value, number=0):
    """Other values of an array, in the bytes of a block."""

    def change(index, blocks):
        array_in(index, blocks, number, name)[at] = value

    return change


def key(value, *path):
    """Another value deep in the index."""

    def change(index, blocks):
        for step in path[:-1]:
            index = index[step]
        index[path[-1]] = value

    return change


ANY = {
    "dtype of objects": array("y", "|O"),
    "dtype with fields": array("y", "<i4,<i4"),
    "dtype of arrays": array("y", "(2,)<i4"),
    "dtype of another width": array("y", "<i4"),
    "dtype of text": array("y", "<U2"),
    "dtype that is a number": array("y", 8),
    "negative shape": array("y", shape=[-1]),
    "shape that overflows": array("y", shape=[HUGE]),
    "shape of fractions": array("y", shape=[25.0]),
    "shape that is none": array("y", shape="25"),
    "more dimensions": array("y", shape=[5, 5]),
    "no rows": array("y", shape=[0]),
    "position beyond the end": entry("at", HUGE),
    "position before the begin": entry("at", -64),
    "position that is not aligned": entry("at", 1),
    "huge size": entry("size", HUGE),
    "first row elsewhere": entry("start", 7),
    "second block elsewhere": entry("start", 24, number=1),
    "arrays that are none": entry("arrays", None),
    "nameless arrays": entry("arrays", []),
    "blocks that are none": key(3, "blocks"),
    "a block that is none": key([[]], "blocks"),
    "no blocks": key([], "blocks"),
    "about nothing": key([], "about"),
    "codes that are words": key("3", "codes"),
    "more codes than labels": key(HUGE, "codes"),
    "label out of range": values("y", 3, 1000),
    "negative label": values("y", 3, -1),
    "fewer labels": key(["x"], "about", "labels"),
    "labels of two kinds": key(["x", 1, "z"], "about", "labels"),
    "labels twice": key(["x", "x", "z"], "about", "labels"),
    "labels that are lists": key([[], [], []], "about", "labels"),
    "no facts": key({}, "about", "facts"),
    "more rows": key(HUGE, "about", "facts", "n_rows"),
    "longer blocks": key(60, "about", "facts", "block_rows"),
    "more features": key(HUGE, "about", "facts", "n_features"),
    "more values": key(HUGE, "about", "facts", "n_values"),
    "another storage": key("coo", "about", "facts", "storage"),
    "another precision": key("object", "about", "facts", "dtype"),
    "counts of other labels": key([{"7": 60}, {}], "about", "facts", "counts"),
    "negative counts": key([{"0": -1}, {}], "about", "facts", "counts"),
    "too many rows counted": key([{"0": HUGE}, {}], "about", "facts", "counts"),
    "infinite weights": key([{"0": float("inf")}, {}], "about", "facts", "weights"),
    "moments of other features": key([3, HUGE], "about", "moments", "shape"),
    "moments that are cut": key("AAAA", "about", "moments", "sums"),
    "moments that are none": key("AAAA", "about", "moments"),
    "another format": key("pickle", "about", "format"),
}  # fmt: skip
SPARSE = {
    "feature out of range": values("indices", 3, 2_000_000_000),
    "negative feature": values("indices", 3, -1),
    "features out of order": values("indices", slice(0, 4), [3, 2, 1, 0]),
    "offsets beyond the values": values("indptr", -1, 2_000_000_000),
    "offsets that go back": values("indptr", 2, 0),
    "offsets from another begin": values("indptr", 0, 1),
    "negative offsets": values("indptr", 1, -4),
    "value that is not finite": values("data", 5, np.nan),
    "more features than an index can have": entry("features", HUGE),
    "features that are words": entry("features", "20"),
    "dense": entry("features", None),
    "wider indices": array("indices", "<i8"),
    "fewer indices": array("indices", shape=[3]),
    "an encoding": key({"columns": []}, "about", "encoding"),
}
DENSE = {
    "value that is not finite": values("X", (2, 1), np.inf),
    "negative weight": values("weight", 4, -1.0),
    "weight that is no number": values("weight", 4, np.nan),
    "huge weight": values("weight", 4, 1e300),
    "sparse": entry("features", 2),
    "whole numbers": array("X", "<i8"),
    "no encoding": key(None, "about", "encoding"),
    "columns that are none": key([{"kind": "number"}], "about", "encoding", "columns"),
    "kind that is none": key([{"kind": "os", "name": "a"}], "about", "encoding", "columns"),
    "other columns": key([{"kind": "number", "name": "a"}], "about", "encoding", "columns"),
    "features without end": key(
        [{"kind": "hash", "name": "a", "type": "text", "hash_bits": 60, "missing": "refuse"}],
        "about", "encoding", "columns",
    ),
}  # fmt: skip
CASES = [
    pytest.param(make, suffix, change, id=f"{suffix}: {name}")
    for make, suffix, changes in (
        (sparse_text, "svm", ANY | SPARSE),
        (dense_text, "csv", DENSE),
    )
    for name, change in changes.items()
]


def read_all(path, cache, options):
    """Damage may be found at the first look at a block."""
    source = separatrix.read(path, cache=cache, **options)
    return source, source.fingerprint()


@pytest.mark.parametrize(("make", "suffix", "change"), CASES)
def test_a_forged_cache_is_decoded_again(tmp_path, make, suffix, change):
    path, cache = tmp_path / f"t.{suffix}", tmp_path / "cache"
    options = make(path)
    whole, name = read_all(path, cache, options)
    (stored,) = cache.iterdir()
    forge(stored, change)
    with pytest.warns(CacheWarning, match=r"cache (was not|does not|tells).* decoded again"):
        again, decoded = read_all(path, cache, options)
    assert decoded == name
    assert again.classes.tolist() == whole.classes.tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the cache is written anew
        assert read_all(path, cache, options)[1] == name


@pytest.mark.parametrize(
    "text", [b"", b"[" * 100_000, b"no JSON", b"\xff", b"9" * 5000, b"[]", b"null"]
)
def test_an_index_that_is_none(tmp_path, text):
    write(tmp_path, dense_blocks())
    (path,) = tmp_path.iterdir()
    forge(path, text=text)
    with suppress(CacheDamaged):
        assert DecodedCache.open(tmp_path, IDENTITY) is None


def test_a_cache_that_others_may_write_to_is_not_read(tmp_path, monkeypatch):
    write(tmp_path, dense_blocks())
    (path,) = tmp_path.iterdir()
    assert path.stat().st_mode & 0o077 == 0
    for mode in (0o620, 0o602):
        path.chmod(mode)
        with pytest.raises(CacheDamaged, match="only you may write to"):
            DecodedCache.open(tmp_path, IDENTITY)
    path.chmod(0o600)
    assert DecodedCache.open(tmp_path, IDENTITY) is not None
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    with pytest.raises(CacheDamaged, match="only you may write to"):
        DecodedCache.open(tmp_path, IDENTITY)


def test_what_is_no_file_is_no_cache(tmp_path):
    write(tmp_path, dense_blocks())
    (path,) = tmp_path.iterdir()
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert DecodedCache.open(tmp_path, IDENTITY) is None
    path.unlink()
    os.mkfifo(path, 0o600)  # without a writer, to wait would be for ever
    with pytest.raises(CacheDamaged, match="is not a file"):
        DecodedCache.open(tmp_path, IDENTITY)


def test_blocks_are_checked_once_unless_the_file_changes(tmp_path, monkeypatch):
    checked = []
    monkeypatch.setattr(cache_module, "flaw", lambda block, codes: checked.append(block.start))
    cache = write(tmp_path, dense_blocks(count=3))
    for _ in range(3):
        list(cache)
    assert checked == [0, 50, 100]
    DecodedCache.open(tmp_path, IDENTITY)  # another process that opens it does not count
    list(cache)
    assert len(checked) == 3
    (path,) = tmp_path.iterdir()
    os.utime(path, ns=(7, 7))
    list(cache)
    assert len(checked) == 6


def test_a_block_that_changes_between_passes_is_noticed(tmp_path):
    cache = write(tmp_path, dense_blocks())
    list(cache)
    (path,) = tmp_path.iterdir()
    before = path.stat()
    time.sleep(0.02)  # as fine as clocks of file systems are
    forge(path, values("X", (0, 0), 9.0, number=1))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(CacheDamaged, match="block 1 of the cache is not what was written"):
        list(cache)


def test_a_clock_that_goes_backwards_does_not_matter(tmp_path):
    path, cache = tmp_path / "t.svm", tmp_path / "cache"
    options = sparse_text(path)
    future = int(4e18)
    os.utime(path, ns=(future, future))
    first = separatrix.read(path, cache=cache, **options)
    (stored,) = cache.iterdir()
    os.utime(stored, ns=(future, future))
    again = separatrix.read(path, cache=cache, **options)
    assert again.fingerprint() == first.fingerprint()
    assert stored.stat().st_mtime_ns < future  # used now
