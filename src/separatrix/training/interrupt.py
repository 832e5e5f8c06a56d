"""Ctrl-C: the first ends a fit and keeps the model, a second within two seconds raises."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from .. import loops

SECOND_WITHIN = 2.0


@dataclass
class CtrlC:
    """What has become of Ctrl-C."""

    ours: bool = False
    """It is handled here, and not by a program's own handler or a fit around this one."""
    pressed: bool = False


@contextmanager
def gentle_interrupt() -> Iterator[CtrlC]:
    """While this lasts, Ctrl-C asks the loops to stop instead of raising at once.

    Only on the main thread, the only one that Python lets handle signals, and only in place of
    Python's own handler: a program that installed another one keeps it. Where this is not so, as
    in a fit inside another one (in a callback), or in a worker, ``Interrupted`` is to pass, which
    is a KeyboardInterrupt. Whether Ctrl-C was pressed is known for good when this has ended: it
    may come at the very last moment.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield CtrlC()
        return
    state = CtrlC(ours=True)
    asked = -SECOND_WITHIN

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        now = time.monotonic()
        if now - asked < SECOND_WITHIN:
            raise KeyboardInterrupt
        asked = now
        state.pressed = True
        loops.request_stop()

    loops.clear_stop()
    signal.signal(signal.SIGINT, handle)
    try:
        yield state
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        loops.clear_stop()


@contextmanager
def passed_on() -> Iterator[None]:
    """While this lasts, Ctrl-C does not only end the run that it meets: it is passed on."""
    with gentle_interrupt() as ctrl_c:
        yield
    if ctrl_c.pressed:
        raise KeyboardInterrupt
