"""The threads that work on blocks: one pool, made when first needed."""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import cache, partial
from itertools import pairwise
from typing import Any, TypeVar, cast

import joblib
from threadpoolctl import ThreadpoolController

from .thresholds import ONE_THREAD_BLAS

T = TypeVar("T", bound=tuple[Any, ...])
A = TypeVar("A")
B = TypeVar("B")

MOST_CPUS = "LOKY_MAX_CPU_COUNT"  # the variable of the environment that joblib looks at

_pool: ThreadPoolExecutor | None = None
_size = 0
_guard = threading.Lock()
_inside = threading.local()


def n_threads(n_jobs: int | None) -> int:
    """How many threads ``n_jobs`` means here: joblib's rule; None: all, but 1 in a worker."""
    if n_jobs is None:
        return 1 if _in_worker() else _cpu_count(_allowed(), os.environ.get(MOST_CPUS))
    return int(joblib.effective_n_jobs(n_jobs))


def _allowed() -> frozenset[int]:
    """The processors that this process may use, where the system tells."""
    return frozenset(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else frozenset()


@cache
def _cpu_count(allowed: frozenset[int], most: str | None) -> int:
    """As joblib counts; it reads files for that, so it is asked once as long as nothing changes."""
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


def _executor(threads: int) -> ThreadPoolExecutor | None:
    """The pool, with so many threads, or as before if they cannot be had; that is tried once."""
    global _pool, _size
    with _guard:
        if _size < threads:
            _pool, _size = _started(threads) or _pool, threads
        return _pool


def _started(threads: int) -> ThreadPoolExecutor | None:
    """A pool all of whose threads run: none is to be started in the middle of some work.

    Each costs memory, for its stack to begin with, and a process may have no more of it.
    """
    pool = ThreadPoolExecutor(threads, "separatrix", initializer=_enter)
    all_there = threading.Event()  # who waits is not idle: the next call starts another one
    try:
        for _ in range(threads):
            pool.submit(all_there.wait)
    except RuntimeError:  # can't start new thread
        pool.shutdown(wait=False, cancel_futures=True)
        return None
    finally:
        all_there.set()
    return pool


def _enter() -> None:
    _inside.pool = True


def _drop_in_child() -> None:
    """A forked child has none of its parent's threads, and must not wait for them."""
    global _pool, _size, _guard
    _pool, _size, _guard = None, 0, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_drop_in_child)


def run_on_threads(work: Callable[[], None], threads: int, cancel: Callable[[], None]) -> None:
    """Work on so many threads at once, until all are done; told to give up, they soon are.

    This thread is one of them: of two that are woken while it only waits, both are often put on
    one core. In a worker it is the only one, for no worker waits for others.
    """
    if threads <= 1 or getattr(_inside, "pool", False):
        work()
        return

    shared = [work]

    def guarded() -> None:
        try:
            shared[0]()
        except BaseException:
            cancel()
            raise

    executor = _executor(threads - 1)
    if executor is None:
        work()
        return
    futures = [executor.submit(guarded) for _ in range(threads - 1)]
    _inside.pool = True
    try:
        guarded()
    finally:
        _inside.pool = False
    for future in futures:
        if not future.cancel():  # one that has not begun would find nothing left to do
            future.result()
    shared.clear()  # one that was cancelled waits in its queue, and would hold blocks of rows


class _OrderedSum:
    """Adds parts in the order of their numbers, whichever comes first, and keeps few."""

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
    """Sum of tuples entry by entry, as they come: of at least one."""
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
        """Let nobody take another block."""
        with lock:
            for _ in numbers:
                pass

    run_on_threads(work, min(threads, len(blocks)), cancel)
    return cast(T, result.sum)


def equal_parts(count: int, parts: int) -> list[slice]:
    """So many things in parts that are nearly equal."""
    edges = [part * count // parts for part in range(parts + 1)]
    return [slice(*ends) for ends in pairwise(edges)]


def submit(work: Callable[[], Any]) -> Future[Any]:
    """Start work on another thread; it must be short and wait for nobody."""
    executor = _executor(2)
    if executor is not None:
        return executor.submit(work)
    done: Future[Any] = Future()
    done.set_result(work())
    return done


def computed_ahead(
    function: Callable[[A], B], items: Iterable[A], threads: int
) -> Generator[B, None, None]:
    """The function of every item, in their order; of some to come other threads make it meanwhile.

    It must be short and wait for nobody. On one thread nothing is made ahead.
    """
    if threads <= 1 or getattr(_inside, "pool", False):
        yield from map(function, items)
        return
    waiting: deque[Future[B]] = deque()
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

    Small calls, which it never splits, are left alone: the limit costs more than they do.
    """
    if multiplications <= ONE_THREAD_BLAS:
        return nullcontext()
    limit: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limit
