"""Dask as an engine: parts are futures, which the scheduler keeps and recomputes if lost.

A pass is one call to all workers, which answer for their parts: the query goes from the client to
the scheduler once and from there to every worker once, without tasks. For parts without an answer,
such as those of a worker that died, there is one task per run of neighbours, which depends on their
futures: the scheduler recomputes them elsewhere and runs the task there. A pass then only takes
longer. The engine notices it from the addresses of the workers that answered.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from ... import loops
from ...numeric.tree_sum import Node, TreeSum
from .engine import Engine, T
from .parts import Change, Folded, Part, PartSum, fold, loaded

POLL_SECONDS = 0.1  # between two looks at whether Ctrl-C was pressed
WORKER_SECONDS = 30.0  # without any worker, after which a fit gives up
CHECK_SECONDS = 2.0  # between two looks at whether there are workers
TASK_SECONDS = 60.0  # without any task: then a pass is made of some, or a cluster may end as idle
STOPPED = "asked to stop while workers summed over their rows"


class _AllWorkersReplaced(Exception):
    """None of the workers that parts were sent to exists any more, but there are others."""


@dataclass
class WorkerParts:
    """Neighbouring parts on one worker."""

    worker: str
    parts: range
    done: int = 0  # number of changes that were applied to the parts there


class DaskEngine(Engine):
    """Parts on the workers of a Dask client, each from delayed rows, labels and weights.

    A worker that joins gets no parts until the next fit, or until other parts are lost.
    """

    def __init__(
        self,
        client: Any,
        delayed: Sequence[tuple[Any, ...]],
        make: Callable[..., Part] = loaded,
    ) -> None:
        super().__init__()
        self.make = make
        self.client, self.delayed, self.n_parts = client, delayed, len(delayed)
        self.runs: list[WorkerParts] = []
        self.parts: list[Any] = []
        self.name = ""
        self.caller = ThreadPoolExecutor(1)
        self.last_tasks = time.monotonic()

    def place(self) -> None:
        """Place neighbouring parts on one worker, in proportion to its threads."""
        from dask import delayed

        make = delayed(self.make, pure=False)  # parts change: no two fits may share them
        self.runs, self.parts, self.name = [], [], f"separatrix-part-{uuid4().hex}"
        threads = self._threads_of_workers()
        every, before, first = sum(threads.values()), 0, 0
        for worker in sorted(threads):
            before += threads[worker]
            stop = before * self.n_parts // every
            if first < stop:
                self.runs.append(WorkerParts(worker, range(first, stop)))
                made = [
                    make(number, *self.delayed[number], dask_key_name=f"{self.name}-{number}")
                    for number in range(first, stop)
                ]
                self.parts += self.client.compute(
                    made, workers=[worker], allow_other_workers=True, sync=False
                )
            first = stop

    def total(self, of: PartSum[T]) -> T:
        """One call to all workers; then tasks until all parts are answered for."""
        answers, moved = self._called(of), False
        asked = [run for run in self.runs if run.parts.start not in answers]
        while asked:
            try:
                found_by_run = self._answers(of, asked)
            except _AllWorkersReplaced:
                self.place()
                answers, asked = {}, list(self.runs)
                continue
            behind = []
            for run, (nodes, worker) in zip(asked, found_by_run, strict=True):
                moved = moved or worker != run.worker
                run.done = 0 if nodes is None else len(self.changes)
                if nodes is None:
                    behind.append(run)
                else:
                    answers[run.parts.start] = nodes
            asked = behind
        if moved:
            self.replace_lost()
        tree = TreeSum(node for first in sorted(answers) for node in answers[first])
        found: Any = tree.total()
        if found is None:
            raise ValueError("there is nothing to sum: no part has a row")
        return found  # type: ignore[no-any-return]  # workers sent it: no type comes with it

    def replace_lost(self) -> None:
        """Divide the parts of lost workers among those with the fewest parts."""
        threads = self._workers()
        if not threads:  # the next sum waits for some
            return
        kept = [run for run in self.runs if run.worker in threads]
        load = dict.fromkeys(threads, 0)
        for run in kept:
            load[run.worker] += len(run.parts)
        for run in self.runs:
            if run.worker in threads:
                continue
            size = -(-len(run.parts) // len(threads))
            for first in range(run.parts.start, run.parts.stop, size):
                parts = range(first, min(first + size, run.parts.stop))
                worker = min(threads, key=lambda name: (load[name] / threads[name], name))
                load[worker] += len(parts)
                kept.append(WorkerParts(worker, parts))
        self.runs = sorted(kept, key=lambda run: run.parts.start)

    def _called(self, of: PartSum[T]) -> dict[int, list[Node]]:
        """The sums of runs whose worker has all of their parts, by their first part."""
        if time.monotonic() - self.last_tasks > TASK_SECONDS:
            return {}
        asked: dict[str, list[tuple[range, int]]] = {}
        for run in self.runs:
            asked.setdefault(run.worker, []).append((run.parts, run.done))
        before = min(run.done for run in self.runs)
        call = self.caller.submit(
            self.client.run, _fold_present, of, self.name, asked, before, self.changes[before:],
            on_error="return",
        )  # fmt: skip
        while not wait([call], POLL_SECONDS).done:
            if loops.stop_requested():
                raise loops.Interrupted(STOPPED)
        found: dict[int, list[Node]] = {}
        try:
            for answer in call.result().values():
                # An error means that a worker died, or recurs in a task, which raises it.
                found.update(answer if isinstance(answer, dict) else {})
        except OSError:  # there is no scheduler; the task will raise
            return {}
        for run in self.runs:
            if run.parts.start in found:
                run.done = len(self.changes)
        return found

    def _answers(self, of: PartSum[T], runs: Sequence[WorkerParts]) -> list[Folded]:
        self.last_tasks = time.monotonic()
        tasks = [
            self.client.submit(
                _fold, of, self.parts[run.parts.start : run.parts.stop], run.done,
                self.changes[run.done :], workers=[run.worker], allow_other_workers=True,
                pure=False, key=_key(of),
            )
            for run in runs
        ]  # fmt: skip
        self._wait(tasks)
        return self._results(tasks)

    def _wait(self, tasks: list[Any]) -> None:
        """Wait until all are done; Ctrl-C and a cluster without workers end it.

        Tasks that were sent to workers none of which exists any more are never scheduled again,
        although they may run elsewhere: Dask looks only at the addresses (seen with 2026.8).
        """
        done = threading.Semaphore(0)
        for task in tasks:
            task.add_done_callback(lambda _: done.release())
        looked = seen = time.monotonic()
        for _ in tasks:
            while not done.acquire(timeout=POLL_SECONDS):
                if loops.stop_requested():
                    self.client.cancel(tasks)
                    raise loops.Interrupted(STOPPED)
                now = time.monotonic()
                if now - looked < CHECK_SECONDS:
                    continue
                looked, workers = now, self._workers()
                if workers:
                    seen = now
                    if not any(run.worker in workers for run in self.runs):
                        self.client.cancel([*tasks, *self.parts])
                        raise _AllWorkersReplaced
                elif now - seen > WORKER_SECONDS:
                    self.client.cancel(tasks)
                    raise RuntimeError(
                        f"the cluster has had no worker for {WORKER_SECONDS:.0f} seconds: all are "
                        "lost, or none could start; see their logs, start some and fit again."
                    )

    def _results(self, tasks: list[Any]) -> list[Folded]:
        from concurrent.futures import CancelledError

        from distributed import KilledWorker

        try:
            found: list[Folded] = self.client.gather(tasks)
        except KilledWorker as error:
            raise RuntimeError(
                f"workers died repeatedly while they processed the same parts ({error}); they "
                "may lack memory: take smaller chunks, or workers with more memory."
            ) from error
        except CancelledError as error:
            raise RuntimeError(
                "rows were lost with their worker and cannot be recomputed: scattered data and "
                "data computed by another client have no task graph; pass collections that can "
                "be recomputed, such as those of dask's readers."
            ) from error
        return found

    def _workers(self) -> dict[str, int]:
        """Threads of every worker, from the scheduler: the client's list may be truncated."""
        try:
            found: dict[str, int] = self.client.nthreads()
        except OSError:  # no scheduler either
            return {}
        return {name: max(1, threads) for name, threads in found.items()}

    def _threads_of_workers(self) -> dict[str, int]:
        workers = self._workers()
        if not workers:
            raise RuntimeError(
                "the cluster of the active Dask client has no workers; start some, and wait for "
                "them with client.wait_for_workers(1)."
            )
        return workers


