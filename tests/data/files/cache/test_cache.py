"""The cache of decoded blocks: what was written comes back, or nothing does."""

from __future__ import annotations

import gc
import os

import numpy as np
import pytest
import scipy.sparse as sp
from stored_blocks import IDENTITY, assert_same, dense_blocks, write

from separatrix.data.blocks import Block
from separatrix.data.files.cache import folder as cache_folder_module
from separatrix.data.files.cache import index as cache_index
from separatrix.data.files.cache.file import CacheWriter, DecodedCache
from separatrix.data.files.cache.folder import cache_folder
from separatrix.data.files.cache.index import CacheDamaged
from separatrix.rows import CsrRows, rows_of


def sparse_blocks(index="i4"):
    """Slices of one matrix, with empty rows, and blocks that know more and more features."""
    matrix = sp.random_array((90, 40), density=0.1, rng=np.random.default_rng(1), format="csr")
    whole = CsrRows(matrix.data, matrix.indices.astype(index), matrix.indptr.astype(index), 40)
    y = np.arange(90) % 2
    return [
        Block(
            rows_of(whole).part(at, at + 30).X._replace(n_features=20 + at // 3),
            y[at : at + 30],
            None,
            at,
        )
        for at in (0, 30, 60)
    ]


BLOCKS = {
    "float32": dense_blocks,
    "float64, weights": lambda: dense_blocks(dtype="f8", weighted=True),
    "sparse": sparse_blocks,
    "sparse, wide": lambda: sparse_blocks("i8"),
    "no features": lambda: [Block(np.empty((4, 0)), np.zeros(4, dtype=np.int64), None, 0)],
}


@pytest.mark.parametrize("blocks", BLOCKS.values(), ids=BLOCKS)
def test_blocks_come_back(tmp_path, blocks):
    blocks = blocks()
    written = write(tmp_path, blocks, about={"classes": [0, 1, 2], "mean": [0.1]})
    for cache in (written, DecodedCache.open(tmp_path, IDENTITY)):
        assert cache.about == {"classes": [0, 1, 2], "mean": [0.1]}
        for _ in range(2):
            assert len(cache) == len(list(cache)) == len(blocks)
            for ours, theirs in zip(cache, blocks, strict=True):
                assert_same(ours, theirs)
                arrays = ours.X[:3] if isinstance(ours.X, CsrRows) else [ours.X]
                assert all(array.ctypes.data % 64 == 0 for array in [*arrays, ours.y])


def test_all_sparse_blocks_have_the_features_of_the_widest(tmp_path):
    assert {block.X.n_features for block in write(tmp_path, sparse_blocks())} == {40}


def test_memory_is_used_again_only_when_nobody_holds_it(tmp_path):
    blocks = dense_blocks(count=6, rows=5000)
    cache = write(tmp_path, blocks)
    places = set()
    for block in cache:
        places.add(block.X.ctypes.data)
        del block
    assert len(places) <= 2
    held = [block.X[1:2] for block in cache]  # views of views keep the memory
    gc.collect()
    for _ in cache:
        pass
    for some, block in zip(held, blocks, strict=True):
        np.testing.assert_array_equal(some, block.X[1:2])


def test_any_block_may_be_asked_for(tmp_path):
    blocks = dense_blocks()
    cache = write(tmp_path, blocks)
    for number in (3, 0, 2):
        assert_same(cache.block(number), blocks[number])


def test_what_differs_is_not_opened(tmp_path):
    write(tmp_path, dense_blocks())
    touched = {**IDENTITY, "files": [{"path": "a.csv", "size": 3, "mtime_ns": 8}]}
    other = {**IDENTITY, "options": {"dtype": "float32"}}
    assert DecodedCache.open(tmp_path, touched) is None
    assert DecodedCache.open(tmp_path, other) is None
    assert DecodedCache.open(tmp_path / "nowhere", IDENTITY) is None
    write(tmp_path, dense_blocks(), touched)  # takes the place of the one before
    write(tmp_path, dense_blocks(), other)
    assert len(list(tmp_path.iterdir())) == 2
    assert DecodedCache.open(tmp_path, IDENTITY) is None
    assert DecodedCache.open(tmp_path, touched) is not None


def test_another_format_is_not_opened(tmp_path, monkeypatch):
    write(tmp_path, dense_blocks())
    monkeypatch.setattr(cache_index, "FORMAT", cache_index.FORMAT + 1)
    assert DecodedCache.open(tmp_path, IDENTITY) is None


def test_who_reads_is_not_disturbed_by_who_writes(tmp_path):
    first, second = dense_blocks(seed=1), dense_blocks(seed=2)
    reading = write(tmp_path, first)
    one, two = CacheWriter(tmp_path, IDENTITY), CacheWriter(tmp_path, IDENTITY)
    for ours, theirs in zip(second, first, strict=True):
        one.write(ours)
        two.write(theirs)
    sealed = one.close({})
    two.close({})
    for cache, blocks in ((reading, first), (sealed, second)):
        for ours, theirs in zip(cache, blocks, strict=True):
            assert_same(ours, theirs)
    assert len(list(tmp_path.iterdir())) == 1


def test_no_cut_file_is_believed(tmp_path):
    blocks = dense_blocks(count=2, rows=5)
    write(tmp_path, blocks)
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert DecodedCache.open(tmp_path, IDENTITY) is None


@pytest.mark.slow
def test_no_changed_byte_is_believed(tmp_path):
    blocks = dense_blocks(count=2, rows=5, weighted=True)
    write(tmp_path, blocks)
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        cache = DecodedCache.open(tmp_path, IDENTITY)
        if cache is not None:
            with pytest.raises(CacheDamaged, match=r"block \d of the cache"):
                list(cache)


def test_a_file_cut_while_it_is_read_is_noticed(tmp_path):
    cache = write(tmp_path, dense_blocks())
    list(cache)
    (path,) = tmp_path.iterdir()
    os.truncate(path, 1000)
    with pytest.raises(CacheDamaged, match="cut short"):
        list(cache)


@pytest.mark.parametrize("y", [[None], ["word"], [1.0]])
def test_only_codes_are_written(tmp_path, y):
    writer = CacheWriter(tmp_path, IDENTITY)
    with pytest.raises(TypeError, match=r"y of a block holds .*; expected int64"):
        writer.write(Block(np.ones((1, 1)), np.array(y), None, 0))
    writer.discard()
    assert not list(tmp_path.iterdir())


def test_auto_is_the_folder_of_the_user(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder("auto") == tmp_path / "separatrix"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder("auto") == tmp_path / ".cache" / "separatrix"
    write("auto", dense_blocks())
    assert os.stat(tmp_path / ".cache" / "separatrix").st_mode & 0o77 == 0
    assert len(list(DecodedCache.open("auto", IDENTITY))) == 4


def test_the_folder_of_the_user_is_bounded(tmp_path, monkeypatch):
    """The least recently used goes first, whatever was written first; never one in use."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder, blocks = tmp_path / "separatrix", dense_blocks(rows=500)

    def identity(number):
        return {**IDENTITY, "options": {"number": number}}

    def there():
        return {n for n in range(9) if DecodedCache.open("auto", identity(n)) is not None}

    in_use = write("auto", blocks, identity(0))
    for number in (1, 2, 3):
        write("auto", blocks, identity(number))
    size = max(path.stat().st_size for path in folder.iterdir())
    for number, path in enumerate(sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime)):
        os.utime(path, (1e9 + number, 1e9 + number))
    DecodedCache.open("auto", identity(1))  # used last
    monkeypatch.setattr(cache_folder_module, "MOST_BYTES", 4 * size)
    write("auto", blocks, identity(4))
    assert len(list(folder.iterdir())) == 4
    assert there() == {0, 1, 3, 4}
    monkeypatch.setattr(cache_folder_module, "MOST_BYTES", 0)
    write("auto", blocks, identity(5))
    assert there() == {0, 5}
    del in_use
    write(tmp_path / "named", blocks, identity(6))
    write(tmp_path / "named", blocks, identity(7))
    assert len(list((tmp_path / "named").iterdir())) == 2  # the user's to tidy
    write("auto", blocks, identity(8))
    assert there() == {8}
