"""A recording: a fit step by step as plain data, which other programs can draw.

The format is :data:`separatrix.training.recording.schema.PATH`, a JSON schema with a version.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...numeric.lazy import cached_property
from ...numeric.types import AnyArray, Array
from .columns import MOST_WEIGHTS, Columns
from .schema import check_recording

FORMAT, VERSION = "separatrix recording", 1
MOST_TOLD = 60_000
"""Numbers in rows that are told; more are left out."""


@dataclass(frozen=True, eq=False)
class Recording:
    """What ``clf.trace_.recording(X, y)`` returns: a fit, step by step.

    A step is one row looked at, right or wrong; a batch of them; or one step of a solver that
    looks at all rows at once. Steps are counted from 1.

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
    x: Array | None
    """(n, d); None where it is too much to be told."""
    y: AnyArray
    """Numbers of the classes."""
    columns: Columns
    bounds: dict[str, float | None]
    arithmetic: Callable[[int], str]
    """The update of a step, written out with its numbers."""
    sentence: Callable[[int], str]
    """A step in plain words."""
    stop: str | None = None

    def __len__(self) -> int:
        return len(self.columns)

    def to_dict(self, first: int = 1, count: int | None = None) -> dict[str, Any]:
        """The recording as plain data: all steps, or ``count`` of them from ``first`` on."""
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
            "method": self.method,
            "data": {
                "classes": self.classes,
                "x": None if self.x is None else _numbers(self.x),
                "y": self.y.tolist(),
            },
            "bounds": self.bounds,
            "total": len(self),
            "cut": columns.cut,
            "stop": self.stop,
            "passes": columns.passes,
            "start": {
                "weights": self._told[0],
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
                "weights": self._told[after],
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
        """The same as JSON, checked against its schema."""
        found = self.to_dict(first, count)
        check_recording(found)
        return json.dumps(found, allow_nan=False, separators=(",", ":"), ensure_ascii=False)

    @property
    def _tells_weights(self) -> bool:
        weights = self.columns.weights
        return weights is not None and weights[0].size <= MOST_WEIGHTS

    @cached_property
    def _told(self) -> list[Any]:
        """Weights at the start and after every step."""
        if not self._tells_weights or self.columns.weights is None:
            return [None] * (len(self) + 1)
        told: list[Any] = _numbers(self.columns.weights)
        return told

    @cached_property
    def _changes(self) -> list[Any]:
        if not self._tells_weights or self.columns.weights is None:
            return [None] * len(self)
        with np.errstate(invalid="ignore"):
            changes = np.diff(self.columns.weights, axis=0)
        moved: list[bool] = np.any(changes, axis=(1, 2)).tolist()
        told = zip(_numbers(changes), moved, strict=True)
        return [change if is_so else None for change, is_so in told]

    def _averages(self, after: slice) -> list[Any] | None:
        average = self.columns.average
        return None if average is None or not self._tells_weights else _numbers(average[after])

    def _coefficients(self, before: slice) -> list[Any] | None:
        told = self.columns.coefficients
        return None if told is None else [[list(one) for one in step] for step in told[before]]


def from_json(text: str) -> dict[str, Any]:
    """A recording that was written down, as plain data, checked against its schema."""
    found: dict[str, Any] = json.loads(text)
    check_recording(found)
    return found


def _number(value: Any) -> float | None:
    value = float(value)
    return value if math.isfinite(value) else None


def _numbers(values: Array) -> Any:
    """Nested lists; what is not finite becomes None."""
    finite = np.isfinite(values)
    if finite.all():
        return values.tolist()
    told: AnyArray = values.astype(object)
    told[~finite] = None
    return told.tolist()


def _list(rows: Any) -> list[int] | None:
    return None if rows is None else rows.tolist()
