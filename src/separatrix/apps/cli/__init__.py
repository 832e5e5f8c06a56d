"""The command ``separatrix``: from a file to a classifier with its proof, without Python."""

from __future__ import annotations

import signal
import sys


def main() -> None:
    """Run the command with the arguments of this process, and end it."""
    # Who asks the process to end is asking what Ctrl-C asks: a fit is kept.
    before = signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        sys.exit(_run())
    except KeyboardInterrupt:  # before there is a command
        sys.stderr.write("separatrix: interrupted; nothing was written\n")
        sys.exit(130)
    finally:  # a program that called this goes on
        signal.signal(signal.SIGTERM, before)


def _run() -> int:
    try:
        import rich  # noqa: F401  here only to say which of both is missing
        import typer  # noqa: F401
    except ImportError as error:
        sys.stderr.write(
            f"separatrix: {error.name} is missing, which the command line needs: "
            "pip install 'separatrix[cli]'\n"
        )
        return 2
    from .app import run

    return run(sys.argv[1:])
