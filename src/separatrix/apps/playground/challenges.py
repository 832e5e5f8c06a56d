"""Challenges: tasks to solve with points and settings, checked by the library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix import datasets

from ...separation.text import enclosed
from ...training.recording.proof import UNDECIDED, proven
from .methods import BadRequest
from .runs import PlaygroundRun, as_points

Asked = dict[str, Any]
NO_VERDICT = f"Whether a line separates these points is {UNDECIDED}: place fewer points."
UPDATES = 20  # that the challenge asks for


@dataclass(frozen=True)
class Challenge:
    """A task, its initial points and method, and the check whether it is solved."""

    title: str
    task: str
    points: list[list[float]]
    method: dict[str, Any]
    check: Callable[[Asked], tuple[bool, str]]


def listed() -> list[dict[str, Any]]:
    """All challenges, as plain data."""
    return [
        {"name": name, "title": one.title, "task": one.task, "points": one.points,
         "method": one.method}
        for name, one in CHALLENGES.items()
    ]  # fmt: skip


def checked(asked: Asked) -> dict[str, Any]:
    """Whether these points and this method solve a challenge, and why or why not."""
    name = asked.get("name")
    if not isinstance(name, str) or name not in CHALLENGES:
        raise BadRequest(f"name: expected one of {', '.join(CHALLENGES)}")
    done, text = CHALLENGES[name].check(asked)
    return {"done": bool(done), "text": text}


def _many_updates(asked: Asked) -> tuple[bool, str]:
    settings = {"name": "perceptron", "max_iter": 2000}
    run = PlaygroundRun.of(asked | {"method": settings})
    if len(run.X) != 4:
        return False, f"There are {len(run.X)} points; expected four."
    found = proven(run.X, run.y, fit_intercept=True)
    if found is None:
        return False, NO_VERDICT
    if found.verdict != "separable":
        return False, "No line separates these four points: the updates never end."
    updates = sum(len(rows) for rows in run.recording.columns.updated)
    if run.clf.stop_ != "no mistakes":
        return True, f"More than {updates} updates, and still no end within the limits of the page."
    text = f"The perceptron needs {updates} updates."
    return updates > UPDATES, text if updates > UPDATES else f"{text} Expected more than 20."


def _one_point(asked: Asked) -> tuple[bool, str]:
    run = PlaygroundRun.of(asked | {"method": {"max_iter": 1}})
    missing, added = _compared(run, CHALLENGES["one point"].points)
    if missing:
        return False, "The original points must not move: begin again, or undo."
    if added != 1:
        return False, f"Add one point: {added} were added."
    found = proven(run.X, run.y, fit_intercept=True)
    if found is None:
        return False, NO_VERDICT
    if found.margin_bounds is not None:
        margin = enclosed(*found.margin_bounds, digits=3)
        return False, f"A line still separates them; the largest margin is {margin}."
    return True, f"That is proven: the points are {found.verdict} now."


def _diverging_step(asked: Asked) -> tuple[bool, str]:
    run = PlaygroundRun.of(asked)
    if run.method.name != "gradient_descent":
        return False, "Keep gradient descent, and change its step size."
    if run.clf.stop_ != "diverged":
        return False, f"With steps of {run.method.learning_rate:g} it ends with '{run.clf.stop_}'."
    shorter = replace(run.method, learning_rate=max(1e-6, run.method.learning_rate / 100.0))
    calm = PlaygroundRun.fitted(shorter, run.X, run.y)
    if calm.clf.stop_ == "diverged":
        return False, "A hundredth of the step diverges as well: the step is not the cause."
    return True, (
        f"Steps of {run.method.learning_rate:g} increase the objective, those of "
        f"{shorter.learning_rate:g} do not: that run ends with '{calm.clf.stop_}'."
    )


def _exclusive_or(asked: Asked) -> tuple[bool, str]:
    run = PlaygroundRun.of(asked)
    missing, added = _compared(run, CHALLENGES["xor"].points)
    if missing or added:
        return False, "The four points of XOR must not change: begin again, or undo."
    wrong = _wrong(run)
    if wrong:
        return False, f"{wrong} of the four points are on the wrong side at the end."
    return True, "All four are correct: more features do what no line in the plane can."


def _strong_penalty(asked: Asked) -> tuple[bool, str]:
    run = PlaygroundRun.of(asked)
    found = proven(run.X, run.y, fit_intercept=run.method.fit_intercept)
    if found is None:
        return False, NO_VERDICT
    if found.verdict != "separable":
        return False, "No line separates these points, so mistakes prove nothing."
    if run.method.name != "newton":
        return False, "Keep Newton's method, and change its penalty."
    wrong = _wrong(run)
    if not wrong:
        return False, f"With l2 = {run.method.l2:g} every point is still classified correctly."
    weaker = replace(run.method, l2=run.method.l2 / 1000.0)
    left = _wrong(PlaygroundRun.fitted(weaker, run.X, run.y))
    if left >= wrong:
        return False, f"With l2 = {weaker.l2:g} as many are wrong: the penalty is not the cause."
    return True, f"l2 = {run.method.l2:g} costs {wrong} points, l2 = {weaker.l2:g} only {left}."


def _wrong(run: PlaygroundRun) -> int:
    Z = run.X if run.features is None else run.features.transform(run.X)
    return int(np.sum(run.clf.predict(Z) != run.y))


def _compared(run: PlaygroundRun, start: list[list[float]]) -> tuple[int, int]:
    """Number of initial points that are missing, and of points that were added."""
    left = [(*map(float, point[:2]), int(point[2])) for point in start]
    added = 0
    for (x1, x2), label in zip(run.X.tolist(), run.y.tolist(), strict=True):
        if (x1, x2, label) in left:
            left.remove((x1, x2, label))
        else:
            added += 1
    return len(left), added


def _uneven() -> list[list[float]]:
    """Two points of one class near many of the other: a strong penalty gives the two up."""
    many = [[1.0 + 0.25 * (i % 4), 0.25 * (i // 4), 1] for i in range(16)]
    return [[0.0, 0.25, 0], [0.0, 0.5, 0], *many]


CHALLENGES = {
    "many updates": Challenge(
        "Four points that need more than 20 updates",
        "Move the four points so that a line separates them and the perceptron, row by row from "
        "zero, still needs more than 20 updates.",
        as_points(*datasets.logic("and")), {"name": "perceptron"}, _many_updates,
    ),
    "one point": Challenge(
        "One point that breaks separability",
        "Add one point, without moving the others, so that no line separates the classes any "
        "more.",
        as_points(*datasets.separable(12, margin=0.3, random_state=3)[:2]),
        {"name": "perceptron"}, _one_point,
    ),
    "diverging step": Challenge(
        "A step that diverges",
        "Gradient descent on the squared loss converges here. Change its step size until it runs "
        "away upwards.",
        as_points(*datasets.overlapping(30, random_state=0)),
        {"name": "gradient_descent", "loss": "squared", "form": "batch", "learning_rate": 0.05},
        _diverging_step,
    ),
    "xor": Challenge(
        "Solve XOR",
        "No line separates it. Find a method and settings that classify all four points correctly.",
        as_points(*datasets.logic("xor")), {"name": "perceptron"}, _exclusive_or,
    ),
    "strong penalty": Challenge(
        "A penalty that costs mistakes",
        "A line separates these points. Raise the penalty l2 until the fit gives some of them up.",
        _uneven(), {"name": "newton", "loss": "logistic", "l2": 0.001}, _strong_penalty,
    ),
}  # fmt: skip
