"""``path``: models along a path of penalties, as ``separatrix.path``, with held-out scores."""

from __future__ import annotations

from typing import Annotated, Any

import typer

import separatrix

from . import arguments as arg
from . import suggestions
from .inputs import TEST, Options, check_share, rows_in_memory
from .output import console, counted, percent, print_json, printable, shown, table
from .paths import choice, opened
from .progress import Watch
from .search import FOLDS, STRENGTHS, VALUES, folds_for
from .strengths import check_smooth


def path(
    ctx: typer.Context,
    data: arg.Data,
    target: arg.Target = None,
    loss: arg.Loss = "logistic",
    l1_ratio: Annotated[
        float,
        typer.Option(help="Share of l1 in the penalty: 1 for l1 alone, 0 for l2 alone."),
    ] = 0.0,
    values: Annotated[
        int | None,
        typer.Option(
            help=f"Number of penalties. [default: {STRENGTHS}, or {VALUES} with l2 alone]"
        ),
    ] = None,
    smallest: Annotated[
        float | None,
        typer.Option(
            help="Smallest penalty, as a share of the largest. [default: 1e-4, or 1e-2 for fewer "
            "rows than features; 1e-8 with l2 alone]"
        ),
    ] = None,
    score: Annotated[
        str, typer.Option(help="accuracy, or loss (its negative), on held-out rows.")
    ] = "loss",
    folds: Annotated[int, typer.Option(help="Number of folds of the cross-validation.")] = FOLDS,
    test: Annotated[
        float,
        typer.Option(
            help="Share of the rows to leave out: those that fit holds out for measuring. 0 for "
            "none."
        ),
    ] = TEST,
    keep: arg.Keep = None,
    drop: arg.Drop = None,
    as_category: arg.AsCategory = None,
    date: arg.Date = None,
    missing: arg.Missing = None,
    weight: arg.Weight = None,
    offset: arg.Offset = None,
    balanced: arg.Balanced = False,
    standardize: arg.Standardize = True,
    tol: arg.Tol = arg.TOL,
    max_iter: arg.MaxIter = arg.MAX_ITER,
    format: arg.Format = None,
    json: arg.Json = False,
) -> None:
    """Fit classifiers along a path of penalties, and score them by cross-validation, in memory.

    The rows that fit holds out are left out here, too, so that they can measure the suggested fit.
    With --l1-ratio 1 features enter one after another: the table names them in this order.
    """
    check_share(test)
    choice("--score", score, ("loss", "accuracy"))
    choice("--loss", loss, arg.losses())
    if folds < 2:
        raise ValueError(f"--folds {folds}: expected a whole number of 2 or more")
    if l1_ratio:
        check_smooth(loss)
    options = Options(
        target, weight, drop or [], as_category or [], missing, format, test=test,
        dates=date or [], keep=keep or [], offset=offset,
    )  # fmt: skip
    with opened(data, format) as paths, Watch() as watch:
        watch.stage(f"Reading {data[0]}")
        source = options.read(paths)
        options.say_doubts(source)
        rows = rows_in_memory(source, "path")
        folds = folds_for(rows, folds)
        watch.stage("Along the path")
        along = separatrix.path(
            rows, loss=loss, l1_ratio=l1_ratio, strengths=values, smallest=smallest, cv=folds,
            scoring="loss" if score == "loss" else None, standardize=standardize, tol=tol,
            max_iter=max_iter, class_weight="balanced" if balanced else None, random_state=0,
            callbacks=[watch],
        )  # fmt: skip
    held_out = 0 if source.validation is None else source.validation.n_rows
    facts = {
        "file": " ".join(data), "rows": rows.n_rows, "held_out_rows": held_out, "in_memory": True
    }  # fmt: skip
    found: dict[str, Any] = {"data": facts, "score": score, "folds": folds} | _facts(along)
    if json:
        print_json("path", found)
        return
    if l1_ratio:
        _show_sparse(found)
        best = next(each for each in found["path"] if each["strength"] == found["best"])
        l1, l2 = f"{best['l1']:.3g}", f"{best['l2']:.3g}"
        line = suggestions.command(ctx, "fit", l1=l1, l2=l2, l1_ratio=None)
    else:
        _show(found)
        line = suggestions.command(ctx, "fit", l2=f"{found['best']:.3g}", l1_ratio=None)
    console().print(printable(f"Next: {line}"), soft_wrap=True)


def _facts(along: Any) -> dict[str, Any]:
    """The path as plain data; a path in l2 names its choices by l2, others by strength."""
    ratio, s, scores = along.l1_ratio, along.strengths, along.cv_results
    columns: dict[str, Any] = {
        "strength": s, "l1": ratio * s, "l2": (1.0 - ratio) * s / 2.0,
        "score": scores["mean_test_score"], "standard_error": scores["standard_error"],
        "nonzeros": along.nonzeros, "deviance": along.deviance, "objective": along.objectives,
        "gap": along.gaps,
    }  # fmt: skip
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    steps = [dict(zip(columns, row, strict=True)) | {"entering": []} for row in rows]
    entry = dict(zip(map(str, along.feature_names), along.entry.tolist(), strict=True))
    for name in along.order_of_entry:
        steps[entry[name]]["entering"].append(name)
    of = 1.0 if ratio else 0.5
    return {
        "l1_ratio": ratio, "path": steps, "best": along.best_strength * of,
        "one_standard_error": along.one_standard_error_strength * of,
        "order_of_entry": along.order_of_entry if ratio else None,
    }  # fmt: skip


SIMPLEST = "simplest within one standard error of the best"


def _marks(found: dict[str, Any]) -> dict[float, str]:
    return {found["one_standard_error"]: SIMPLEST} | {found["best"]: "best"}


def _rows(found: dict[str, Any]) -> str:
    """Which rows were used."""
    data, text = found["data"], ""
    if data["held_out_rows"]:
        text = f"; fit measures on {counted(data['held_out_rows'], 'other row')}"
    return f"{counted(data['rows'], 'row')} in memory, {found['folds']} folds{text}."


def _show(found: dict[str, Any]) -> None:
    score, out, marks = found["score"], console(), _marks(found)
    sign = -1.0 if score == "loss" else 1.0
    out.print(_rows(found))
    lines = [
        [f"{each['l2']:.3g}", sign * each["score"], f"± {shown(each['standard_error'])}",
         marks.get(each["l2"], "")]
        for each in found["path"]
    ]  # fmt: skip
    out.print(table(f"{score} on held-out rows", ["l2", score, "", ""], lines))


def _show_sparse(found: dict[str, Any]) -> None:
    """The steps at which features enter or leave, and the choices."""
    score, out, steps = found["score"], console(), found["path"]
    sign, marks = -1.0 if score == "loss" else 1.0, _marks(found)
    out.print(_rows(found))
    lines, before = [], -1
    for at, each in enumerate(steps):
        mark = marks.get(each["strength"], "")
        if mark or each["entering"] or each["nonzeros"] != before or at == len(steps) - 1:
            text = ", ".join(each["entering"])
            lines.append(
                [f"{each['strength']:.3g}", sign * each["score"],
                 f"± {shown(each['standard_error'])}", percent(each["deviance"]),
                 each["nonzeros"], "; ".join(part for part in (text, mark and f"({mark})") if part)]
            )  # fmt: skip
        before = each["nonzeros"]
    title = f"{score} on held-out rows, and the features that enter"
    out.print(table(title, ["strength", score, "", "explained", "weights", "entering"], lines))
    order = ", ".join(found["order_of_entry"])
    out.print(printable(f"Features in order of entry: {order or 'none'}."))
