"""The cache of decoded blocks: what was written comes back, or nothing does."""

from __future__ import annotations

import gc
import os
import resource
import signal
import time
import traceback
import warnings
from contextlib import contextmanager, suppress

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix.data.blocks import Block
from separatrix.data.files import cache as cache_module
from separatrix.data.files import cache_folder as cache_folder_module
from separatrix.data.files.cache import CacheDamaged, CacheWriter, DecodedCache
from separatrix.data.files.cache_folder import cache_folder
from separatrix.data.files.cached_blocks import CachedBlocks, CacheWarning
from separatrix.numeric.rows import CsrRows, slice_rows

IDENTITY = {"format": "csv", "files": [{"path": "a.csv", "size": 3, "mtime_ns": 7}], "options": {}}


def dense_blocks(count=4, rows=50, dtype="f4", weighted=False, seed=0):
    rng = np.random.default_rng(seed)
    return [
        Block(
            rng.standard_normal((rows - (number == count - 1), 3)).astype(dtype),
            rng.integers(0, 3, rows - (number == count - 1)),
            rng.random(rows - (number == count - 1)) if weighted else None,
            number * rows,
        )
        for number in range(count)
    ]


def sparse_blocks(index="i4"):
    """Slices of one matrix, with empty rows, and blocks that know more and more features."""
    matrix = sp.random_array((90, 40), density=0.1, rng=np.random.default_rng(1), format="csr")
    whole = CsrRows(matrix.data, matrix.indices.astype(index), matrix.indptr.astype(index), 40)
    y = np.arange(90) % 2 * 2.0 - 1.0
    return [
        Block(
            slice_rows(whole, at, at + 30)._replace(n_features=20 + at // 3),
            y[at : at + 30],
            None,
            at,
        )
        for at in (0, 30, 60)
    ]


def write(folder, blocks, identity=IDENTITY, about=None):
    writer = CacheWriter(folder, identity)
    for block in blocks:
        writer.write(block)
    return writer.close(about or {})


def assert_same(ours, theirs):
    assert ours.start == theirs.start
    if isinstance(theirs.X, CsrRows):
        first, last = theirs.X.indptr[[0, -1]]
        assert ours.X.indices.dtype == theirs.X.indices.dtype
        np.testing.assert_array_equal(ours.X.data, theirs.X.data[first:last], strict=True)
        np.testing.assert_array_equal(ours.X.indices, theirs.X.indices[first:last])
        np.testing.assert_array_equal(ours.X.indptr, theirs.X.indptr - first)
    else:
        np.testing.assert_array_equal(ours.X, theirs.X, strict=True)
    np.testing.assert_array_equal(ours.y, theirs.y, strict=True)
    assert (ours.weight is None) == (theirs.weight is None)
    if theirs.weight is not None:
        np.testing.assert_array_equal(ours.weight, theirs.weight, strict=True)


BLOCKS = {
    "float32": dense_blocks,
    "float64, weights": lambda: dense_blocks(dtype="f8", weighted=True),
    "sparse": sparse_blocks,
    "sparse, wide": lambda: sparse_blocks("i8"),
    "no features": lambda: [Block(np.empty((4, 0)), np.zeros(4), None, 0)],
    "labels are words": lambda: [Block(np.ones((3, 1)), np.array(["a", "bb", ""]), None, 0)],
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
    monkeypatch.setattr(cache_module, "FORMAT", cache_module.FORMAT + 1)
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


def test_objects_are_refused(tmp_path):
    writer = CacheWriter(tmp_path, IDENTITY)
    with pytest.raises(TypeError, match="y of a block holds object"):
        writer.write(Block(np.ones((1, 1)), np.array([None]), None, 0))
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


# ---- decoded once ----------------------------------------------------------------------------


class Decoder:
    """Counts how often it is asked."""

    def __init__(self, blocks, fail_after=None):
        self.blocks, self.fail_after, self.calls = blocks, fail_after, 0

    def __call__(self):
        self.calls += 1
        for number, block in enumerate(self.blocks):
            if number == self.fail_after:
                raise ValueError("a.csv, line 3: a word among numbers")
            yield block


def test_later_passes_and_runs_do_not_decode(tmp_path):
    decoder = Decoder(dense_blocks())
    for _ in range(2):
        blocks = CachedBlocks(tmp_path, IDENTITY)
        for _ in range(3):
            for ours, theirs in zip(
                blocks.blocks(decoder, lambda: {"rows": 199}), decoder.blocks, strict=True
            ):
                assert_same(ours, theirs)
        assert blocks.cache.about == {"rows": 199}
    assert decoder.calls == 1


def test_without_cache_every_pass_decodes(tmp_path):
    decoder = Decoder(dense_blocks())
    blocks = CachedBlocks(None, IDENTITY)
    assert len(list(blocks.blocks(decoder))) == len(list(blocks.blocks(decoder))) == 4
    assert decoder.calls == 2


def test_a_pass_that_ends_early_leaves_nothing(tmp_path):
    decoder = Decoder(dense_blocks(), fail_after=2)
    blocks = CachedBlocks(tmp_path, IDENTITY)
    with pytest.raises(ValueError, match="line 3"):
        list(blocks.blocks(decoder))
    some = blocks.blocks(decoder)
    next(some)
    some.close()
    assert blocks.cache is None
    assert not list(tmp_path.iterdir())


def test_a_damaged_cache_is_decoded_again(tmp_path):
    decoder = Decoder(dense_blocks(rows=500))
    write(tmp_path, decoder.blocks)
    (path,) = tmp_path.iterdir()
    with path.open("r+b") as file:
        file.seek(cache_module.DecodedCache.open(tmp_path, IDENTITY)._blocks[2].at + 5)
        file.write(b"\xff")
    blocks = CachedBlocks(tmp_path, IDENTITY)
    with pytest.warns(CacheWarning, match="block 2 of the cache is not what was written"):
        again = [block.X for block in blocks.blocks(decoder)]
    np.testing.assert_array_equal(
        np.concatenate(again), np.concatenate([block.X for block in decoder.blocks])
    )
    for ours, theirs in zip(blocks.blocks(decoder), decoder.blocks, strict=True):
        assert_same(ours, theirs)
    assert decoder.calls == 1
    assert len(list(CachedBlocks(tmp_path, IDENTITY).blocks(decoder))) == 4
    assert decoder.calls == 1


def test_a_folder_that_cannot_be_is_told(tmp_path):
    (tmp_path / "file").touch()
    decoder = Decoder(dense_blocks())
    blocks = CachedBlocks(tmp_path / "file", IDENTITY)
    with pytest.warns(CacheWarning, match="cannot be written to .*file.*every pass decodes"):
        assert len(list(blocks.blocks(decoder))) == 4
    assert len(list(blocks.blocks(decoder))) == 4  # told once


@contextmanager
def process(run):
    """A process of its own that does this; its number. It shares what is imported already."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads do not live on in it
        child = os.fork()
    if not child:
        try:
            run()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    try:
        yield child
    finally:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(child, 0)


def ended_well(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_full_disk_is_told_and_the_pass_goes_on(tmp_path):
    """A limit on the size of files stands for it: the same error of the same call."""
    blocks = dense_blocks(rows=5000)

    def run():
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
        cached = CachedBlocks(tmp_path, IDENTITY)
        with pytest.warns(CacheWarning, match="File too large.*every pass decodes; give cache= a"):
            files = [len(list(tmp_path.iterdir())) for _ in cached.blocks(Decoder(blocks))]
        assert files == [1, 1, 0, 0]  # at once, not at the end of the pass
        for ours, theirs in zip(cached.blocks(Decoder(blocks)), blocks, strict=True):
            assert_same(ours, theirs)

    with process(run) as child:
        assert ended_well(child)
    assert not list(tmp_path.iterdir())


def test_a_killed_writer_leaves_nothing_that_is_believed(tmp_path):
    reader, writer = os.pipe()

    def run():
        decoder = Decoder(dense_blocks())
        for number, _ in enumerate(CachedBlocks(tmp_path, IDENTITY).blocks(decoder)):
            if number == 3:
                os.write(writer, b"!")
                time.sleep(600)

    with process(run) as child:
        assert os.read(reader, 1) == b"!"
        (unfinished,) = tmp_path.iterdir()
        CacheWriter(tmp_path, IDENTITY).discard()
        assert unfinished.exists()  # its writer lives
        os.kill(child, signal.SIGKILL)
        assert not ended_well(child)
    assert unfinished.exists()
    assert DecodedCache.open(tmp_path, IDENTITY) is None
    CacheWriter(tmp_path, IDENTITY).discard()
    assert not unfinished.exists()
    os.close(reader)
    os.close(writer)


def test_processes_that_write_at_once_all_see_whole_blocks(tmp_path):
    blocks = dense_blocks(count=20, rows=300)

    def run():
        for number in range(20):
            identity = {**IDENTITY, "options": {"dtype": number % 4}}
            for ours, theirs in zip(
                CachedBlocks(tmp_path, identity).blocks(Decoder(blocks)), blocks, strict=True
            ):
                assert_same(ours, theirs)

    with process(run) as one, process(run) as two, process(run) as three:
        assert ended_well(one)
        assert ended_well(two)
        assert ended_well(three)
    assert len(list(tmp_path.iterdir())) == 4


def test_descriptors_are_given_back(tmp_path):
    write(tmp_path, dense_blocks())
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, hard), hard))
    try:
        for _ in range(600):
            next(iter(DecodedCache.open(tmp_path, IDENTITY)))
            DecodedCache.open(tmp_path, {**IDENTITY, "files": []})
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
