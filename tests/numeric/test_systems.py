"""What differs between systems stands in one module each, and does what it says."""

from __future__ import annotations

import os
import re
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import separatrix
from separatrix.apps.playground import cpu_limit
from separatrix.numeric import descriptors
from separatrix.numeric.locks import close_and_remove, lock, remove_unlocked
from separatrix.numeric.pages import check_room, pages

SOURCE = Path(separatrix.__file__).parent
ONE_PLACE = {
    r"\bfcntl\b|\bmsvcrt\b|\bflock\b": "numeric/locks.py",
    r"\bmmap\.mmap\b": "numeric/pages.py",
    r"\bimport resource\b|\bSIGXCPU\b": "apps/playground/cpu_limit.py",
    r"\b_signal\b|\bSIGBREAK\b": "numeric/signals.py",
    r"\bos\.(O_NONBLOCK|O_CLOEXEC|O_NOCTTY|O_NOFOLLOW|O_BINARY|pread|preadv|geteuid|set_blocking)\b":
        "numeric/descriptors.py",
    r"\bos\.fsync\b|\bos\.fchmod\b|\bos\.fchown\b": "numeric/replaced.py",
}  # fmt: skip


@pytest.mark.parametrize("pattern", ONE_PLACE)
def test_calls_that_not_every_system_has_stand_in_one_module(pattern):
    found = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if re.search(pattern, path.read_text(encoding="utf-8"))
    }
    assert found == {ONE_PLACE[pattern]}


def opened(path):
    return os.open(path, os.O_RDWR | os.O_CREAT)


def test_a_lock_excludes_others_and_is_shared_with_readers(tmp_path):
    one, two, three = (opened(tmp_path / "file") for _ in range(3))
    lock(one, shared=True)
    lock(two, shared=True)
    with pytest.raises(BlockingIOError):
        lock(three)
    os.close(one)
    os.close(two)
    lock(three)
    os.close(three)


def test_only_unlocked_files_are_removed(tmp_path):
    path = tmp_path / "file"
    mine = opened(path)
    lock(mine, shared=True)
    with pytest.raises(BlockingIOError):
        remove_unlocked(path)
    assert path.exists()
    os.close(mine)
    remove_unlocked(path)
    assert not path.exists()


def test_a_locked_file_is_removed_before_it_is_closed(tmp_path):
    path = tmp_path / "file"
    mine, waiting = opened(path), opened(path)
    lock(mine)
    close_and_remove(mine, path)
    assert not path.exists()
    assert os.fstat(waiting).st_nlink == 0  # so another run sees that the lock is not of this name
    os.close(waiting)


@pytest.mark.parametrize("read", [descriptors.read_at, descriptors._read_after_seek])
def test_threads_read_what_stands_at_a_position(read, tmp_path, monkeypatch):
    monkeypatch.setattr(descriptors, "MOST_AT_ONCE", 1000)  # several steps
    numbers = np.random.default_rng(0).integers(256, size=20_000).astype(np.uint8)
    (tmp_path / "file").write_bytes(numbers.tobytes())
    descriptor = os.open(tmp_path / "file", descriptors.READ)

    def piece(at):
        room = np.empty(3000, np.uint8)
        rest = room.data
        while count := read(descriptor, rest, at + 3000 - len(rest)):
            rest = rest[count:]
        return room[: 3000 - len(rest)]

    starts = [0, 16_999, 17_000, 18_500, 20_000, 30_000] * 20
    with ThreadPoolExecutor(4) as pool:
        for at, found in zip(starts, pool.map(piece, starts), strict=True):
            np.testing.assert_array_equal(found, numbers[at : at + 3000])
    os.close(descriptor)


def test_a_file_without_a_name_is_still_read(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"kept")
    descriptor = descriptors.without_name(os.open(path, descriptors.READ), path)
    room = bytearray(4)
    assert descriptors.read_at(descriptor, memoryview(room), 0) == 4
    assert (bytes(room), path.exists()) == (b"kept", False)
    os.close(descriptor)


def test_whole_pages_are_zeros_and_too_many_are_refused():
    assert not pages(5000).any()
    assert len(pages(0)) == 1
    check_room(5000)
    with pytest.raises(MemoryError):
        pages(1 << 62)
    with pytest.raises(OSError, match="memory"):
        check_room(1 << 62)


def test_the_exit_code_of_used_up_time():
    assert cpu_limit.ended_by_limit(-signal.SIGXCPU)
    assert not cpu_limit.ended_by_limit(0)
    assert not cpu_limit.ended_by_limit(-9)
