"""Arguments and options that several commands share, and their completion in a shell."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Annotated

import typer

import separatrix

LOSSES = [name for name in separatrix.losses.names() if name != "zero_one"]
LOSSES += separatrix.losses.FORMS
"""Losses that a classifier can be trained with."""


def complete_loss(incomplete: str) -> list[str]:
    """Losses that begin with this text."""
    return [name for name in LOSSES if name.startswith(incomplete)]


def complete_column(ctx: typer.Context, incomplete: str) -> list[str]:
    """Columns of the CSV file that was named before, if any."""
    named = [Path(word) for word in (*(ctx.params.get("data") or ()), *ctx.args)]
    try:
        with next(path for path in named if path.is_file()).open(encoding="utf-8-sig") as file:
            first = file.readline()
        names = next(csv.reader([first], delimiter=";" if ";" in first else ","))
    except (OSError, ValueError, StopIteration):
        return []  # the command itself will report the error
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
    typer.Option(help="Column of sample weights.", autocompletion=complete_column),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(help="Column to leave out (can be repeated).", autocompletion=complete_column),
]
AsCategory = Annotated[
    list[str] | None,
    typer.Option(
        help="Numeric column to treat as categories (can be repeated).",
        autocompletion=complete_column,
    ),
]
Date = Annotated[
    list[str] | None,
    typer.Option(
        help="Column of dates and the parts to use, such as signup:year,month,weekday; also day, "
        "hour and days (can be repeated).",
    ),
]
Missing = Annotated[
    str | None,
    typer.Option(
        help="How to fill missing values: indicator (the mean, and a feature that marks them), "
        "mean, zero or error. [default: indicator]"
    ),
]
Format = Annotated[
    str | None,
    typer.Option(help="csv, parquet, arrow, svmlight or npy, if the suffix does not show it."),
]
Loss = Annotated[
    str,
    typer.Option(help="Loss function.", autocompletion=complete_loss),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, and nothing else.")]
Standardize = Annotated[
    bool,
    typer.Option(help="Scale features to unit variance, so that the penalty treats them alike."),
]
Threshold = Annotated[
    float | None,
    typer.Option(
        help="Predict the larger of two classes where its probability (for losses without "
        "probabilities: its score w.x + b) is at least this."
    ),
]
Report = Annotated[
    str | None,
    typer.Option(help="Write a report with tables and plots, as one HTML file."),
]
