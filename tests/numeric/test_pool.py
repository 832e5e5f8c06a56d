"""Threads that cannot be had or die: work goes on without them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from separatrix.numeric import pool, threads
from separatrix.numeric.pool import Pool, Task, start_thread


def died(work, arguments):
    """A thread that is started and finds no memory for its first frame."""


def test_a_thread_that_dies_before_its_first_line_is_noticed(monkeypatch):
    monkeypatch.setattr(pool, "start_new_thread", died)
    assert start_thread(lambda sign: sign.lock.release()) is None
    one = Pool(2, lambda: None)
    assert not one.complete
    task = Task(lambda: 3)
    one.put(task)
    assert task.result() == 3


def test_a_thread_whose_life_is_known():
    go, alive = threads.threading.Event(), None

    def work(sign):
        sign.lock.release()
        go.wait(60)

    alive = start_thread(work)
    assert alive is not None
    assert alive()
    go.set()
    while alive():
        pass


def test_a_task_that_no_thread_begins_is_done_by_the_one_who_needs_it():
    task = Task(lambda: 7)
    assert (task.result(), task.result()) == (7, 7)
    failing = Task(lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        failing.result()
    begun = []
    cancelled = Task(lambda: begun.append(1))
    cancelled.cancel()
    assert cancelled.result() is None
    assert not begun


def test_a_pool_that_is_closed_begins_no_task():
    small = Pool(1, lambda: None)
    assert small.complete
    first, last = Task(lambda: 1), Task(lambda: 2)
    small.put(first)
    small.close()
    small.put(last)
    assert (first.result(), last.result()) == (1, 2)


SHORT = """
import os, resource, signal, sys, time
import numpy as np, pyarrow.csv, separatrix
from pathlib import Path
rng = np.random.default_rng(0)
X = rng.standard_normal((40_000, 20)); y = (X[:, 0] + rng.standard_normal(40_000) > 0).astype(int)
file = Path(sys.argv[1])
file.write_text("a,b,y\\n" + "".join(f"{a:.3f},{b:.3f},{c}\\n" for a, b, c in
                zip(X[:9000, 0], X[:9000, 1], y[:9000])))
# Everything is imported before the fork: some libraries hang if imported without memory.
public = [getattr(separatrix, name) for name in separatrix.__all__]
# Arrow's allocator takes memory of its thread at the first use; without it glibc ends the process.
separatrix.read(file, target="y", block_rows=4096)
fits = [
    lambda: separatrix.LinearClassifier(max_iter=2, n_jobs=4).fit(X, y),
    lambda: separatrix.LinearClassifier(max_iter=2).fit(
        separatrix.read(file, target="y", block_rows=4096)
    ),
]
for fit in fits:
    for more in (0, 9 << 20, 40 << 20):
        child = os.fork()
        if not child:
            signal.alarm(60)  # ends the process: no handler
            size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (size + more, size + more))
            code = 2
            try:
                fit()
                code = 0
            except MemoryError:
                code = 1
            finally:
                os._exit(code)
        print(os.waitpid(child, 0)[1])
"""


@pytest.mark.processes
@pytest.mark.skipif(sys.platform != "linux", reason="limits and their meaning differ")
def test_a_forked_child_without_memory_ends_in_a_result_or_in_an_error(tmp_path):
    """By its status: no signal, which is that of a crash or of the alarm after a hang."""
    command = [sys.executable, "-W", "ignore", "-c", SHORT, str(tmp_path / "rows.csv")]
    found = subprocess.run(command, capture_output=True, text=True, timeout=1200, check=True)
    assert set(found.stdout.split()) <= {"0", "256"}, found.stdout
