"""Prefetching on a second thread: the next block is read and decoded during training."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from ...numeric.pool import Sign, start_thread

T = TypeVar("T")

AHEAD = 1  # items waiting, besides the one in use and the one being made
LOOK_EVERY = 0.1  # seconds between checks for a stop while waiting
LEAVE_AFTER = 0.5  # seconds to wait for a thread that is in the middle of a read


def prefetched(
    make: Callable[[], Iterator[T]],
    ahead: int = AHEAD,
    check: Callable[[], None] | None = None,
) -> Iterator[T]:
    """The items of ``make()``, made on a separate thread, with at most ``ahead`` waiting.

    An error of the thread is raised here, after the items before it. ``check`` is called between
    items and ten times a second while waiting; an exception from it ends both. The thread ends
    with this iterator, whether that is exhausted, closed or garbage collected.
    """
    belt = _Belt[T](ahead)
    alive = start_thread(lambda sign: belt.fill(make, sign))
    if alive is None:  # no thread could be started: slower, same items
        yield from make()
        return
    try:
        while True:
            if check is not None:
                check()
            if belt.wait():
                item = belt.take()
                if item is None:
                    break
                yield item[0]
                del item  # before the next is asked for: it may be large
            elif not alive() and not belt.wait():
                raise MemoryError("the thread that reads ahead ran out of memory")
    finally:
        belt.stop()
    if belt.error is not None:
        raise belt.error


class _Belt(Generic[T]):
    """State shared by the two threads: a few items, whether more will come, and any error."""

    def __init__(self, ahead: int) -> None:
        self.ahead, self.error = ahead, None
        self.items: deque[tuple[T]] = deque()
        self.ended = self.stopped = False
        self.changed = threading.Condition()
        self.left = threading.Lock()
        self.left.acquire()

    error: BaseException | None

    def fill(self, make: Callable[[], Iterator[T]], sign: Sign) -> None:
        """Make items until there are no more or the consumer stops."""
        sign.lock.release()
        try:
            items = make()
            try:
                for item in items:
                    if not self._put(item):
                        break
                    del item
            finally:
                close = getattr(items, "close", None)
                if close is not None:
                    close()
        except BaseException as error:  # raised where the items are used
            self.error = error
        with self.changed:
            self.ended = True
            self.changed.notify_all()
        self.left.release()

    def _put(self, item: T) -> bool:
        with self.changed:
            while not (self.stopped or len(self.items) < self.ahead):
                self.changed.wait(LOOK_EVERY)
            if not self.stopped:
                self.items.append((item,))
                self.changed.notify_all()
            return not self.stopped

    def wait(self) -> bool:
        """Wait; returns whether an item is ready or there are no more."""
        with self.changed:
            return self.changed.wait_for(lambda: bool(self.items) or self.ended, LOOK_EVERY)

    def take(self) -> tuple[T] | None:
        """The next item; None after the last."""
        with self.changed:
            if not self.items:
                return None
            item = self.items.popleft()
            self.changed.notify_all()
            return item

    def stop(self) -> None:
        """Stop the thread, which notices soon even if it cannot be notified."""
        self.stopped = True
        with self.changed:
            self.items.clear()
            self.changed.notify_all()
        self.left.acquire(timeout=LEAVE_AFTER)
