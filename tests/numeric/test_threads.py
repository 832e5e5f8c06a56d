"""Work that threads share."""

from __future__ import annotations

import threading
import weakref

import numpy as np
import pytest

from separatrix.numeric.threads import computed_ahead, ordered_sum, submit


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


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_what_is_computed_ahead_comes_in_order_and_is_bounded(threads):
    asked, found, ahead = [], [], []

    def items():
        for number in range(20):
            asked.append(number)
            yield number

    def square(number):
        if number == 15:
            raise ValueError("of one item")
        return number * number

    def collect():
        for each in computed_ahead(square, items(), threads):
            found.append(each)
            ahead.append(len(asked) - len(found))

    with pytest.raises(ValueError, match="of one item"):
        collect()
    assert found == [number * number for number in range(15)]
    assert max(ahead) == threads - 1
