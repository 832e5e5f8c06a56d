"""A thread pool that returns a result or an error, and never waits forever if memory is short.

``threading.Thread.start`` waits until the new thread reports that it runs. A thread without memory
for its first frame dies before that, and the wait never ends. ``concurrent.futures`` waits in the
same way for a worker that died between a task and its result. Here a dead thread is noticed, and a
worker allocates nothing between one task and the next.
"""

from __future__ import annotations

import atexit
import os
import weakref
from _thread import LockType, allocate_lock, start_new_thread
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from .pages import check_room

T = TypeVar("T")

ROOM = 80 << 20
"""Bytes that must be free for each new thread: for its stack and the heap that the C library may
set aside for it. A thread without memory for thread-local data ends the whole process."""
LOOK_EVERY = 0.05  # seconds between two checks whether a new thread has died


class Sign:
    """Held by a new thread as long as it lives, and released when it is ready."""

    __slots__ = ("__weakref__", "lock")

    def __init__(self) -> None:
        self.lock = allocate_lock()
        self.lock.acquire()


def start_thread(work: Callable[[Sign], None]) -> Callable[[], bool] | None:
    """Start a thread; return a function that says whether it lives, or None if it cannot start.

    ``work`` is called with a sign, and must call ``sign.lock.release()`` once it needs no further
    allocations to continue.
    """
    sign = Sign()
    held = weakref.ref(sign)
    try:
        check_room(ROOM)
        start_new_thread(work, (sign,))
    except (OSError, RuntimeError, MemoryError):
        return None
    lock = sign.lock
    del sign  # now only the thread has it
    while not lock.acquire(timeout=LOOK_EVERY):
        if held() is None:
            return None
    return lambda: held() is not None


class Task(Generic[T]):
    """Work for a thread of the pool, and its result."""

    __slots__ = ("_claim", "_done", "_error", "_value", "_work")

    def __init__(self, work: Callable[[], T]) -> None:
        self._work: Callable[[], T] | None = work
        self._value: Any = None
        self._error: BaseException | None = MemoryError("a thread ran out of memory")
        self._claim, self._done = allocate_lock(), allocate_lock()
        self._done.acquire()

    def run(self) -> None:
        """Do the work, unless another thread does or did, or it was cancelled.

        After the claim only the work itself allocates, so waiting threads are always released.
        """
        if not self._claim.acquire(False):
            return
        try:
            self._value = self._work()  # type: ignore[misc]
            self._error = None
        except BaseException as error:
            self._error = error
        finally:
            self._work = None
            self._done.release()

    def cancel(self) -> None:
        """Do not begin, if it has not begun; its result is then None."""
        if self._claim.acquire(False):
            self._work = self._error = None
            self._done.release()

    def wait(self) -> None:
        """Return when the task is done or cancelled."""
        with self._done:
            pass

    def result(self) -> T:
        """Return the result or raise the error of the work; do it here if no thread has begun."""
        self.run()
        self.wait()
        if self._error is not None:
            raise self._error
        value: T = self._value
        return value


class Pool:
    """Threads that work on tasks, first come, first served."""

    def __init__(self, threads: int, enter: Callable[[], None]) -> None:
        self._tasks: SimpleQueue[Task[Any] | None] = SimpleQueue()
        self._enter, self._ended = enter, [allocate_lock() for _ in range(threads)]
        self.complete = all(map(self._start, self._ended))
        """Whether all threads run."""
        atexit.register(self._wait_for_threads, os.getpid())

    def _start(self, ended: LockType) -> bool:
        return start_thread(lambda sign: self._work(sign, ended)) is not None

    def _work(self, sign: Sign, ended: LockType) -> None:
        self._enter()
        get = self._tasks.get
        ended.acquire()
        sign.lock.release()
        while (task := get()) is not None:
            try:
                task.run()
            except MemoryError:
                continue  # no memory for the call: the task has not begun
            finally:
                del task  # before the wait for the next
        ended.release()

    def put(self, task: Task[Any]) -> None:
        self._tasks.put(task)

    def close(self) -> None:
        """End the threads, each after its current task; later tasks are not begun."""
        for _ in self._ended:
            self._tasks.put(None)

    def _wait_for_threads(self, process: int) -> None:
        """Wait, because a thread in a compiled loop while Python ends would crash.

        After a fork only the parent has threads.
        """
        if process == os.getpid():
            self.close()
            for ended in self._ended:
                ended.acquire()
