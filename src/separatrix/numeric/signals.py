"""Signals that end a process, and quick access to their handlers.

The functions are those of ``signal`` without its search through enums, which takes twenty times as
long.
"""

from __future__ import annotations

import sys
from _signal import SIG_DFL, getsignal, signal  # type: ignore[import-not-found]
from signal import SIGINT, SIGTERM, default_int_handler, raise_signal

if sys.platform == "win32":
    from signal import SIGBREAK

    # Untested: consoles send it for Ctrl-Break and when their window is closed. Nothing sends
    # SIGTERM.
    TERMINATE = SIGBREAK
else:
    TERMINATE = SIGTERM
    """What the system sends to ask a process to end."""

__all__ = [
    "SIGINT",
    "SIG_DFL",
    "TERMINATE",
    "default_int_handler",
    "getsignal",
    "raise_signal",
    "signal",
]
