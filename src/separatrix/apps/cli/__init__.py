"""The command ``separatrix``: from a file to a classifier with its proof, without Python."""

from __future__ import annotations

import gc
import io
import os
import signal
import sys


def main() -> None:
    """Run the command with the arguments of this process, then exit."""
    # A request to terminate is treated like Ctrl-C: a fit is saved.
    before = signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        sys.exit(_run())
    except KeyboardInterrupt:  # before the command has started
        sys.stderr.write("separatrix: interrupted; nothing was written\n")
        sys.exit(130)
    finally:  # a calling program continues
        signal.signal(signal.SIGTERM, before)


def _run() -> int:
    try:
        import rich  # noqa: F401  imported only to report which of both is missing
        import typer  # noqa: F401
    except ImportError as error:
        sys.stderr.write(
            f"separatrix: {error.name} is missing, which the command line needs: "
            "pip install 'separatrix[cli]'\n"
        )
        return 2
    if not _streams_are_ready():
        sys.stderr.write("separatrix: standard output is closed; send it to a file or /dev/null\n")
        return 2
    from .app import run

    gc.freeze()  # imported modules stay: the garbage collector need not search them
    return run(sys.argv[1:])


def _streams_are_ready() -> bool:
    """Whether there is a standard output; a closed stdin or stderr is redirected to ``/dev/null``.

    File names may contain characters that the encoding lacks: they are printed as escapes.
    """
    has_output = sys.stdout is not None
    for number in range(3):  # otherwise files opened later would get these numbers
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stdin is None:
        sys.stdin = open(0, closefd=False)  # noqa: SIM115  open until the process ends
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115  likewise
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    return has_output
