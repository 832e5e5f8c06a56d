"""What the page asks for: a recording, a grid of scores at a step, a verdict, presets, code."""

from __future__ import annotations

import json
import warnings
from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np

import separatrix
from separatrix import datasets
from separatrix.numeric.lazy import cached_property

from .contours import contour
from .limits import (
    GRID,
    MOST_ANSWER_BYTES,
    MOST_CLASSES,
    MOST_POINTS,
    MOST_STEPS,
    STEPS_AT_ONCE,
)
from .methods import BadRequest, Method, TooLong, labelled

KEPT = 4  # runs, for later steps of them


@dataclass(frozen=True)
class Run:
    """A fit that was asked for, and its recording."""

    method: Method
    X: Any
    y: Any
    features: Any | None
    clf: Any
    recording: Any

    @classmethod
    def of(cls, asked: dict[str, Any]) -> Run:
        """Fit, and record."""
        method = Method.of(asked.get("method", {}))
        return cls.fitted(method, *labelled(asked.get("points"), MOST_POINTS, MOST_CLASSES))

    @classmethod
    def fitted(cls, method: Method, X: Any, y: Any) -> Run:
        """The same, of a method and points that were checked."""
        features = method.features()
        Z = X if features is None else features.fit_transform(X)
        clf = method.estimator().set_params(callbacks=[TooLong(len(X))])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the page shows how the run ended
            try:
                clf.fit(Z, y)
            except (ValueError, ArithmeticError) as error:
                raise BadRequest(str(error)) from error
        recording = clf.trace_.recording(Z, y, max_steps=MOST_STEPS)
        return cls(method, X, y, features, clf, recording)

    def part(self, first: int) -> str:
        """The recording from a step on as JSON, as much as an answer may hold."""
        if first > max(1, len(self.recording)):
            raise BadRequest(f"first: expected 1 to {len(self.recording)}")
        count = STEPS_AT_ONCE
        while True:
            text: str = self.recording.to_json(first, count)
            size = len(text.encode())
            if size <= MOST_ANSWER_BYTES or count == 1:
                return text
            count = max(1, int(0.8 * count * MOST_ANSWER_BYTES / size))

    def told(self) -> dict[str, Any]:
        """What is told beside the recording."""
        return {
            "python": self.python, "line": self.method.draws_a_line, "curve": self._curve(),
            "centers": None if self.features is None else self.features.centers_.tolist(),
        }  # fmt: skip

    def _curve(self) -> dict[str, Any] | None:
        """The loss over the margin, for two classes."""
        if len(self.clf.classes_) > 2:
            return None
        last = np.abs(self.scores(self.X, len(self.recording)))
        reach = float(np.clip(np.nan_to_num(last, posinf=0.0).max(), 2.0, 100.0))
        margin = np.linspace(-reach, reach, 161)
        loss: Any = separatrix.get_loss(self.recording.method["loss"])
        return {"margin": margin.tolist(), "loss": loss.phi(margin).tolist()}

    def grid(self, step: Any, box: Any) -> dict[str, Any]:
        """Scores after a step at points of a box [left, right, bottom, top], row by row.

        Of two classes also the lines where they are 0, the boundary, and -1 and 1, its band.
        """
        step, box = self.checked_step(step), checked_box(box)
        across = np.linspace(box[0], box[1], GRID)
        up = np.linspace(box[2], box[3], GRID)
        points = np.column_stack([one.ravel() for one in np.meshgrid(across, up)])
        scores, own = self.scores(points, step), self.scores(self.X, step)
        levels = (0.0, 1.0, -1.0) if scores.shape[1] == 1 else ()
        return {
            "size": GRID, "box": box, "step": step, "scores": scores.T.tolist(),
            "rows": own.tolist(),
            "lines": [contour(scores.reshape(GRID, GRID), level) for level in levels],
        }  # fmt: skip

    def checked_step(self, step: Any) -> int:
        """The number of a step of the run, 0 being the start."""
        if type(step) is not int or not 0 <= step <= len(self.recording):
            raise BadRequest(f"step: expected 0 to {len(self.recording)}")
        return step

    def scores(self, points: Any, step: int) -> Any:
        """Of points (n, 2) by the weights after a step: (n, k), one column for two classes."""
        columns = self.recording.columns
        if columns.weights is not None:
            Z = points if self.features is None else self.features.transform(points)
            W = columns.weights[step]
            return Z @ W[:, :-1].T + W[:, -1]
        trace = self.clf.trace_
        kernel = trace.kernel.between(points, trace.kernel.prepare(self.X))
        kernel = kernel + float(trace.fit_intercept)
        k = 1 if len(self.clf.classes_) == 2 else len(self.clf.classes_)
        coefficients = np.zeros((k, len(self.X)))
        for changes in columns.coefficients[:step]:
            for column, row, amount in changes:
                coefficients[column, row] += amount
        return kernel @ coefficients.T

    @cached_property
    def python(self) -> str:
        """A script that makes the same recording."""
        clf = self.clf.get_params(deep=False) | {"callbacks": ()}
        if self.clf.stop_ == "callback":  # it took longer than a request may
            clf["max_iter"] = self.clf.n_iter_
        text = repr(type(self.clf)(**clf))
        lines = ["import separatrix", "from separatrix import *", ""]
        rows = "Z" if self.features is not None else "X"
        lines += [f"X = {self.X.tolist()!r}", f"y = {self.y.tolist()!r}"]
        if self.features is not None:
            lines += [f"Z = features.{self.features!r}.fit_transform(X)"]
        lines += [
            f"clf = {text}",
            f"clf.fit({rows}, y)",
            f"recording = clf.trace_.recording({rows}, y)",
            "print(clf.stop_, len(recording))",
        ]
        return "\n".join(lines) + "\n"


