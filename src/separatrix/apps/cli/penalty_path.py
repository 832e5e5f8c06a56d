"""``path``: the effect of the penalty strength, by cross-validation."""

from __future__ import annotations

from typing import Annotated, Any

import typer

import separatrix

from . import arguments as arg
from . import suggestions
from .inputs import Options, choice, opened, rows_in_memory
from .output import console, counted, print_json, printable, shown, table
from .progress import Watch
from .search import VALUES, folds_for


def path(
    ctx: typer.Context,
    data: arg.Data,
    target: arg.Target = None,
    loss: arg.Loss = "logistic",
    values: Annotated[int, typer.Option(help="Number of penalties.")] = VALUES,
    score: Annotated[
        str, typer.Option(help="accuracy, or loss (its negative), on held-out rows.")
    ] = "loss",
    drop: arg.Drop = None,
    as_category: arg.AsCategory = None,
    date: arg.Date = None,
    missing: arg.Missing = None,
    weight: arg.Weight = None,
    standardize: arg.Standardize = True,
    format: arg.Format = None,
    json: arg.Json = False,
) -> None:
    """Show how well a classifier does along a path of penalties, by cross-validation, in memory."""
    choice("--score", score, ("loss", "accuracy"))
    choice("--loss", loss, arg.losses())
    options = Options(
        target, weight, drop or [], as_category or [], missing, format, dates=date or []
    )  # fmt: skip
    with opened(data, format) as paths, Watch() as watch:
        watch.stage(f"Reading {data[0]}")
        source = options.read(paths)
        options.say_doubts(source)
        rows = rows_in_memory(source, "path")
        folds = folds_for(rows)
        watch.stage("Along the path", values * folds if standardize else None)
        clf = separatrix.LinearClassifierCV(
            loss, l2s=values, cv=folds, scoring="loss" if score == "loss" else None,
            standardize=standardize, random_state=0, callbacks=[watch],
        ).fit(rows)  # fmt: skip
    facts = {"file": " ".join(data), "rows": rows.n_rows, "in_memory": True}
    found = {"data": facts, "score": score, "folds": folds} | _along(clf)
    if json:
        print_json("path", found)
        return
    _show(found)
    line = suggestions.command(ctx, "fit", l2=f"{found['best']:.3g}")
    console().print(printable(f"Next: {line}"), soft_wrap=True)


def _along(clf: Any) -> dict[str, Any]:
    """Scores and their errors along the path, the best, and the simplest within one error of it."""
    import numpy as np

    results = clf.cv_results_
    scores, errors = results["mean_test_score"], results["standard_error"]
    best = int(np.argmax(scores))
    within = int(np.flatnonzero(scores >= scores[best] - errors[best])[0])
    return {
        "path": [
            {"l2": float(each), "score": float(mean), "standard_error": float(error)}
            for each, mean, error in zip(clf.l2_path_, scores, errors, strict=True)
        ],
        "best": float(clf.l2_path_[best]), "one_standard_error": float(clf.l2_path_[within]),
    }  # fmt: skip


def _show(found: dict[str, Any]) -> None:
    score, out = found["score"], console()
    sign = -1.0 if score == "loss" else 1.0
    simplest = "simplest within one standard error of the best"
    marks = {found["one_standard_error"]: simplest} | {found["best"]: "best"}
    out.print(f"{counted(found['data']['rows'], 'row')} in memory, {found['folds']} folds.")
    lines = [
        [f"{each['l2']:.3g}", sign * each["score"], f"± {shown(each['standard_error'])}",
         marks.get(each["l2"], "")]
        for each in found["path"]
    ]  # fmt: skip
    out.print(table(f"{score} on held-out rows", ["l2", score, "", ""], lines))
