"""The live line of ``verbose=True``, on stderr."""

from __future__ import annotations

import sys
import time
from typing import Any, Protocol

EVERY = 0.1  # seconds between two updates of the line


class Progress(Protocol):
    """Shows the progress of a run."""

    def show(self, text: str) -> None:
        """Show the current status."""

    def close(self, text: str) -> None:
        """End the output."""


class PlainLine:
    """A line that overwrites itself on a terminal; elsewhere only its last state is written."""

    def __init__(self) -> None:
        self._last = 0.0
        self._width = 0
        self._live = sys.stderr.isatty()

    def show(self, text: str) -> None:
        """Overwrite the line, if the last update is not too recent."""
        now = time.perf_counter()
        if self._live and now - self._last >= EVERY:
            self._last = now
            sys.stderr.write("\r" + text.ljust(self._width))
            sys.stderr.flush()
            self._width = len(text)

    def close(self, text: str) -> None:
        """Print the final state and end the line."""
        sys.stderr.write(("\r" if self._live else "") + text.ljust(self._width) + "\n")
        sys.stderr.flush()


class RichLine:
    """A progress line with rich, which also works in notebooks."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        self._live: Any = Live(
            console=Console(stderr=True, highlight=False), refresh_per_second=1 / EVERY
        )

    def show(self, text: str) -> None:
        """Update the line; it starts with the first text, so that an early error prints none."""
        self._live.start()
        self._live.update(text)

    def close(self, text: str) -> None:
        """Print the final state."""
        self._live.update(text)
        self._live.stop()


def progress_line(verbose: bool) -> Progress | None:
    """A progress line if requested: with rich if it is installed and there is a terminal."""
    if not verbose:
        return None
    if sys.stderr.isatty():
        try:
            return RichLine()
        except ImportError:
            pass
    return PlainLine()
