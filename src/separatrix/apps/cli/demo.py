"""``demo``: data, a verdict, a fit with its proof, pictures, and suggested next commands."""

from __future__ import annotations

import csv
import io
import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

import separatrix

from . import arguments as arg
from . import suggestions
from .fitting import SETTINGS, fit_and_save, report_end
from .inputs import Options
from .output import console, print_json, printable, table
from .proving import checked
from .written import written


def demo(
    ctx: typer.Context,
    folder: Annotated[str, typer.Argument(help="Folder for the files.")] = "demo",
    json: arg.Json = False,
) -> int:
    """Train on built-in data, and write the model and pictures to a folder."""
    from .report import show_fit

    began, out = time.perf_counter(), console(quiet=json)
    where = Path(folder)
    where.mkdir(parents=True, exist_ok=True)
    data, model = where / "tumours.csv", where / "tumours.sep"
    _write_tumours(data)
    out.rule("Can a plane separate the tumours?")
    options = Options(target="diagnosis", test=0.2)
    check, words = checked([str(data)], replace(options, test=0.0))
    out.print(printable(words))
    out.rule("A classifier, and its proof")
    fit = fit_and_save([str(data)], options, None, SETTINGS, str(model))
    show_fit(fit, out)
    out.rule("Small problems, and how runs end")
    lessons = _lessons()
    figures = [{name: each[name] for name in FIGURES} for each in lessons]
    out.print(table("", FIGURES, (list(each.values()) for each in figures)))
    out.print(
        "'no mistakes' proves that a line separates the rows, 'cycle' that the run would go on for"
        "ever, 'optimal' that no line has an objective lower by a millionth.\n"
    )
    files = [str(path) for path in (data, model, *_draw(where, lessons, separatrix.load(model)))]
    seconds, commands = time.perf_counter() - began, _commands(ctx, str(data), str(model))
    if json:
        found = {"check": check, "fit": fit, "lessons": figures, "files": files}
        print_json("demo", found | {"seconds": seconds, "next": commands})
    out.print(printable(f"In {seconds:.1f} s: {', '.join(files)}\n\nTry next:"), soft_wrap=True)
    for line in commands:
        out.print(printable(f"  {line}"), soft_wrap=True)
    return report_end(fit)


def _commands(ctx: typer.Context, data: str, model: str) -> list[str]:
    """Commands to try next."""
    return [
        suggestions.command(ctx, "inspect", model=model),
        suggestions.command(ctx, "predict", model=model, data=[data], proba=True),
        suggestions.command(ctx, "path", data=[data], target="diagnosis"),
    ]


def _write_tumours(path: Path) -> None:
    """569 tumours by 30 measures of their cells (Wolberg, Street and Mangasarian, 1995)."""
    from sklearn.datasets import load_breast_cancer  # imported here: other commands do not need it

    found = load_breast_cancer()
    with written(str(path)) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([*found.feature_names, "diagnosis"])
        for row, label in zip(found.data.tolist(), found.target, strict=True):
            writer.writerow([*row, found.target_names[label]])
        text.flush()
        text.detach()


FIGURES = ["data", "trained", "rows", "mistakes", "passes", "stopped"]


def _lessons() -> list[dict[str, Any]]:
    """The tables of AND, OR and XOR, and two irises by their petals, each trained in two ways."""
    import numpy as np
    from sklearn.datasets import load_iris

    irises = load_iris()
    kinds = irises.target > 0
    problems: dict[str, tuple[Any, Any]] = {
        name.upper(): separatrix.datasets.logic(name) for name in ("and", "or", "xor")
    }
    names = irises.target_names[irises.target[kinds]]
    problems["iris"] = (irises.data[kinds, 2:], names)
    found = []
    for data, (X, y) in problems.items():
        # The tables in the order of the course; the irises, sorted by species, are shuffled.
        models = {
            "perceptron": separatrix.Perceptron(shuffle=data == "iris", random_state=0),
            "logistic": separatrix.LinearClassifier("logistic", l2=1e-3),
        }
        for trained, clf in models.items():
            clf.fit(X, y)
            wrong = int(np.sum(clf.predict(X) != y))
            found.append(
                {
                    "data": data, "trained": trained, "rows": len(y), "mistakes": wrong,
                    "passes": clf.n_iter_, "stopped": clf.stop_, "model": clf, "X": X, "y": y,
                }
            )  # fmt: skip
    return found


def _draw(where: Path, lessons: list[dict[str, Any]], model: Any) -> list[Path]:
    """Draw the boundaries of the small problems and the fit of the model, with matplotlib."""
    try:
        import matplotlib as mpl
    except ImportError:
        return []
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    found = [where / "boundaries.png"]
    figure, axes = plt.subplots(2, len(lessons) // 2, figsize=(13, 6.4), layout="constrained")
    for at, lesson in enumerate(lessons):
        ax = axes[at % 2, at // 2]
        separatrix.BoundaryDisplay.from_estimator(lesson["model"], lesson["X"], lesson["y"], ax=ax)
        title = f"{lesson['data']}, {lesson['trained']}: {lesson['mistakes']} wrong"
        ax.set_title(f"{title}, {lesson['stopped']}", fontsize="medium")
        ax.set(xlabel="", ylabel="")
    with written(str(found[0])) as file:
        figure.savefig(file, dpi=110, format="png")
    plt.close(figure)
    found.append(where / "objective.png")
    history = separatrix.HistoryDisplay.from_estimator(model, columns="objective", name="Tumours")
    with written(str(found[1])) as file:
        history.figure_.savefig(file, dpi=110, format="png")
    plt.close(history.figure_)
    return found
