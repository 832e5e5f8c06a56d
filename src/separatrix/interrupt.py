"""Ctrl-C: the first ends a fit and keeps the model, a second within two seconds raises."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from . import loops

SECOND_WITHIN = 2.0


@contextmanager
def gentle_interrupt() -> Iterator[bool]:
    """While this lasts, Ctrl-C asks the loops to stop instead of raising at once.

    Only on the main thread, the only one that Python lets handle signals, and only in place of
    Python's own handler: a program that installed another one keeps it. True where this is so;
    a fit inside another one (in a callback), or in a worker, lets ``Interrupted`` pass, which is
    a KeyboardInterrupt.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield False
        return
    asked = -SECOND_WITHIN

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        now = time.monotonic()
        if now - asked < SECOND_WITHIN:
            raise KeyboardInterrupt
        asked = now
        loops.request_stop()

    loops.clear_stop()
    signal.signal(signal.SIGINT, handle)
    try:
        yield True
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        loops.clear_stop()
