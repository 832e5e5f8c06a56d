"""All commands as one program, with exit codes and error messages.

The modules of commands import what takes long (NumPy, scikit-learn, and most of this package)
inside functions, so that ``--help``, ``--version`` and completion answer at once.
"""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Callable
from functools import cache, wraps
from typing import Annotated, Any

import typer

from . import demo, fitting, inferring, models, penalty_path, playing, proving, using
from .output import UNTITLED, console, print_json, single_line
from .suggestions import as_options

OK, WRONG_USE, UNEXPECTED, INTERRUPTED = 0, 2, 70, 130  # 70: EX_SOFTWARE; 130: 128 + SIGINT
USAGE_ERRORS: Any = typer.BadParameter.__mro__[:-3]
"""Exceptions of typer for wrong use of the command: it may bundle its own click."""
HELP = """Linear classifiers from files, each with a proof of how good it is.

Exit codes: 0 ok, 2 wrong usage or bad input, 3 not separable (check), 70 an error of the program
itself (--debug shows where), 130 interrupted: the fit so far is saved, and its file named.
"""


class Interrupted(Exception):
    """Ctrl-C, which typer would treat as a silent exit."""


def interruptible(command: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a command so that it reports what Ctrl-C left undone."""

    @wraps(command)
    def call(**given: Any) -> Any:
        try:
            return command(**given)
        except KeyboardInterrupt as error:
            raise Interrupted(str(error)) from error

    return call


app = typer.Typer(
    name="separatrix", help=HELP, rich_markup_mode=None,
    pretty_exceptions_enable=False, context_settings={"help_option_names": ["-h", "--help"]},
)  # fmt: skip
for command in (
    fitting.fit, using.predict, using.evaluate, proving.check, proving.certify, penalty_path.path,
    inferring.inference, proving.diagnose, models.inspect, models.export, demo.demo,
    playing.playground,
):  # fmt: skip
    app.command()(interruptible(command))


def _version(asked: bool) -> None:
    if asked:
        from ... import __version__

        typer.echo(f"separatrix {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show where an error comes from (anywhere on the line).")
    ] = False,
) -> None:
    """Options of all commands; ``run`` handles ``--debug``."""


@cache
def _program() -> Any:
    """All commands, built once: it takes 40 ms."""
    return typer.main.get_command(app)


def run(arguments: list[str]) -> int:
    """Run the command and return the exit code of the process."""
    debug = "--debug" in arguments
    arguments = [argument for argument in arguments if argument != "--debug"] or ["--help"]
    command = next((word for word in arguments if not word.startswith("-")), "")
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = _show_warning
        try:
            result = _program().main(arguments, prog_name="separatrix", standalone_mode=False)
            sys.stdout.flush()
            return result if isinstance(result, int) else OK
        except BaseException as ended:
            error = ended.__context__ if isinstance(ended, SystemExit) else ended
            if isinstance(ended, SystemExit) and not isinstance(error, BrokenPipeError):
                return int(ended.code or OK)
            unnamed = isinstance(error, OSError) and error.filename is None
            if isinstance(error, BrokenPipeError) and unnamed:
                _discard_output()
                return OK  # the reader of our output closed it
            if debug:
                traceback.print_exc()
            code, message = _ending(error)
            report = {"error": {"code": code, "message": message}}
            if not _printed(command, report if "--json" in arguments else None) and unnamed:
                message = f"standard output: {message}"
            name = single_line(command) or "separatrix"
            console(stderr=True).print(f"{name}: {message}", soft_wrap=True)
            return code


def _printed(command: str, error: dict[str, Any] | None) -> bool:
    """Print an error as JSON, if given; False if standard output fails."""
    try:
        if error is not None:
            print_json(command, error)
        sys.stdout.flush()
    except OSError:
        _discard_output()
        return False
    return True


def _discard_output() -> None:
    """Redirect the rest of standard output to ``/dev/null``: the process flushes it on exit."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


def _ending(error: BaseException | None) -> tuple[int, str]:
    """The exit code and the one or two lines to print for an error."""
    if isinstance(error, (KeyboardInterrupt, Interrupted, typer.Abort)):
        return INTERRUPTED, single_line(f"interrupted; {str(error) or 'nothing was written'}")
    if isinstance(error, USAGE_ERRORS):
        _suggest_option(error)
        return WRONG_USE, single_line(f"{error.format_message()} (see --help)")
    if isinstance(error, OSError) and error.strerror:
        name = "" if error.filename is None else f"{error.filename}: "
        return WRONG_USE, single_line(f"{name}{error.strerror}")
    if isinstance(error, (ValueError, ImportError, MemoryError, OSError)):
        return WRONG_USE, as_options(single_line(str(error)))
    text = f"{type(error).__name__}: {single_line(str(error))}"
    return UNEXPECTED, f"{text}\nThis is an error of the program; --debug shows where it happened."


OPTIONS_OF_PYTHON = {
    "--categorical": "--as-category", "--class-weight": "--balanced", "--dates": "--date",
    "--sample-weight": "--weight", "--scoring": "--score", "--test-size": "--test",
    "--validation": "--test", "--weights": "--weight",
}  # fmt: skip
"""Options named like arguments in Python, and the options that are meant."""


def _suggest_option(error: Any) -> None:
    """Suggest the option that is meant instead of those with a similar name."""
    meant = OPTIONS_OF_PYTHON.get(getattr(error, "option_name", None) or "")
    known = [] if error.ctx is None else error.ctx.command.params
    if meant is not None and any(meant in parameter.opts for parameter in known):
        error.possibilities = [meant]


def _show_warning(message: Any, *_: Any, **__: Any) -> None:
    text = as_options(single_line(str(message)))
    console(stderr=True).print(f"warning: {text}", soft_wrap=True, style=UNTITLED)
