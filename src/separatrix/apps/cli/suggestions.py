"""What a command suggests next: other commands with the options of this run, or options.

Messages of the library name arguments of Python; ``as_options`` names options instead.
"""

from __future__ import annotations

import re
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


WORDS = (  # arguments of the library, and the options that replace them
    (r"\bvalidation=([\d.]+)", r"--test \1"),
    (r"categorical=\{'([^']*)': '\w+'\}", r"--as-category '\1'"),
    (r"\bfeatures=\[\.\.\.\]", "--drop"),
    (r"\bmissing='(\w+)'", r"--missing \1"),
    (r"\b(target|keep|drop) (names|has the pattern)\b", r"--\1 \2"),
    (r"\bkeep and drop both name", "--keep and --drop both name"),
    (r"\bweight names the column", "--weight names the column"),
    (r"\boffset names the column", "--offset names the column"),
    (r"\bdates=\{'([^']*)': \[[^]]*\]\}", r"--date \1:year,month,weekday"),
    (r"\bdrop=\[\.\.\.\]", "--drop"),
    (r"\bdates names the column", "--date names the column"),
    (r"\bcategorical names the column", "--as-category names the column"),
    (r"say format= \(", "say --format ("),
    (r"\bbias_reduction='(\w+)'", r"--bias-reduction \1"),
    (r"\bother_rows=True", "--other-rows"),
    (r"\(l2 > 0\)", "(--l2 0.0001)"),
    (r"\bmax_iter\b", "--max-iter"),
    (r"\btol must be", "--tol must be"),
    (r"\b(l2s|strengths) must be (.*), or an array of positive values", r"--values must be \2"),
    (r"\bsmallest must be", "--smallest must be"),
    (r"\bl1_ratio must be", "--l1-ratio must be"),
    (
        r"scale the features \(standardize=True\), or give smaller values, \w+=np\.\w+\(.*?\)",
        "leave out --no-standardize if it is given, or give --l1 or --l2 a smaller number",
    ),
    (
        r"use fewer folds, a splitter that shuffles, .*, or leave out rare labels",
        "give --l2 a number, or leave out rare labels",
    ),
    (r", or pass a polars\.scan_csv\(\.\.\., separator=\.\.\.\)", ""),
)


def as_options(message: str) -> str:
    """Replace the names of Python arguments in a message by options of the command."""
    for python, option in WORDS:
        message = re.sub(python, option, message)
    return message
