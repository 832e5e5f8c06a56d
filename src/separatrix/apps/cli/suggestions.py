"""What a command suggests next: other commands with the options of this run, or options."""

from __future__ import annotations

import shlex
from typing import Any

import typer

from .arguments import joined_names

OUTPUT_OPTIONS = ("json", "output", "trace")  # not repeated in suggested commands
COLUMN_OPTIONS = ("keep", "drop", "as_category")
"""Options that separate names by commas, so that a name with a comma needs quotes."""


def command(ctx: typer.Context, name: str, **changes: Any) -> str:
    """The line that runs another command on the data and with the options of this one.

    Options that the other command lacks are left out, and those with their default value.
    """
    root = ctx.find_root()
    parameters: Any = root.command.get_command(root, name)  # type: ignore[attr-defined]
    given = {key: value for key, value in ctx.params.items() if key not in OUTPUT_OPTIONS}
    arguments, options = [], []
    for parameter in parameters.params:
        value = (given | changes).get(parameter.name)
        if value in (None, [], ()) or value == parameter.default:
            continue
        each = [str(one) for one in (value if isinstance(value, (list, tuple)) else [value])]
        if parameter.name in COLUMN_OPTIONS:
            each = [joined_names([one]) for one in each]
        if parameter.param_type_name == "argument":
            arguments += each
        elif isinstance(value, bool):
            options += (parameter.opts if value else parameter.secondary_opts)[:1]
        else:
            options += [word for one in each for word in _with_value(parameter.opts[0], one)]
    return shlex.join(["separatrix", name, *arguments, *options])


def _with_value(option: str, value: str) -> list[str]:
    return [f"{option}={value}"] if value.startswith("-") else [option, value]


def options(changes: dict[str, Any]) -> str | None:
    """The options of ``fit`` for changes of parameters; None if there are none."""
    words: list[str] = []
    for name, value in changes.items():
        match name, value:
            case "class_weight", "balanced":
                words.append("--balanced")
            case "prior_correction", True:
                words.append("--prior-correction")
            case "standardize", True:
                words.append("--standardize")
            case "drop", list():
                each = (_with_value("--drop", joined_names([column])) for column in value)
                words += [word for some in each for word in some]
            case "threshold", float():
                words += ["--threshold", f"{value:g}"]
            case "l2" | "penalty__l2", float():
                words += ["--l2", f"{value:g}"]
            case (("max_iter" | "tol" | "loss"), (int() | float() | str())):
                words += [f"--{name.replace('_', '-')}", str(value)]
            case _:
                return None
    return shlex.join(words) or None
