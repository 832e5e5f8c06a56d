"""``inspect`` and ``export``: the contents of a model file, and the model in other formats."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

import separatrix

from . import arguments as arg
from .inputs import loaded
from .output import console, counted, percent, print_json, printable, table
from .paths import check_output, choice
from .written import goes_to_stdout

SUFFIXES = {"onnx": ".onnx", "json": ".json", "sql": ".sql", "c": ".h"}


def inspect(model: arg.Model, json: arg.Json = False) -> None:
    """Show a model file: what was fitted, how the fit ended, its strongest features."""
    from .deciding import decision_facts, decision_words
    from .figures import fit_facts, important, proof_line, selection_line
    from .report import show_coefficients

    estimator = loaded(model)
    split = getattr(estimator, "split_", None)
    found: dict[str, Any] = {
        "model": fit_facts(estimator) | {"file": model, "bytes": os.path.getsize(model)},
        "columns": _columns(estimator),
        "held_out": None if split is None else split.held_out or None,
        "decision": decision_facts(estimator),
        "coefficients": important(estimator),
    }
    if json:
        print_json("inspect", found)
        return
    out, facts = console(), found["model"]
    about = [
        ("file", f"{model} ({facts['bytes']:,} bytes)"),
        ("kind", facts["kind"]),
        ("loss", facts["loss"]),
        ("l1", f"{facts['l1']:.3g}" if facts["l1"] else None),
        ("l2", None if facts["l2"] is None else f"{facts['l2']:.3g}"),
        ("solver", facts["solver"]),
        ("passes", facts["passes"]),
        ("classes", ", ".join(map(str, facts["classes"]))),
        ("features", f"{facts['features']:,}"),
        ("columns", None if found["columns"] is None else ", ".join(found["columns"])),
        ("predicts", decision_words(estimator)),
        ("held out", found["held_out"] and f"{percent(found['held_out'])} of the rows"),
    ]
    lines = [each for each in about if each[1] is not None]
    out.print(table("Model", ["", ""], lines, numbers=False))
    if facts["stop"] is not None:
        out.print(proof_line(facts))
    if facts["selection"] is not None:
        out.print(selection_line(facts))
    show_coefficients(out, found["coefficients"])


def _columns(model: Any) -> list[str] | None:
    """The columns that a table must have."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def export(
    model: arg.Model,
    to: Annotated[str, typer.Option(help="onnx, json, sql or c.")],
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Output file, if not next to the model.")
    ] = None,
    table_name: Annotated[
        str | None, typer.Option("--table", help="With sql: the table to read. [default: rows]")
    ] = None,
    key: Annotated[
        str | None, typer.Option(help="With sql: a column of the table to show with the results.")
    ] = None,
    json: arg.Json = False,
) -> None:
    """Write a model as ONNX, JSON, a SQL query, or a C header."""
    choice("--to", to, list(SUFFIXES))
    for option, value in (("--table", table_name), ("--key", key)):
        if value is not None and to != "sql":
            raise ValueError(
                f"{option} {value} is about a query: use it with --to sql, not --to {to}"
            )
    to_stdout = output is not None and goes_to_stdout(output, json)
    estimator = loaded(model)
    path = output or str(Path(model).with_suffix(SUFFIXES[to]))
    check_output(path, model)
    separatrix.export(estimator, path, to=to, table=table_name or "rows", key=key)
    size = os.path.getsize(path) if os.path.isfile(path) else None  # a pipe has none
    if json:
        print_json("export", {"model": model, "output": path, "to": to, "bytes": size})
        return
    length = "" if size is None else f", {counted(size, 'byte')}"
    console(stderr=to_stdout).print(printable(f"Written: {path}{length}."), soft_wrap=True)