async def _fold_present(
    of: PartSum[Any],
    name: str,
    asked: Mapping[str, Sequence[tuple[range, int]]],
    before: int,
    changes: Sequence[Change],
    dask_worker: Any,
) -> dict[int, list[Node]]:
    """Sum the runs whose parts are all present; runs on a worker's task threads."""
    found: dict[int, list[Node]] = {}
    for numbers, done in asked.get(dask_worker.address, ()):
        try:
            parts = [dask_worker.data[f"{name}-{number}"] for number in numbers]
        except KeyError:  # not made yet, or lost, or moved
            continue
        nodes = await asyncio.get_running_loop().run_in_executor(
            dask_worker.executor, fold,
            of, parts, done, changes[done - before :], dask_worker.state.nthreads,
        )  # fmt: skip
        if nodes is not None:
            found[numbers.start] = nodes
    return found


def _fold(of: PartSum[Any], parts: Sequence[Any], done: int, changes: Sequence[Change]) -> Folded:
    """Sum with all threads of a worker: it has no other task of the same pass."""
    from distributed import get_worker

    worker = get_worker()
    return Folded(fold(of, parts, done, changes, worker.state.nthreads), worker.address)


def _key(of: Any) -> str:
    """A name that identifies a pass on Dask's dashboard."""
    return f"separatrix-{type(getattr(of, 'sum', of)).__name__.lower()}-{uuid4().hex}"
