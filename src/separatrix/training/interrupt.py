"""Ctrl-C: the first ends a fit and keeps the model, a second within two seconds raises.

And SIGTERM, for those who have something to write before the process ends.
"""

from __future__ import annotations

import threading
import time

# Those of ``signal`` without the search through its enums, which takes twenty times as long.
from _signal import SIG_DFL, getsignal, signal  # type: ignore[import-not-found]
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from signal import SIGINT, SIGTERM, default_int_handler
from types import FrameType
from typing import Self

from .. import loops

SECOND_WITHIN = 2.0


class gentle_interrupt:  # noqa: N801 (a context manager, as contextlib's are)
    """While this lasts, Ctrl-C asks the loops to stop instead of raising at once.

    Only on the main thread, the only one that Python lets handle signals, and only in place of
    Python's own handler: a program that installed another one keeps it. Where this is not so, as
    in a fit inside another one (in a callback), or in a worker, ``Interrupted`` is to pass, which
    is a KeyboardInterrupt. Whether Ctrl-C was pressed is known for good when this has ended: it
    may come at the very last moment.
    """

    ours = False
    """Ctrl-C is handled here, and not by a program's own handler or a fit around this one."""
    pressed = False
    _asked = -SECOND_WITHIN

    def __enter__(self) -> Self:
        main = threading.current_thread() is threading.main_thread()
        if main and getsignal(SIGINT) is default_int_handler:
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
    """While this lasts, Ctrl-C does not only end the run that it meets: it is passed on."""
    with gentle_interrupt() as ctrl_c:
        yield
    if ctrl_c.pressed:
        raise KeyboardInterrupt


class gentle_termination:  # noqa: N801 (a context manager, as contextlib's are)
    """While this lasts, the first SIGTERM calls ``terminate`` instead of ending the process.

    Only on the main thread, and only where a program has no handler of its own. Whoever uses this
    has to look at ``asked``, and end the process then.
    """

    asked = False

    def __init__(self, terminate: Callable[[], None]) -> None:
        self._terminate, self._ours = terminate, False

    def __enter__(self) -> Self:
        main = threading.current_thread() is threading.main_thread()
        if main and getsignal(SIGTERM) == SIG_DFL:
            signal(SIGTERM, self._handle)
            self._ours = True
        return self

    def __exit__(self, *error: object) -> None:
        if self._ours:
            signal(SIGTERM, SIG_DFL)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        signal(SIGTERM, SIG_DFL)  # a second one is not to wait
        self.asked = True
        self._terminate()
