"""Answers for the page: a recording, a grid of scores at a step, a verdict, presets, code."""

from __future__ import annotations

import json
import warnings
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from separatrix import datasets
from separatrix.numeric.lazy import cached_property

from ...page.document import finite
from ...training.recording import saved
from ...training.recording.saved import GRID, DrawnPlane, boundary_lines, loss_curve, places
from .limits import (
    MOST_ANSWER_BYTES,
    MOST_CLASSES,
    MOST_POINTS,
    MOST_STEPS,
    STEPS_AT_ONCE,
)
from .methods import BadRequest, Method, TooLong, labelled

KEPT = 4  # runs, so that later steps need no other fit


@dataclass(frozen=True)
class PlaygroundRun:
    """A fit that was requested, with its recording."""

    method: Method
    X: Any
    y: Any
    features: Any | None
    clf: Any
    recording: Any

    @classmethod
    def of(cls, asked: dict[str, Any]) -> PlaygroundRun:
        """Fit and record."""
        method = Method.of(asked.get("method", {}))
        return cls.fitted(method, *labelled(asked.get("points"), MOST_POINTS, MOST_CLASSES))

    @classmethod
    def fitted(cls, method: Method, X: Any, y: Any) -> PlaygroundRun:
        """Fit and record with a checked method and checked points."""
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

    def answer(self, first: int) -> str:
        """The recording from a step on, as long as an answer may be, and the facts of the run."""
        if first > max(1, len(self.recording)):
            raise BadRequest(f"first: expected 1 to {len(self.recording)}")
        others = json.dumps(finite(self.facts()), allow_nan=False)[1:]
        room = MOST_ANSWER_BYTES - len(others.encode()) - len('{"recording":,')
        count = STEPS_AT_ONCE
        while True:
            text: str = self.recording.to_json(first, count)
            size = len(text.encode())
            if size <= room or count == 1:
                return f'{{"recording":{text},{others}'
            count = max(1, int(0.8 * count * room / size))

    def facts(self) -> dict[str, Any]:
        """Facts about the run that accompany the recording."""
        last = self.scores(self.X, len(self.recording))
        return {
            "python": self.python, "line": self.method.draws_a_line,
            "curve": loss_curve(self.recording.method["loss"], last),
            "centers": None if self.features is None else self.features.centers_.tolist(),
        }  # fmt: skip

    def grid(self, step: Any, box: Any) -> dict[str, Any]:
        """Scores after a step at points of a box [left, right, bottom, top], row by row.

        For two classes also the lines where the score is 0 (the boundary), -1 and 1 (the band).
        """
        step, box = self.checked_step(step), checked_box(box)
        scores, own = self.scores(places(box), step), self.scores(self.X, step)
        return {
            "size": GRID, "box": box, "step": step, "scores": scores.T.tolist(),
            "rows": own.tolist(),
            "lines": boundary_lines(scores),
        }  # fmt: skip

    def checked_step(self, step: Any) -> int:
        """The number of a step of the run; 0 is the start."""
        if type(step) is not int or not 0 <= step <= len(self.recording):
            raise BadRequest(f"step: expected 0 to {len(self.recording)}")
        return step

    def page(self, step: Any = 0) -> str:
        """The whole run as one HTML file that opens at a step."""
        plane = DrawnPlane(self.X, self.y, self.method.draws_a_line, self._by_step)
        options = {"method": asdict(self.method), "step": self.checked_step(step)}
        text: str = self.recording.to_html(plane, run=self.facts(), **options)
        return text

    def scores(self, points: Any, step: int) -> Any:
        """Scores of points (n, 2) after a step: (n, k), one column for two classes."""
        return self._by_step(points, [step])[0]

    def _by_step(self, points: Any, steps: Sequence[int]) -> Any:
        Z = points if self.features is None else self.features.transform(points)
        return self.recording.scores(Z, steps)

    @cached_property
    def python(self) -> str:
        """A script that produces the same recording."""
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
    """The most recent runs, so that later steps need no other fit."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, PlaygroundRun] = OrderedDict()

    def of(self, asked: dict[str, Any]) -> PlaygroundRun:
        """The run of a request, cached or new."""
        key = run_key(asked)
        found = self._kept.pop(key, None) or PlaygroundRun.of(asked)
        self._kept[key] = found
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return found


def run_key(asked: dict[str, Any]) -> str:
    """A key that is equal for requests that need the same run."""
    return json.dumps([asked.get("points"), asked.get("method")], sort_keys=True)


def checked_box(box: Any) -> list[float]:
    """Check [left, right, bottom, top] of a request."""
    if not (
        isinstance(box, list)
        and len(box) == 4
        and all(type(one) in (int, float) and abs(one) <= 1e7 for one in box)
    ):
        raise BadRequest("box: expected [left, right, bottom, top]")
    return box


def verdict(asked: dict[str, Any]) -> dict[str, Any]:
    """Whether a line separates the points, with the proof."""
    X, y = labelled(asked.get("points"), MOST_POINTS, MOST_CLASSES)
    intercept = asked.get("fit_intercept", True)
    if not isinstance(intercept, bool):
        raise BadRequest("fit_intercept: expected true or false")
    return saved.verdict(X, y, intercept)


def presets() -> dict[str, list[list[float]]]:
    """Initial points, by name."""
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
    """Points in the format of the page: [[x, y, class], ...]."""
    numbers = np.unique(y, return_inverse=True)[1]
    rows = np.round(np.asarray(X, float), 3).tolist()
    return [[*row, int(c)] for row, c in zip(rows, numbers, strict=True)]
