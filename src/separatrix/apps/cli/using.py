"""``predict`` and ``evaluate``: using a model file."""

from __future__ import annotations

import csv
import io
from typing import Annotated, Any

import typer

import separatrix

from . import arguments as arg
from .deciding import DecisionOptions, report_weights
from .dialect import Dialect, with_decimal
from .inputs import Options, judged, loaded
from .output import console, counted, print_json, printable, say
from .paths import check_output, opened
from .written import check_report, check_table_name, goes_to_stdout, written

BINARY = ("parquet", "arrow")  # formats of tables


def predict(
    model: arg.Model,
    data: arg.Data,
    output: Annotated[
        str, typer.Option("--output", "-o", help="Output file; - is standard output.")
    ] = "-",
    proba: Annotated[
        bool, typer.Option("--proba", help="Also the probability of every class.")
    ] = False,
    certified: Annotated[
        bool,
        typer.Option(
            "--certified",
            help="Also the label that the exact minimum of the fit is proven to predict, or "
            "undecided, and bounds on its scores; with --proba on its probabilities. The model "
            "needs fit --certify-predictions.",
        ),
    ] = False,
    format: arg.Format = None,
    json: arg.Json = False,
) -> None:
    """Add the predicted class to the rows of a file; its columns and their order stay the same."""
    estimator = loaded(model)
    goes_to_stdout(output, json)
    if proba and not hasattr(estimator, "predict_proba"):
        raise ValueError(f"--proba: the loss {estimator.loss!r} does not define probabilities")
    if certified and not hasattr(estimator, "prediction_bounds_"):
        raise ValueError(
            f"--certified: {model} has no bounds on its predictions; fit it with "
            "separatrix fit --certify-predictions"
        )
    if output != "-":
        check_output(output, model, *data)
        check_table_name(output)
    with opened(data, format) as paths:
        found = _predicted(estimator, paths, proba)
        if certified:
            found |= _certified(estimator, paths, proba)
        is_table = Options(format=format).has_columns(paths)
        with written(output) as file:
            _write(paths if is_table else [], found, file, output)
    unknown = dict(getattr(estimator, "unknown_categories_", {}))
    for column, count in unknown.items():
        say(
            printable(
                f"{count:,} values of {column!r} were not in the fit: they count as no category."
            )
        )
    if json and getattr(estimator, "multilabel_", False):
        from .labels import predicted_counts

        rows = {"output": output} | predicted_counts(estimator, found)
        print_json("predict", rows | {"unknown_categories": unknown})
    elif json:
        import numpy as np

        of_certified = {}
        if certified:
            of_certified = {"decided": int(np.sum(found["certified"] != "undecided"))}
        counts = np.unique(found["prediction"], return_counts=True)
        each = [{"label": a, "rows": n} for a, n in zip(*(c.tolist() for c in counts), strict=True)]
        rows = {"output": output, "rows": len(found["prediction"]), "predicted": each}
        print_json("predict", rows | of_certified | {"unknown_categories": unknown})


def _predicted(model: Any, paths: list[str], proba: bool) -> dict[str, Any]:
    """The columns to add."""
    try:
        if getattr(model, "multilabel_", False):
            from .labels import columns_to_add

            return columns_to_add(model, paths, proba)
        found = {"prediction": model.predict(paths)}
        if proba:
            each = model.predict_proba(paths).T
            found |= {f"probability_{c}": p for c, p in zip(model.classes_, each, strict=True)}
    except TypeError as error:  # a model that was fitted to arrays, or rows of another type
        raise ValueError(f"{paths[0]}: {error}") from error
    return found


def _certified(model: Any, paths: list[str], proba: bool) -> dict[str, Any]:
    """The columns of ``--certified``."""
    found = model.certified(paths)
    # Strings in every format: a column of Parquet has one type.
    columns = {"certified": found.labels.astype(str)}
    each = [] if len(model.classes_) == 2 else [f"_{c}" for c in model.classes_]
    for name, low, high in (
        ("score", found.score_low, found.score_high),
        ("probability", found.probability_low, found.probability_high),
    ):
        if name == "probability":
            if not proba:
                break
            each = [f"_{c}" for c in model.classes_]
        for at, suffix in enumerate(each or [""]):
            columns[f"{name}_low{suffix}"] = low if low.ndim == 1 else low[:, at]
            columns[f"{name}_high{suffix}"] = high if high.ndim == 1 else high[:, at]
    return columns


def _write(paths: list[str], found: dict[str, Any], file: Any, output: str) -> None:
    from ...data.files.readers.formats import known_format

    binary = known_format(output) in BINARY
    if paths and known_format(paths[0]) in BINARY:
        _write_arrow(paths, found, file, output if binary else None)
        return
    if binary:
        raise ValueError(f"{output}: rows of CSV are written as CSV; use a name that ends in .csv")
    text = io.TextIOWrapper(file, encoding="utf-8", errors="surrogateescape", newline="")
    values = zip(*(column.tolist() for column in found.values()), strict=True)
    if not paths:
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(found)
        writer.writerows(values)
    else:
        _write_csv(paths, found, values, text)
    text.flush()
    text.detach()


