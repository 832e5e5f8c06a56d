"""The threads that work on blocks: one pool, created on first use."""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from contextlib import AbstractContextManager, nullcontext
from functools import cache, partial
from itertools import pairwise
from typing import Any, TypeVar, cast

import joblib
from threadpoolctl import ThreadpoolController

from .pool import Pool, Task
from .thresholds import ONE_THREAD_BLAS

T = TypeVar("T", bound=tuple[Any, ...])
A = TypeVar("A")
B = TypeVar("B")

MOST_CPUS = "LOKY_MAX_CPU_COUNT"  # the environment variable that joblib reads

_pool: Pool | None = None
_size = 0
_guard = threading.Lock()
_inside = threading.local()


def n_threads(n_jobs: int | None) -> int:
    """Number of threads for ``n_jobs``: joblib's rule; None: all, but 1 in a worker."""
    if n_jobs is None:
        return 1 if _in_worker() else _cpu_count(_allowed(), os.environ.get(MOST_CPUS))
    return int(joblib.effective_n_jobs(n_jobs))


def _allowed() -> frozenset[int]:
    """The processors that this process may use, where the system reports them."""
    return frozenset(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else frozenset()


@cache
def _cpu_count(allowed: frozenset[int], most: str | None) -> int:
    """As joblib counts; it reads files for that, so the result is cached while nothing changes."""
    return int(joblib.cpu_count())


def _in_worker() -> bool:
    if getattr(_inside, "pool", False) or "JOBLIB_SPAWNED_PROCESS" in os.environ:
        return True
    if joblib.parallel.get_active_backend()[0].nesting_level:
        return True
    if "distributed" in sys.modules:
        try:
            sys.modules["distributed"].get_worker()
        except ValueError:
            return False
        return True
    return False


def _workers(threads: int) -> Pool | None:
    """The pool with this many threads, or the previous one if they cannot be had; tried once.

    All of them run already: starting a thread in the middle of some work could fail, because each
    costs memory and the process may have none left.
    """
    global _pool, _size
    with _guard:
        if _size < threads:
            _size, pool = threads, Pool(threads, _enter)
            superfluous, _pool = (_pool, pool) if pool.complete else (pool, _pool)
            if superfluous is not None:
                superfluous.close()
        return _pool


def _enter() -> None:
    _inside.pool = True


def _drop_in_child() -> None:
    """A forked child has none of its parent's threads, and must not wait for them."""
    global _pool, _size, _guard
    _pool, _size, _guard = None, 0, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_drop_in_child)


def run_on_threads(work: Callable[[], None], threads: int, cancel: Callable[[], None]) -> None:
    """Work on this many threads at once, until all are done or ``cancel`` stops them early.

    The calling thread is one of them: if it only waited, two woken threads would often be put on
    one core. In a worker it is the only one, because a worker must not wait for others.
    """
    if threads <= 1 or getattr(_inside, "pool", False):
        work()
        return

    def guarded() -> None:
        try:
            work()
        except BaseException:
            cancel()
            raise

    pool = _workers(threads - 1)
    if pool is None:
        work()
        return
    tasks = [Task(guarded) for _ in range(threads - 1)]
    try:
        for task in tasks:
            pool.put(task)
        _inside.pool = True
        guarded()
    finally:
        _inside.pool = False
        for task in tasks:
            task.cancel()  # no work is left for a task that has not begun
            task.wait()
    for task in tasks:
        task.result()


class _OrderedSum:
    """Adds parts in the order of their numbers, whichever comes first, and stores few."""

    def __init__(self) -> None:
        self.waiting: dict[int, tuple[Any, ...]] = {}
        self.added = 0
        self.sum: tuple[Any, ...] = ()

    def add(self, number: int, part: tuple[Any, ...]) -> None:
        self.waiting[number] = part
        while self.added in self.waiting:
            following = self.waiting.pop(self.added)
            self.sum = tuple(map(_plus, self.sum, following)) if self.added else following
            self.added += 1


def _plus(a: Any, b: Any) -> Any:
    a += b  # in place for arrays: a part's arrays are its own
    return a


def running_sum(parts: Iterable[T]) -> T:
    """Sum of tuples entry by entry, as they arrive; at least one."""
    result = _OrderedSum()
    for number, part in enumerate(parts):
        result.add(number, part)
    if not result.added:
        raise ValueError("there is nothing to sum")
    return cast(T, result.sum)


def ordered_sum(part: Callable[[Any], T], blocks: list[Any], threads: int) -> T:
    """Sum of ``part(block)`` in the order of the blocks, with the same bits on any threads."""
    if len(blocks) == 1:
        return part(blocks[0])
    result = _OrderedSum()
    numbers = iter(range(len(blocks)))
    lock = threading.Lock()

    def work() -> None:
        while True:
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            done = part(blocks[number])
            with lock:
                result.add(number, done)

    def cancel() -> None:
        """Let no thread take another block."""
        with lock:
            for _ in numbers:
                pass

    run_on_threads(work, min(threads, len(blocks)), cancel)
    return cast(T, result.sum)


def equal_parts(count: int, parts: int) -> list[slice]:
    """Slices of nearly equal length."""
    edges = [part * count // parts for part in range(parts + 1)]
    return [slice(*ends) for ends in pairwise(edges)]


def submit(work: Callable[[], B]) -> Task[B]:
    """Start work on another thread, if there is one; it must be short and must not block."""
    task, pool = Task(work), _workers(2)
    if pool is not None:
        pool.put(task)
    return task


def computed_ahead(
    function: Callable[[A], B], items: Iterable[A], threads: int
) -> Generator[B, None, None]:
    """Apply a function to every item, in order; other threads compute the next ones meanwhile.

    It must be short and must not block. On one thread nothing is computed ahead.
    """
    if threads <= 1 or getattr(_inside, "pool", False):
        yield from map(function, items)
        return
    waiting: deque[Task[B]] = deque()
    for item in items:
        waiting.append(submit(partial(function, item)))
        if len(waiting) >= threads:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def one_blas_thread(multiplications: float) -> AbstractContextManager[Any]:
    """BLAS on one thread: its number of threads changes the last bits of a result.

    Small calls, which BLAS never splits, are left alone: setting the limit costs more than they do.
    """
    if multiplications <= ONE_THREAD_BLAS:
        return nullcontext()
    limit: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limit
