"""``fit``: from a file to a model that was measured; ``path``: what the penalty does."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

import separatrix

from . import arguments as arg
from .figures import (
    data_facts,
    data_lines,
    fit_facts,
    measure,
    proof_line,
    telling,
)
from .inputs import Options, check_output, in_memory, opened, rows_in_memory
from .output import console, counted, percent, print_json, printable, say, shown, table
from .progress import NARROW, Watch

FOLDS = 5
VALUES, VALUES_FROM_FILES = 20, 8
"""Penalties that are tried; fewer where rows are read anew for each step."""
MANY_CATEGORIES = 0.5
"""Of the rows: a column with a category for each second one is a name, or a number of the row."""
CODE_INTERRUPTED = 130
RECORDED_ROWS = 2000


def fit(
    data: arg.Data,
    target: arg.Target = None,
    loss: arg.Loss = "logistic",
    l2: Annotated[
        str, typer.Option(help="Strength of the penalty, or auto: by cross-validation.")
    ] = "auto",
    test: Annotated[
        float, typer.Option(help="Share of the rows to hold out and measure by; 0 for none.")
    ] = 0.2,
    output: Annotated[
        str, typer.Option("--output", "-o", help="Where the model goes.")
    ] = "model.sep",
    drop: arg.Drop = None,
    as_category: arg.AsCategory = None,
    missing: arg.Missing = None,
    weight: arg.Weight = None,
    balanced: Annotated[
        bool, typer.Option("--balanced", help="Let every class weigh the same.")
    ] = False,
    standardize: arg.Standardize = True,
    tol: Annotated[
        float, typer.Option(help="How near to its minimum the objective is proven to be, relative.")
    ] = 1e-6,
    max_iter: Annotated[int, typer.Option(help="Most passes.")] = 1000,
    format: arg.Format = None,
    cache: Annotated[
        str | None,
        typer.Option(help="Folder for decoded rows, where there are more than memory holds."),
    ] = None,
    trace: Annotated[
        str | None,
        typer.Option(help="Write the fit step by step to this file, as JSON; 2,000 rows at most."),
    ] = None,
    json: arg.Json = False,
) -> int:
    """Fit a classifier to the rows of a file, measure it on rows held out, and save it.

    The rows to measure by are set aside first: categories, means and the penalty are found on the
    others, and the model that is saved is the one that was measured.
    """
    if not 0.0 <= test < 1.0:
        raise ValueError(f"--test {test:g}: expected a share of the rows, 0 or more and below 1")
    penalty = _penalty(l2)
    check_output(output)
    if trace is not None:
        check_output(trace)
    options = Options(
        target, weight, drop or [], as_category or [], missing, format, cache, test
    )  # fmt: skip
    given: dict[str, Any] = {
        "loss": loss, "standardize": standardize, "tol": tol, "max_iter": max_iter,
        "class_weight": "balanced" if balanced else None, "random_state": 0,
    }  # fmt: skip
    with opened(data, format) as paths, Watch(tol) as watch:
        watch.stage(f"Reading {data[0]}")
        source = options.read(paths)
        rows = in_memory(source)
        if trace is not None and source.n_rows > RECORDED_ROWS:
            raise ValueError(
                f"--trace {trace}: a fit is told step by step for {RECORDED_ROWS:,} rows at most, "
                f"and there are {source.n_rows:,} to train on; give it fewer, or a larger --test"
            )
        if rows is source and cache is None:
            say(
                "The rows take more than 1 GB, and are read and decoded anew at each pass: "
                "--cache FOLDER keeps them decoded."
            )
        began = time.perf_counter()
        model = _fitted(rows, penalty, given, watch)
        seconds = time.perf_counter() - began
        separatrix.save(model, output)
        if trace is not None:
            watch.stage("Recording")
            Path(trace).write_text(model.trace_.recording(rows).to_json(), encoding="utf-8")
        watch.stage("Measuring")
        found = _report(data, source, rows, model)
    found["model"] |= {"file": output, "seconds": seconds}
    if json:
        print_json("fit", found)
    else:
        _show(found, console())
    if model.stop_ == "interrupted":
        say(f"Interrupted: the model of the last whole pass is in {output}.")
        return CODE_INTERRUPTED
    return 0


def _penalty(l2: str) -> float | None:
    """A number, or None for auto."""
    if l2 == "auto":
        return None
    try:
        found = float(l2)
    except ValueError:
        found = -1.0
    if not 0.0 <= found < np.inf:
        raise ValueError(f"--l2 {l2}: expected a number, 0 or more, or auto")
    return found


def _fitted(rows: Any, l2: float | None, given: dict[str, Any], watch: Watch) -> Any:
    if l2 is not None:
        watch.stage("Fitting")
        clf = separatrix.LinearClassifier(l2=l2, callbacks=[watch], **given)
    else:
        values = VALUES if hasattr(rows, "block") else VALUES_FROM_FILES
        watch.stage("Searching l2", values * FOLDS if given["standardize"] else None)
        clf = separatrix.LinearClassifierCV(
            l2s=values, cv=FOLDS, scoring=_scoring(given["loss"]), callbacks=[watch], **given
        )
    try:
        clf.fit(rows)
    except KeyboardInterrupt as error:
        what = "no pass had ended" if l2 is not None else "l2 was still being searched"
        raise KeyboardInterrupt(f"{what}, so there is no model to save") from error
    return clf.set_params(callbacks=[])


def _scoring(loss: str) -> str | None:
    """The loss of rows left out; accuracy for the perceptron's, which is least at weights of 0."""
    return None if loss == "perceptron" else "loss"


