"""Train a perceptron and a logistic classifier on small data, report, and draw a picture.

Run by ``make demo``; an argument is the picture's file name.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from separatrix import LinearClassifier, Perceptron

CORNERS = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])


def problems() -> dict[str, tuple[Any, Any]]:
    """The lectures' three, and two irises by the length and width of their petals."""
    X, y = load_iris(return_X_y=True)
    kinds = y > 0
    return {
        "AND": (CORNERS, np.array([0, 0, 0, 1])),
        "OR": (CORNERS, np.array([0, 1, 1, 1])),
        "XOR": (CORNERS, np.array([0, 1, 1, 0])),
        "iris": (X[kinds, 2:], np.array(["versicolor", "virginica"])[y[kinds] - 1]),
    }


def draw(axes: Any, model: Any, X: Any, y: Any, title: str) -> None:
    """Rows, regions and boundary."""
    low, high = X.min(axis=0), X.max(axis=0)
    pad = 0.25 * (high - low)
    sides = [np.linspace(a, b, 300) for a, b in zip(low - pad, high + pad, strict=True)]
    grid = np.meshgrid(*sides)
    scores = model.decision_function(np.column_stack([g.ravel() for g in grid]))
    scores = scores.reshape(grid[0].shape)
    axes.contourf(*grid, scores >= 0, levels=[-0.5, 0.5, 1.5], colors=["#dbe7f5", "#fbe3d2"])
    if np.ptp(scores) > 0:
        axes.contour(*grid, scores, levels=[0.0], colors="#333333", linewidths=1.5)
    for label, colour, marker in zip(model.classes_, ("#1f5fa8", "#c8551b"), "os", strict=True):
        at = y == label
        axes.scatter(*X[at].T, c=colour, marker=marker, s=36, edgecolors="white", label=str(label))
    axes.set_title(title, fontsize=10)
    axes.legend(fontsize=7, loc="upper left")


def main(picture: str = "decision-boundary.png") -> None:
    # The lectures' tables in the lectures' order; the irises are sorted by kind, so shuffled.
    models: dict[str, Callable[[str], Any]] = {
        "perceptron": lambda data: Perceptron(shuffle=data == "iris", random_state=0),
        "logistic": lambda data: LinearClassifier("logistic", l2=1e-3),
    }
    cases = problems()
    figure, rows = plt.subplots(2, len(cases), figsize=(13, 6.4), layout="constrained")
    print("data  trained      mistakes   of   objective  passes  stopped")
    for axes, (name, make) in zip(rows, models.items(), strict=True):
        for ax, (data, (X, y)) in zip(axes, cases.items(), strict=True):
            model = make(data).fit(X, y)
            wrong = int(np.sum(model.predict(X) != y))
            objective = model.history_["objective"][-1]
            print(
                f"{data:<6}{name:<12}{wrong:>9}{len(y):>5}{objective:>12.5f}{model.n_iter_:>8}"
                f"  {model.stop_}"
            )
            draw(ax, model, X, y, f"{data}, {name}: {wrong} wrong, {model.stop_}")
    print(
        "\n'no mistakes' is a proof that a line separates the data; 'cycle' that this run would "
        "go on\nfor ever; 'optimal' that no line has an objective lower by a millionth. Mistakes "
        "are of the kept\nweights, the objective is the last pass's."
    )
    figure.savefig(picture, dpi=110)
    print(f"\nThe boundaries are in {picture}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