def _write_csv(paths: list[str], found: dict[str, Any], values: Any, text: Any) -> None:
    """Copy every line as it is in the file, and add the new columns in the same dialect."""
    dialect = Dialect.of(paths[0])
    added = csv.writer(text, delimiter=dialect.delimiter, lineterminator=dialect.newline)
    first: list[str] = []
    for path in paths:
        own = Dialect.of(path)
        if own.delimiter != dialect.delimiter:
            raise ValueError(
                f"{path} separates values with {own.delimiter!r}, and {paths[0]} "
                f"{dialect.delimiter!r}: predict them one by one"
            )
        sign, rows = own.decimal(path), own.records(path)
        line, names = next(rows)
        if not first:
            first = names
            text.write(dialect.start + line)
            added.writerow(["", *_new_names(names, found)])
        order = None if names == first else [names.index(name) for name in first]
        for line, row in rows:
            new = [with_decimal(value, sign) for value in next(values)]
            if order is None:
                text.write(line)
                added.writerow(["", *new])  # an empty value, so that the delimiter comes first
            else:
                added.writerow([*(row[j] for j in order), *new])


def _new_names(names: list[str], found: dict[str, Any]) -> list[str]:
    """Names for the added columns that differ from the existing ones."""
    return [name if name not in names else f"{name}_by_separatrix" for name in found]


def _write_arrow(paths: list[str], found: dict[str, Any], file: Any, output: str | None) -> None:
    """Copy batch by batch, as Parquet or Arrow if the output name says so, else as CSV."""
    import pyarrow as pa
    import pyarrow.csv as pacsv
    import pyarrow.dataset as ds
    import pyarrow.parquet as pq

    from ...data.files.readers.formats import known_format

    parquet = known_format(paths[0]) == "parquet"
    rows = ds.dataset(paths, format="parquet" if parquet else "ipc")
    names = _new_names(rows.schema.names, found)
    columns = {name: pa.array(c) for name, c in zip(names, found.values(), strict=True)}
    schema = rows.schema
    for name, column in columns.items():
        schema = schema.append(pa.field(name, column.type))
    if output is None:
        writer = pacsv.CSVWriter(file, schema)
    elif known_format(output) == "parquet":
        writer = pq.ParquetWriter(file, schema)
    else:
        writer = pa.ipc.new_file(file, schema)
    first = 0
    with writer:
        for batch in rows.to_batches():
            added = [column.slice(first, batch.num_rows) for column in columns.values()]
            whole = pa.record_batch([*batch.columns, *added], schema=schema)
            writer.write_batch(whole)
            first += batch.num_rows


def evaluate(
    model: arg.Model,
    data: arg.Data,
    target: arg.Target = None,
    threshold: arg.Threshold = None,
    report: arg.Report = None,
    format: arg.Format = None,
    json: arg.Json = False,
) -> None:
    """Measure a model on labelled rows that it was not fitted to.

    On the file of its fit, only the held-out rows are used, without those that chose its threshold;
    on any other file, all rows. With --threshold the model decides by another one, for this once.
    """
    from .figures import class_counts, measure
    from .labels import measured, show_label_figures
    from .report import show_measures

    estimator = loaded(model)
    check_report(report, model, *data)
    with opened(data, format) as paths:
        of = judged(estimator, paths, target, format)
        rows = of.rows if of.held_out is None else of.held_out
        if not len(rows.classes):
            raise ValueError(f"{data[0]}: which column contains the labels? Use --target NAME")
        several = rows.labels is not None
        weights = judge = None
        if several:
            if threshold is not None or report is not None:
                raise ValueError(
                    f"{model} predicts several labels for a row: --threshold and --report are for "
                    "models of classes"
                )
            found = measured(estimator, rows)
        else:
            weights = None if of.held_out is None else report_weights(estimator, rows)
            DecisionOptions(threshold).apply(estimator, None, None)
            judge = separatrix.Report(
                estimator, rows, sample_weight=weights, title=f"{model} on {' '.join(data)}"
            )
            found = measure(judge)
            if report is not None:
                judge.save(report)
    facts = of.facts(data, by=rows)
    facts |= {"labels": rows.labels.names} if several else {"classes": class_counts(rows)}
    if json:
        print_json("evaluate", {"model": model, "data": facts, "figures": found})
        return
    out = console()
    if of.is_of_fit and of.held_out is None:
        say("warning: it was trained on these rows and held none out: it does worse on new rows.")
    elif of.is_of_fit:
        n, trained = counted(rows.n_rows, "row"), counted(of.rows.n_rows, "other")
        out.print(f"The {n} that its fit held out, without {trained} that it was trained on.")
    if judge is None:
        show_label_figures(out, {"evaluated": found})
        return
    if weights is not None:
        n = rows.n_rows - judge.figures["rows"]
        out.print(f"{n:,} of these rows chose the threshold and are not measured.")
    out.print(printable(judge.decision))
    show_measures(out, {"evaluated": found})