def _report(data: list[str], source: Any, rows: Any, model: Any) -> dict[str, Any]:
    """All that is told of a fit."""
    sizes = source.class_weight_sums()
    majority = source.classes.tolist()[int(sizes.argmax())]
    held_out = source.validation
    facts = data_facts(" ".join(data), source, rows)
    return {
        "data": facts,
        "split": {
            "training_rows": source.n_rows,
            "held_out_rows": 0 if held_out is None else held_out.n_rows,
        },
        "model": fit_facts(model),
        "held_out": None if held_out is None else measure(model, held_out, majority),
        "training": measure(model, rows, majority),
        "coefficients": telling(model, rows),
        "findings": _findings(model, source, rows, facts),
    }


def _findings(model: Any, source: Any, rows: Any, facts: dict[str, Any]) -> list[dict[str, Any]]:
    """What ``diagnose`` says of the fit, and columns that are names of rows."""
    found = []
    if rows is not source:
        for finding in separatrix.diagnose(model, rows).findings:
            found.append({"cause": finding.cause, "sentence": finding.sentence})
    for name, count in facts["categories"].items():
        if count > MANY_CATEGORIES * source.n_rows and count > 20:
            sentence = (
                f"{name!r} has {count:,} different values in {source.n_rows:,} rows, as names or "
                f"numbers of rows have: leave it out by --drop {name!r}."
            )
            found.append({"cause": "a name as a category", "sentence": sentence})
    return found


def _show(found: dict[str, Any], out: Console) -> None:
    for line in data_lines(found["data"]):
        out.print(printable(line))
    split, model = found["split"], found["model"]
    out.print(
        f"{counted(split['training_rows'], 'row')} to train on, {split['held_out_rows']:,} held "
        "out to measure by.\n"
    )
    how = " (found by cross-validation)" if model["l2_found"] else ""
    out.print(
        f"Loss {model['loss']}, l2 = {model['l2']:.3g}{how}, {model['solver']}, "
        f"{counted(model['passes'], 'pass')} in {model['seconds']:.2g} s."
    )
    out.print(proof_line(model))
    show_measures(out, {"held out": found["held_out"], "training": found["training"]})
    show_coefficients(out, found["coefficients"])
    for finding in found["findings"]:
        out.print(printable(f"Warning: {finding['sentence']}"), style="yellow")
    out.print(f"The model is in {printable(model['file'])}.", soft_wrap=True)


