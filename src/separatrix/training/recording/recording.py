"""A recording: a step-by-step fit as plain data, which other programs can draw.

The format is :data:`separatrix.training.recording.schema.PATH`, a JSON schema with a version.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...numeric.lazy import cached_property
from ...numeric.types import AnyArray, Array
from ...page.document import finite, framed
from .columns import MOST_WEIGHTS, StepColumns
from .landscape import Evaluate, saved_landscapes
from .saved import DrawnPlane, RecordedSteps, loss_curve, saved_page
from .schema import check_recording

FORMAT, VERSION = "separatrix recording", 1
MOST_ENTRIES = 60_000  # largest number of entries in rows that are included


@dataclass(frozen=True, eq=False)
class Recording:
    """Result of ``clf.trace_.recording(X, y)``: a fit, step by step.

    One step visits one row, or one batch of rows; for solvers that use all rows at once it is one
    iteration. Steps are counted from 1.

    Examples
    --------
    >>> from separatrix import Perceptron
    >>> X, y = [[2.0, 1.0], [-1.0, 0.0]], [1, 0]
    >>> recording = Perceptron(shuffle=False).fit(X, y).trace_.recording(X, y)
    >>> len(recording), recording.arithmetic(1)
    (4, '(w, b) <- (w, b) + y (x, 1): (0, 0, 0) + 1*(2, 1, 1) = (2, 1, 1)')
    >>> recording.sentence(2)
    'Row 1 (class 0) is on its side, margin 1: nothing changes. Pass 1 ends, no mistakes left.'
    """

    method: dict[str, Any]
    classes: list[Any]
    x: Array | None  # (n, d); None if there are too many to include
    y: AnyArray  # class indices
    columns: StepColumns
    bounds: dict[str, Any]
    """``updates`` and ``objective``, or None; ``undecided`` if the former took too much work."""
    arithmetic: Callable[[int], str]  # the update of a step, written out with its numbers
    sentence: Callable[[int], str]  # a step in plain words
    stop: str | None = None
    kernel: Callable[[Array], Array] | None = None
    """For kernels: their values between given rows and those of the fit, and the 1 of the bias."""
    evaluate: Evaluate | None = None
    """Mistakes and objective at any weights, if these are weights of the objective's variables."""

    def __len__(self) -> int:
        return len(self.columns)

    def to_dict(self, first: int = 1, count: int | None = None) -> dict[str, Any]:
        """The recording as plain data: all steps, or ``count`` steps from ``first``."""
        columns = self.columns
        if not 1 <= first <= len(self) + 1:
            raise ValueError(f"first must be a step, 1 to {len(self)}, got {first!r}")
        last = len(self) if count is None else min(len(self), first + count - 1)
        steps = range(first, last + 1)
        before = slice(first - 1, last)
        after = slice(first, last + 1)
        return {
            "format": FORMAT,
            "version": VERSION,
            "method": finite(self.method),
            "data": {
                "classes": self.classes,
                "x": None if self.x is None else _numbers(self.x),
                "y": self.y.tolist(),
            },
            "bounds": finite(self.bounds),
            "total": len(self),
            "cut": columns.cut,
            "stop": self.stop,
            "passes": columns.passes,
            "start": {
                "weights": self._shown[0],
                "mistakes": _number(columns.mistakes[0]),
                "objective": _number(columns.objective[0]),
                "norm": _number(columns.norm[0]),
            },
            "first": first,
            "steps": {
                "rows": [_list(rows) for rows in columns.visited[before]],
                "margins": [None if m is None else _numbers(m) for m in columns.margins[before]],
                "updated": [rows.tolist() for rows in columns.updated[before]],
                "change": self._changes[before],
                "weights": self._shown[after],
                "coefficients": self._coefficients(before),
                "mistakes": _numbers(columns.mistakes[after]),
                "objective": _numbers(columns.objective[after]),
                "norm": _numbers(columns.norm[after]),
                "average": self._averages(after),
                "best": columns.best[after],
                "arithmetic": [self.arithmetic(step) for step in steps],
                "sentence": [self.sentence(step) for step in steps],
            },
        }

    def to_json(self, first: int = 1, count: int | None = None) -> str:
        """The recording as JSON, validated against its schema."""
        found = self.to_dict(first, count)
        check_recording(found)
        return json.dumps(found, allow_nan=False, separators=(",", ":"), ensure_ascii=False)

    def to_html(
        self, plane: DrawnPlane | None = None, run: dict[str, Any] | None = None, **other: Any
    ) -> str:
        """A self-contained HTML page that shows the recording; it needs no server.

        It contains up to 500 steps, or as many as fit into 5 MB; of a longer run, evenly spaced
        steps are kept, and the page says so. The playground passes ``plane`` for what is drawn,
        if the rows of the fit are features of it, and ``run`` and ``other`` for its other content.
        """
        if self.x is None:
            last = np.zeros((1, 1 if len(self.classes) == 2 else len(self.classes)))
        else:
            last = self.scores(self.x, [len(self)])[0]
        content = {"curve": loss_curve(self.method["loss"], last)} | (run or {})
        return saved_page(self._saved, plane or self._plane(), content, other)

    def _repr_html_(self) -> str:
        return framed(self.to_html(), height=1000)

    def scores(self, X: Any, steps: Sequence[int]) -> Array:
        """Scores of rows after each of these steps (0: the start), (steps, rows, classes).

        For two classes there is one score, whose sign gives the class.
        """
        rows = np.asarray(X, float)
        found: Array
        if self.columns.weights is not None:
            W = self.columns.weights[list(steps)]
            with np.errstate(over="ignore", invalid="ignore"):  # for a run that diverged
                found = np.einsum("nd,skd->snk", rows, W[:, :, :-1]) + W[:, None, :, -1]
        elif self.kernel is not None:
            values, states = self.kernel(rows), self._expansions(steps)
            found = np.einsum("mn,skn->smk", values, states, optimize=True)
        else:
            raise ValueError("this recording has neither weights nor a kernel")
        return found

    def _expansions(self, steps: Sequence[int]) -> Array:
        """Coefficients of the rows of the fit after each of these steps, (steps, k, n)."""
        k = 1 if len(self.classes) == 2 else len(self.classes)
        now = np.zeros((k, len(self.y)))
        found = np.empty((len(steps), *now.shape))
        done = 0
        for place in np.argsort(steps, kind="stable"):
            for changes in (self.columns.coefficients or [])[done : steps[place]]:
                for column, row, amount in changes:
                    now[column, row] += amount
            done = steps[place]
            found[place] = now
        return found

    def _plane(self) -> DrawnPlane | None:
        """The rows as points, if they have two coordinates."""
        if self.x is None or self.x.shape[1] != 2:
            return None
        return DrawnPlane(self.x, self.y, self.columns.weights is not None, self.scores)

    def _saved(self, most: int) -> RecordedSteps:
        """At most ``most`` of the steps."""
        numbers = thinned(self.columns, most)
        moved = np.cumsum([0] + [bool(len(rows)) for rows in self.columns.updated])
        part = self if len(numbers) == len(self) else replace(
            self, columns=self.columns.at(numbers),
            arithmetic=lambda step: self.arithmetic(numbers[step - 1]),
            sentence=lambda step: self.sentence(numbers[step - 1]),
        )  # fmt: skip
        lands = self._landscapes(numbers)
        return RecordedSteps(json.loads(part.to_json()), numbers, moved[numbers].tolist(), lands)

    def _landscapes(self, numbers: list[int]) -> dict[str, Any] | None:
        """Landscapes around the path of the weights, for some of the steps."""
        weights = self.columns.weights
        if weights is None or self.evaluate is None or not self._tells_weights:
            return None
        return saved_landscapes(
            self.evaluate, weights, numbers, len(self.y), self.method["fit_intercept"]
        )

    @property
    def _tells_weights(self) -> bool:
        weights = self.columns.weights
        return weights is not None and weights[0].size <= MOST_WEIGHTS

    @cached_property
    def _shown(self) -> list[Any]:
        """Weights at the start and after every step."""
        if not self._tells_weights or self.columns.weights is None:
            return [None] * (len(self) + 1)
        weights: list[Any] = _numbers(self.columns.weights)
        return weights

    @cached_property
    def _changes(self) -> list[Any]:
        if not self._tells_weights or self.columns.weights is None:
            return [None] * len(self)
        with np.errstate(invalid="ignore"):
            changes = np.diff(self.columns.weights, axis=0)
        moved: list[bool] = np.any(changes, axis=(1, 2)).tolist()
        pairs = zip(_numbers(changes), moved, strict=True)
        return [change if is_so else None for change, is_so in pairs]

    def _averages(self, after: slice) -> list[Any] | None:
        average = self.columns.average
        return None if average is None or not self._tells_weights else _numbers(average[after])

    def _coefficients(self, before: slice) -> list[Any] | None:
        steps = self.columns.coefficients
        if steps is None:
            return None
        return [[[*place, _number(amount)] for *place, amount in step] for step in steps[before]]


def from_json(text: str) -> dict[str, Any]:
    """Read a recording from JSON and validate it against its schema."""
    try:
        found: dict[str, Any] = json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("this is no recording: its lists are nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"this is no recording, which is valid JSON: {error}") from error
    check_recording(found)
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number that JSON has: a recording has null in its place")


def thinned(columns: StepColumns, most: int) -> list[int]:
    """Evenly spaced steps, including the first, the last and every best one so far."""
    total = len(columns)
    if total <= most:
        return list(range(1, total + 1))
    best = {step for step in columns.best if step is not None}
    spread = np.linspace(1, total, max(2, most - len(best))).round().astype(int)
    return sorted({*spread.tolist(), *best})


def _number(value: Any) -> float | None:
    value = float(value)
    return value if math.isfinite(value) else None


def _numbers(values: Array) -> Any:
    """Nested lists; non-finite values become None."""
    known = np.isfinite(values)
    if known.all():
        return values.tolist()
    entries: AnyArray = values.astype(object)
    entries[~known] = None
    return entries.tolist()


def _list(rows: Any) -> list[int] | None:
    return None if rows is None else rows.tolist()
