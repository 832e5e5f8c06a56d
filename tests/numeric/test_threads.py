"""Work that threads share."""

from __future__ import annotations

import threading
import weakref

import numpy as np

from separatrix.numeric.threads import ordered_sum, submit


def test_what_was_summed_is_let_go_though_no_worker_came_to_help():
    """A worker that is busy finds what it was asked for only later, cancelled."""
    hold, busy = threading.Event(), threading.Semaphore(0)

    def occupy():
        busy.release()
        hold.wait(60.0)

    waiting = [submit(occupy) for _ in range(2)]
    try:
        assert busy.acquire(timeout=60.0)
        blocks = [np.full(3, number) for number in range(4)]
        alive = [weakref.ref(block) for block in blocks]
        (total,) = ordered_sum(lambda block: (block.sum(),), blocks, threads=2)
        assert total == 18
        del blocks
        assert [block() for block in alive] == [None] * 4
    finally:
        hold.set()
    for one in waiting:
        one.result()