def show_measures(out: Console, measures: dict[str, dict[str, Any] | None]) -> None:
    """Figures side by side, and the confusion matrix of the first."""
    known = {name: found for name, found in measures.items() if found is not None}
    figures: list[tuple[str, Any]] = [
        ("rows", lambda m: f"{m['rows']:,}"),
        ("accuracy", lambda m: percent(m["accuracy"])),
        ("always the majority", lambda m: percent(m["majority_accuracy"])),
        ("balanced accuracy", lambda m: percent(m["balanced_accuracy"])),
        ("log loss", lambda m: m["log_loss"]),
        ("mistakes", lambda m: f"{m['mistakes']:,g}"),
    ]
    lines = [[name, *(of(found) for found in known.values())] for name, of in figures]
    out.print(table("How well it does", ["", *known], (line for line in lines if any(line[1:]))))
    first = next(iter(known.values()))
    if first["confusion"] is not None:
        labels = [str(label) for label in first["confusion"]["labels"]]
        counts = [[f"{n:,g}" for n in row] for row in first["confusion"]["counts"]]
        rows = [[label, *row] for label, row in zip(labels, counts, strict=True)]
        title = f"Rows {next(iter(known))}: true class down, predicted across"
        out.print(table(title, ["", *labels], rows))
    for column, count in first["unknown_categories"].items():
        out.print(
            printable(f"{count:,} values of {column!r} were not in the rows to train on."),
            style="yellow",
        )


def show_coefficients(out: Console, found: list[dict[str, Any]]) -> None:
    """The most telling ones."""
    if not found:
        return
    scaled = found[0]["in_deviations"]
    columns: dict[str, Callable[[dict[str, Any]], Any]] = {
        "feature": lambda e: e["feature"], "coefficient": lambda e: e["coefficient"],
        "times deviation" if scaled else "size": lambda e: e["effect"],
        "speaks for": lambda e: str(e["class"]),
    }  # fmt: skip
    if out.width < NARROW:
        del columns["coefficient"]
    lines = ([of(each) for of in columns.values()] for each in found)
    out.print(table("Most telling features", list(columns), lines))


def path(
    data: arg.Data,
    target: arg.Target = None,
    loss: arg.Loss = "logistic",
    values: Annotated[int, typer.Option(help="How many penalties.")] = VALUES,
    score: Annotated[
        str, typer.Option(help="accuracy, or loss (its negative), of rows left out.")
    ] = "loss",
    drop: arg.Drop = None,
    as_category: arg.AsCategory = None,
    missing: arg.Missing = None,
    weight: arg.Weight = None,
    standardize: arg.Standardize = True,
    format: arg.Format = None,
    json: arg.Json = False,
) -> None:
    """Show how well a classifier does along a path of penalties, by cross-validation, in memory."""
    if score not in ("loss", "accuracy"):
        raise ValueError(f"--score {score}: expected loss or accuracy")
    options = Options(target, weight, drop or [], as_category or [], missing, format)
    with opened(data, format) as paths, Watch() as watch:
        watch.stage(f"Reading {data[0]}")
        rows = rows_in_memory(options.read(paths), "path")
        watch.stage("Along the path", values * FOLDS if standardize else None)
        clf = separatrix.LinearClassifierCV(
            loss, l2s=values, cv=FOLDS, scoring="loss" if score == "loss" else None,
            standardize=standardize, random_state=0, callbacks=[watch],
        ).fit(rows)  # fmt: skip
    results = clf.cv_results_
    scores, errors = results["mean_test_score"], results["standard_error"]
    best = int(np.argmax(scores))
    within = int(np.flatnonzero(scores >= scores[best] - errors[best])[0])
    found: dict[str, Any] = {
        "data": {"file": " ".join(data), "rows": rows.n_rows, "in_memory": True},
        "score": score, "folds": FOLDS,
        "path": [
            {"l2": float(each), "score": float(mean), "standard_error": float(error)}
            for each, mean, error in zip(clf.l2_path_, scores, errors, strict=True)
        ],
        "best": float(clf.l2_path_[best]), "one_standard_error": float(clf.l2_path_[within]),
    }  # fmt: skip
    if json:
        print_json("path", found)
        return
    sign = -1.0 if score == "loss" else 1.0
    marks = {best: "best", within: "simplest within one standard error of the best"}
    if best == within:
        marks = {best: "best"}
    out = console()
    out.print(f"{counted(rows.n_rows, 'row')} in memory, {FOLDS} folds.")
    lines = [
        [f"{each['l2']:.3g}", sign * each["score"], f"± {shown(each['standard_error'])}",
         marks.get(at, "")]
        for at, each in enumerate(found["path"])
    ]  # fmt: skip
    out.print(table(f"{score} of rows left out", ["l2", score, "", ""], lines))
    name = Path(data[0]).name
    out.print(f"Next: separatrix fit {name} --l2 {found['best']:.3g}", soft_wrap=True)
