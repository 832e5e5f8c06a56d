"""Items made ahead: the same items, few at a time, and no thread left behind."""

from __future__ import annotations

import gc
import sys
import threading
import time
from traceback import walk_stack

import pytest

from separatrix.data.files.prefetch import _Belt, prefetched


def readers():
    """Threads that make items."""
    frames = [frame for top in sys._current_frames().values() for frame, _ in walk_stack(top)]
    return [frame for frame in frames if frame.f_code is _Belt.fill.__code__]


def gone(within=60.0):
    """Whether all threads have ended."""
    until = time.monotonic() + within
    while readers() and time.monotonic() < until:
        time.sleep(0.01)
    return not readers()


@pytest.mark.parametrize("count", [0, 1, 2, 50])
@pytest.mark.parametrize("ahead", [1, 3])
def test_the_same_items_in_the_same_order(count, ahead):
    assert list(prefetched(lambda: iter(range(count)), ahead)) == list(range(count))
    assert gone()


@pytest.mark.parametrize("ahead", [1, 2])
def test_few_are_made_ahead(ahead):
    made = []

    def items():
        for number in range(20):
            made.append(number)
            yield number

    for used, number in enumerate(prefetched(items, ahead)):
        assert number == used
        time.sleep(0.005)
        # In use, waiting, and one in the hands of the thread.
        assert len(made) <= used + 1 + ahead + 1
    assert len(made) == 20


def test_making_and_using_overlap():
    begun = [threading.Event() for _ in range(8)]

    def items():
        for number, event in enumerate(begun):
            event.set()
            yield number

    for number in prefetched(items):
        # While this one is in use the next is being made, though it has not been requested.
        assert all(event.wait(60) for event in begun[: number + 2])


def test_an_error_comes_after_the_items_before_it():
    def items():
        yield 1
        yield 2
        raise OSError("disk gone")

    found = []
    with pytest.raises(OSError, match="disk gone"):
        found.extend(prefetched(items))
    assert found == [1, 2]
    assert gone()


def test_an_error_before_the_first_item():
    def items():
        raise ValueError("no such file")

    with pytest.raises(ValueError, match="no such file"):
        next(prefetched(items))
    assert gone()


@pytest.mark.parametrize("how", ["close", "forget", "raise"])
def test_the_thread_ends_with_its_consumer(how):
    closed = []

    def items():
        try:
            yield from range(1000)
        finally:
            closed.append(True)

    def use():
        stream = prefetched(items)
        assert next(stream) == 0
        if how == "close":
            stream.close()
        elif how == "raise":
            for _ in stream:
                raise KeyError

    if how == "raise":
        with pytest.raises(KeyError):
            use()
    else:
        use()
    gc.collect()
    assert gone()
    assert closed == [True]


def test_a_check_ends_a_wait():
    """As Ctrl-C does: nothing has to come for it to be noticed."""
    release, checks = threading.Event(), []

    def items():
        release.wait()
        yield 1

    def check():
        checks.append(release.is_set())
        if len(checks) == 3:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        next(prefetched(items, check=check))
    assert checks == [False, False, False]
    release.set()
    assert gone()


def test_without_threads_it_goes_on(monkeypatch):
    def none(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("separatrix.numeric.pool.start_new_thread", none)
    assert list(prefetched(lambda: iter([1, 2, 3]))) == [1, 2, 3]


def test_items_are_let_go():
    """One in use, one waiting, one being made: no more of them live."""

    class Item:
        alive = most = 0

        def __init__(self):
            Item.alive += 1
            Item.most = max(Item.most, Item.alive)

        def __del__(self):
            Item.alive -= 1

    for item in prefetched(lambda: (Item() for _ in range(50))):
        time.sleep(0.001)
        del item
    assert Item.most <= 4
    assert Item.alive == 0
