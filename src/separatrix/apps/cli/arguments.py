"""Arguments and options that several commands share, and their completion in a shell."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

import separatrix


def losses() -> list[str]:
    """Losses that a classifier can be trained with."""
    names = [name for name in separatrix.losses.names() if name != "zero_one"]
    return [*names, *separatrix.losses.FORMS]


def complete_loss(incomplete: str) -> list[str]:
    """Losses that begin with this text."""
    return [name for name in losses() if name.startswith(incomplete)]


def complete_column(ctx: typer.Context, incomplete: str) -> list[str]:
    """Columns of the CSV file that was named before, if any."""
    named = [Path(word) for word in (*(ctx.params.get("data") or ()), *ctx.args)]
    try:
        with next(path for path in named if path.is_file()).open(encoding="utf-8-sig") as file:
            first = file.readline()
        names = next(csv.reader([first], delimiter=";" if ";" in first else ","))
    except (OSError, ValueError, StopIteration):
        return []  # the command itself will report the error
    before, comma, last = incomplete.rpartition(",")
    return [before + comma + name for name in names if name.startswith(last)]


def separate_names(param: typer.CallbackParam, given: list[str] | None) -> list[str] | None:
    """Names separated by commas, in one option or several: of ``a,b`` and ``c`` all three.

    A name that contains a comma is quoted as in CSV: ``'"a,b",c'``.
    """
    each = (csv.reader([text], skipinitialspace=True) for text in given or ())
    found = [name for reader in each for name in next(reader) or [""]]
    if not all(found):
        raise ValueError(f"{param.opts[0]} {','.join(given or ())}: a name is empty; expected a,b")
    return found or None


def joined_names(names: Iterable[str]) -> str:
    """Names as one option, such that ``separate_names`` finds them."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(names)
    return text.getvalue()


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
Offset = Annotated[
    str | None,
    typer.Option(
        help="Column of known numbers that are added to the score, such as log exposures.",
        autocompletion=complete_column,
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        help="Columns to use, such as a,b or 'visits_*' (can be repeated). [default: all]",
        autocompletion=complete_column,
        callback=separate_names,
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(
        help="Columns to leave out, such as a,b or 'id_*' (can be repeated).",
        autocompletion=complete_column,
        callback=separate_names,
    ),
]
AsCategory = Annotated[
    list[str] | None,
    typer.Option(
        help="Numeric columns to treat as categories, such as a,b (can be repeated).",
        autocompletion=complete_column,
        callback=separate_names,
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
Balanced = Annotated[bool, typer.Option("--balanced", help="Give every class the same weight.")]
PriorCorrection = Annotated[
    bool,
    typer.Option(
        "--prior-correction",
        help="With --balanced and --loss logistic: take the weights out of the probabilities.",
    ),
]
BiasReduction = Annotated[
    str | None,
    typer.Option(
        "--bias-reduction",
        help="mdypl or firth: finite coefficients of two classes, in place of a penalty.",
    ),
]
TOL, MAX_ITER = 1e-6, 1000  # defaults of the next two
Tol = Annotated[
    float,
    typer.Option(help="Relative distance of the objective from its minimum to be proven."),
]
MaxIter = Annotated[int, typer.Option(help="Most passes.")]
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