class Runs:
    """The last runs, so that later steps need no other fit."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Run] = OrderedDict()
        self._lock = Lock()

    def of(self, asked: dict[str, Any]) -> Run:
        """The run of a request, made or remembered."""
        key = json.dumps([asked.get("points"), asked.get("method")], sort_keys=True)
        with self._lock:
            found = self._kept.pop(key, None) or Run.of(asked)
            self._kept[key] = found
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
            return found


def checked_box(box: Any) -> list[float]:
    """[left, right, bottom, top] as a request tells it."""
    if not (
        isinstance(box, list)
        and len(box) == 4
        and all(type(one) in (int, float) and abs(one) <= 1e7 for one in box)
    ):
        raise BadRequest("box: expected [left, right, bottom, top]")
    return box


def verdict(asked: dict[str, Any]) -> dict[str, Any]:
    """Whether a line separates the points, with what proves it."""
    X, y = labelled(asked.get("points"), MOST_POINTS, MOST_CLASSES)
    intercept = asked.get("fit_intercept", True)
    if not isinstance(intercept, bool):
        raise BadRequest("fit_intercept: expected true or false")
    found = separatrix.separability(X, y, fit_intercept=intercept)
    told = found.to_dict()
    names = ("verdict", "coef", "intercept", "margin", "mistake_bound", "support", "witness")
    meeting = None
    two = intercept and len(told["classes"]) == 2  # of more classes, or from 0, no hulls meet
    if found.verdict == "overlapping" and two and told["witness"]["rows"]:
        rows, share = told["witness"]["rows"], np.array(told["witness"]["weights"])
        upper = y[rows] == told["classes"][1]
        if share[upper].sum() > 0:
            place = share[upper] @ X[rows][upper] / share[upper].sum()
            meeting = (np.round(place, 9) + 0.0).tolist()
    return {name: told[name] for name in names} | {"meeting": meeting, "text": str(found)}


def presets() -> dict[str, list[list[float]]]:
    """Points to begin with, by name."""
    logic = {name: datasets.logic(name) for name in ("and", "or", "xor")}
    outlier = datasets.separable(30, margin=0.3, random_state=1)
    X = np.vstack([outlier.X, [[3.0 * v for v in outlier.X[outlier.y == outlier.y.max()].mean(0)]]])
    found: dict[str, Any] = {
        **logic,
        "small margin": datasets.separable(40, margin=0.02, random_state=0)[:2],
        "overlapping": datasets.overlapping(60, random_state=0),
        "one outlier": (X, np.append(outlier.y, outlier.y.min())),
        "unscaled": _unscaled(),
        "ring": datasets.ring(80, random_state=0),
        "spirals": datasets.spirals(100, random_state=0),
        "three classes": datasets.blobs(3, 60, random_state=0),
    }
    return {name: as_points(X, y) for name, (X, y) in found.items()}


def _unscaled() -> tuple[Any, Any]:
    X, y = datasets.overlapping(40, random_state=2)
    return np.asarray(X) * [1.0, 20.0], y


def as_points(X: Any, y: Any) -> list[list[float]]:
    """As the page has them: [[x, y, class], ...]."""
    numbers = np.unique(y, return_inverse=True)[1]
    rows = np.round(np.asarray(X, float), 3).tolist()
    return [[*row, int(c)] for row, c in zip(rows, numbers, strict=True)]
