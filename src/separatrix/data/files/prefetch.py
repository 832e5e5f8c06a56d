"""Items made ahead by a second thread: reading and decoding go on while others are trained on."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from ...numeric.pool import Sign, start_thread

T = TypeVar("T")

AHEAD = 1  # items that wait: beside the one in use and the one being made
LOOK_EVERY = 0.1  # seconds between two looks at whether to go on, while there is nothing to do
LEAVE_AFTER = 0.5  # seconds that a thread is waited for which is in the middle of a read


def prefetched(
    make: Callable[[], Iterator[T]],
    ahead: int = AHEAD,
    check: Callable[[], None] | None = None,
) -> Iterator[T]:
    """The items of ``make()``, made by a thread of their own, at most ``ahead`` of them waiting.

    An error of the thread is raised here, after the items before it. ``check`` is called between
    items and ten times a second while there are none: what it raises ends both. The thread ends
    with this iterator, whether that was read to its end, closed, or forgotten.
    """
    belt = _Belt[T](ahead)
    alive = start_thread(lambda sign: belt.fill(make, sign))
    if alive is None:  # without a thread it only takes longer
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
    """What two threads share: a few items, whether there will be more, and what went wrong."""

    def __init__(self, ahead: int) -> None:
        self.ahead, self.error = ahead, None
        self.items: deque[tuple[T]] = deque()
        self.ended = self.stopped = False
        self.changed = threading.Condition()
        self.left = threading.Lock()
        self.left.acquire()

    error: BaseException | None

    def fill(self, make: Callable[[], Iterator[T]], sign: Sign) -> None:
        """Make items until there are no more, or nobody wants them."""
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
        """Whether there is something to take, or nothing will come any more."""
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
        """No more items are wanted; the thread notices soon, even if it cannot be notified."""
        self.stopped = True
        with self.changed:
            self.items.clear()
            self.changed.notify_all()
        self.left.acquire(timeout=LEAVE_AFTER)
