"""Ctrl-C: the first ends a fit and keeps the model, a second within two seconds raises.

Also SIGTERM, for programs that save something before the process ends.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Self

from .. import loops
from ..numeric.signals import (
    SIG_DFL,
    SIGINT,
    TERMINATE,
    default_int_handler,
    getsignal,
    signal,
)

SECOND_WITHIN = 2.0  # seconds: a second Ctrl-C in this time stops at once


class gentle_interrupt:  # noqa: N801 (a context manager, as contextlib's are)
    """Within this context, Ctrl-C asks the loops to stop instead of raising at once.

    Only on the main thread, the only one in which Python allows signal handlers, and only in place
    of Python's default handler: another handler installed by the program is kept. Otherwise, as in
    a nested fit (in a callback) or in a worker, ``Interrupted``, a KeyboardInterrupt, must pass.
    Whether Ctrl-C was pressed is final only after the context has ended, because it may come at
    the last moment.
    """

    ours = False
    """Whether Ctrl-C is handled here, not by the program's own handler or an enclosing fit."""
    pressed = False
    _asked = -SECOND_WITHIN

    def __enter__(self) -> Self:
        default = getsignal(SIGINT) is default_int_handler
        if default and threading.current_thread() is threading.main_thread():
            loops.clear_stop()
            self.ours = True
            signal(SIGINT, self._handle)
        return self

    def __exit__(self, *error: object) -> None:
        if self.ours:
            signal(SIGINT, default_int_handler)
            loops.clear_stop()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if now - self._asked < SECOND_WITHIN:
            raise KeyboardInterrupt
        self._asked = now
        self.pressed = True
        loops.request_stop()


@contextmanager
def passed_on() -> Iterator[None]:
    """Within this context, Ctrl-C ends the current run and is also passed on."""
    with gentle_interrupt() as ctrl_c:
        yield
    if ctrl_c.pressed:
        raise KeyboardInterrupt


class gentle_termination:  # noqa: N801 (a context manager, as contextlib's are)
    """Within this context, the first SIGTERM calls ``terminate`` instead of ending the process.

    Only on the main thread, and only if the program has no handler of its own. The caller must
    check ``asked`` and then end the process.
    """

    asked = False

    def __init__(self, terminate: Callable[[], None]) -> None:
        self._terminate, self._ours = terminate, False

    def __enter__(self) -> Self:
        main = threading.current_thread() is threading.main_thread()
        if main and getsignal(TERMINATE) == SIG_DFL:
            signal(TERMINATE, self._handle)
            self._ours = True
        return self

    def __exit__(self, *error: object) -> None:
        if self._ours:
            signal(TERMINATE, SIG_DFL)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        signal(TERMINATE, SIG_DFL)  # a second one takes effect at once
        self.asked = True
        self._terminate()
