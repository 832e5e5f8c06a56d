"""The command ``separatrix``: from a file to a classifier with its proof, without Python."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command with the arguments of this process, and end it."""
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ImportError as error:
        sys.stderr.write(
            f"separatrix: {error.name} is missing, which the command line needs: "
            "pip install 'separatrix[cli]'\n"
        )
        sys.exit(2)
    from .app import run

    sys.exit(run(sys.argv[1:]))
