"""Arguments and options that several commands share, and what completes them in a shell."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Annotated

import typer

import separatrix

LOSSES = [name for name in separatrix.losses.names() if name != "zero_one"]
LOSSES += separatrix.losses.FORMS
"""Those that a classifier can be trained with."""


def complete_loss(incomplete: str) -> list[str]:
    """Losses that begin so."""
    return [name for name in LOSSES if name.startswith(incomplete)]


def complete_column(ctx: typer.Context, incomplete: str) -> list[str]:
    """Columns of the CSV file that was named before, if there is one."""
    named = [Path(word) for word in (*(ctx.params.get("data") or ()), *ctx.args)]
    try:
        with next(path for path in named if path.is_file()).open(encoding="utf-8-sig") as file:
            first = file.readline()
        names = next(csv.reader([first], delimiter=";" if ";" in first else ","))
    except (OSError, ValueError, StopIteration):
        return []  # whatever is wrong, the command itself will say so
    return [name for name in names if name.startswith(incomplete)]


Data = Annotated[
    list[str],
    typer.Argument(
        help="Files of CSV, Parquet, Arrow, LIBSVM or .npy, also compressed; - is standard input."
    ),
]
Model = Annotated[str, typer.Argument(help="A model file.")]
Target = Annotated[
    str | None,
    typer.Option("--target", "-t", help="Column of labels.", autocompletion=complete_column),
]
Weight = Annotated[
    str | None,
    typer.Option(help="Column of weights of rows.", autocompletion=complete_column),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(help="Column to leave out (again for more).", autocompletion=complete_column),
]
AsCategory = Annotated[
    list[str] | None,
    typer.Option(
        help="Column whose numbers are names (again for more).", autocompletion=complete_column
    ),
]
Missing = Annotated[
    str | None,
    typer.Option(
        help="What becomes of missing values: indicator (the mean, and a feature that says so), "
        "mean, zero or error. [default: indicator]"
    ),
]
Format = Annotated[
    str | None,
    typer.Option(help="csv, parquet, arrow, svmlight or npy, where the suffix does not tell."),
]
Loss = Annotated[
    str,
    typer.Option(help="What a wrong answer costs.", autocompletion=complete_loss),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, and nothing else.")]
Standardize = Annotated[
    bool,
    typer.Option(help="Measure features in deviations, so that the penalty treats them alike."),
]
