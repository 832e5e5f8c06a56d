"""``demo``: data, a verdict, a fit with its proof, pictures, and what to try next."""

from __future__ import annotations

import csv
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from sklearn.datasets import load_breast_cancer, load_iris

import separatrix

from .fitting import fit
from .output import console, table
from .proving import check


def demo(
    folder: Annotated[str, typer.Argument(help="Where its files go.")] = "demo",
) -> None:
    """Train on data that comes along, and leave the model and pictures in a folder."""
    began, out = time.perf_counter(), console()
    where = Path(folder)
    where.mkdir(parents=True, exist_ok=True)
    data, model = where / "tumours.csv", where / "tumours.sep"
    _write_tumours(data)
    out.rule("Can a plane separate the tumours?")
    check([str(data)], target="diagnosis")
    out.rule("A classifier, and its proof")
    fit([str(data)], target="diagnosis", output=str(model))
    out.rule("Small problems, and how runs end")
    lessons = _lessons()
    out.print(table("", FIGURES, ([each[name] for name in FIGURES] for each in lessons)))
    out.print(
        "'no mistakes' proves that a line separates the rows, 'cycle' that the run would go on for "
        "ever, 'optimal' that no line has an objective lower by a millionth.\n"
    )
    pictures = _draw(where, lessons, separatrix.load(model))
    files = ", ".join(str(path) for path in (data, model, *pictures))
    out.print(f"In {time.perf_counter() - began:.1f} s: {files}\n\nTry next:", soft_wrap=True)
    for line in (
        f"separatrix inspect {model}",
        f"separatrix predict {model} {data} --proba",
        f"separatrix path {data} --target diagnosis",
    ):
        out.print(f"  {line}", soft_wrap=True)


def _write_tumours(path: Path) -> None:
    """569 tumours by 30 measures of their cells (Wolberg, Street and Mangasarian, 1995)."""
    found = load_breast_cancer()
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*found.feature_names, "diagnosis"])
        for row, label in zip(found.data.tolist(), found.target, strict=True):
            writer.writerow([*row, found.target_names[label]])


FIGURES = ["data", "trained", "rows", "mistakes", "passes", "stopped"]


def _lessons() -> list[dict[str, Any]]:
    """The lectures' tables, and two irises by their petals, each trained in two ways."""
    irises = load_iris()
    kinds = irises.target > 0
    problems: dict[str, tuple[Any, Any]] = {
        name.upper(): separatrix.datasets.logic(name) for name in ("and", "or", "xor")
    }
    names = irises.target_names[irises.target[kinds]]
    problems["iris"] = (irises.data[kinds, 2:], names)
    found = []
    for data, (X, y) in problems.items():
        # The lectures' tables in the lectures' order; the irises are sorted by kind, so shuffled.
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
    """Boundaries of the small problems, and the fit of the model; none without matplotlib."""
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
    figure.savefig(found[0], dpi=110)
    plt.close(figure)
    found.append(where / "objective.png")
    history = separatrix.HistoryDisplay.from_estimator(model, columns="objective", name="Tumours")
    history.figure_.savefig(found[1], dpi=110)
    plt.close(history.figure_)
    return found
