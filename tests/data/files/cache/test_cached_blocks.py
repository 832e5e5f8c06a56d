"""Blocks that are decoded once, also where disks fill and processes are killed."""

from __future__ import annotations

import os
import resource
import signal
import time
import traceback
import warnings
from contextlib import contextmanager, suppress

import numpy as np
import pytest
from stored_blocks import IDENTITY, assert_same, dense_blocks, write

from separatrix.data.files.cache.blocks import CachedBlocks, CacheWarning
from separatrix.data.files.cache.file import CacheWriter, DecodedCache


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
        file.seek(DecodedCache.open(tmp_path, IDENTITY).blocks[2].at + 5)
        file.write(b"\xff")
    blocks = CachedBlocks(tmp_path, IDENTITY)
    again = [block.X for block in blocks.blocks(decoder)]
    with pytest.warns(CacheWarning, match="block 2 of the cache is not what was written"):
        blocks.tell()
    np.testing.assert_array_equal(
        np.concatenate(again), np.concatenate([block.X for block in decoder.blocks])
    )
    for ours, theirs in zip(blocks.blocks(decoder), decoder.blocks, strict=True):
        assert_same(ours, theirs)
    assert decoder.calls == 1
    assert len(list(CachedBlocks(tmp_path, IDENTITY).blocks(decoder))) == 4
    assert decoder.calls == 1


def test_a_folder_that_cannot_be_is_reported(tmp_path):
    (tmp_path / "file").touch()
    decoder = Decoder(dense_blocks())
    blocks = CachedBlocks(tmp_path / "file", IDENTITY)
    assert len(list(blocks.blocks(decoder))) == 4
    with pytest.warns(CacheWarning, match="cannot be written to .*file.*caching is disabled"):
        blocks.tell()
    assert len(list(blocks.blocks(decoder))) == 4
    assert not blocks.notices  # reported once


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


def test_a_full_disk_is_reported_and_the_pass_goes_on(tmp_path):
    """A limit on the size of files stands for it: the same error of the same call."""
    blocks = dense_blocks(rows=5000)

    def run():
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
        cached = CachedBlocks(tmp_path, IDENTITY)
        files = [len(list(tmp_path.iterdir())) for _ in cached.blocks(Decoder(blocks))]
        with pytest.warns(CacheWarning, match="File too large.*caching is disabled; pass a"):
            cached.tell()
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
