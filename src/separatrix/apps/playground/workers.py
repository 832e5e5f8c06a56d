"""The processes behind the server: a request that takes too long costs only its own process.

Threads cannot be stopped, and a compiled loop or an exact proof may run for minutes. A process can:
the kernel ends it when its CPU time is used up, and another replaces it.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from multiprocessing import get_context

import anyio.to_thread

from .cpu_limit import ended_by_limit
from .limits import MOST_CPU_SECONDS, MOST_WAITING, MOST_WALL_SECONDS, WORKERS
from .messages import written
from .runs import KEPT
from .worker import work

if sys.platform == "linux":
    # Forks of one process that has imported the library and computed nothing: the import takes
    # seconds, and each process, also one that replaces another, would repeat it.
    CONTEXT = get_context("forkserver")
    CONTEXT.set_forkserver_preload([work.__module__])
else:
    CONTEXT = get_context("spawn")  # some libraries of macOS must not be forked
# Never forks of this process: they would copy the locks of its threads.

Answer = tuple[int, bytes]


class Worker:
    """A process, and the keys of the runs that it has cached."""

    def __init__(self, cpu_seconds: int) -> None:
        self.keys: deque[str] = deque(maxlen=KEPT)
        self.pipe, theirs = CONTEXT.Pipe()
        self.process = CONTEXT.Process(target=work, args=(theirs, cpu_seconds), daemon=True)
        self.process.start()
        theirs.close()  # otherwise the end of the process would not close the pipe

    def ask(self, name: str, body: bytes, seconds: float) -> Answer | None:
        """The answer; None if the process ends first, or after the given number of seconds."""
        try:
            self.pipe.send((name, body))
            return self.pipe.recv() if self.pipe.poll(seconds) else None
        except (EOFError, OSError):
            self.process.join()  # to get its exit code
            return None

    def end(self) -> int | None:
        """Kill the process; return the exit code if it had ended before."""
        found = self.process.exitcode
        self.process.kill()
        self.process.join()
        return found


class Workers:
    """A few processes, each with one request at a time; other requests wait for one of them."""

    def __init__(
        self, count: int = WORKERS, cpu_seconds: int = MOST_CPU_SECONDS,
        wall_seconds: float = MOST_WALL_SECONDS,
    ) -> None:  # fmt: skip
        self.cpu_seconds, self.wall_seconds = cpu_seconds, wall_seconds
        self.all = [Worker(cpu_seconds) for _ in range(count)]
        self.idle = list(self.all)
        """Idle workers, the longest idle first."""
        self.waiting = 0
        self._free = asyncio.Semaphore(count)

    async def answer(self, name: str, body: bytes, key: str | None = None) -> Answer:
        """The status and the JSON of a request; requests with the same key need the same run."""
        if self.waiting >= MOST_WAITING:
            return _failed(503, "The server is busy with other requests: try again later.")
        self.waiting += 1
        try:
            async with self._free:
                return await self._answer(name, body, key)
        finally:
            self.waiting -= 1

    async def _answer(self, name: str, body: bytes, key: str | None) -> Answer:
        worker = next((one for one in self.idle if key in one.keys), self.idle[0])
        self.idle.remove(worker)
        answer = None
        try:
            answer = await anyio.to_thread.run_sync(
                worker.ask, name, body, self.wall_seconds, abandon_on_cancel=True
            )
        finally:
            if answer is None:
                exitcode = worker.end()
                self.all.remove(worker)
                worker = Worker(self.cpu_seconds)
                self.all.append(worker)
            elif key is not None and key not in worker.keys:
                worker.keys.append(key)
            self.idle.append(worker)
        if answer is not None:
            return answer
        if exitcode is None or ended_by_limit(exitcode):
            return _failed(
                503,
                f"This took more than {self.cpu_seconds} seconds of CPU time and was stopped: "
                "use fewer points, passes or centres.",
            )
        return _failed(500, "The process that computed this ended: use fewer points or passes.")

    def end(self) -> None:
        for worker in self.all:
            worker.end()


def _failed(status: int, message: str) -> Answer:
    return status, written({"error": message})
