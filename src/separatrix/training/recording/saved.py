"""A recording as a self-contained page: the additional data of the page, and its size."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...losses import get_loss
from ...numeric.types import AnyArray, Array
from ...page.document import document, finite
from ...separation import separability
from ...separation.budget import OutOfWork, limited_work
from ...separation.text import enclosed
from .contours import contour
from .proof import MOST_WORK, UNDECIDED
from .schema import recording_schema

MOST_STEPS = 500  # on a saved page: evenly spaced
MOST_BYTES = 5_000_000  # of a saved page
MOST_CLASSES = 4  # number of classes that the page has colours for
GRID = 48  # points per side of a grid of scores
PROOF = ("verdict", "coef", "intercept", "margin", "mistake_bound", "support", "witness")


class RecordedSteps(NamedTuple):
    """Some steps of a recording."""

    recording: dict[str, Any]  # plain data, as if there were no other steps
    numbers: list[int]  # indices of these steps in the whole recording
    updates: list[int]  # number of steps so far that moved the weights, in the whole recording
    landscapes: dict[str, Any] | None
    """Landscapes in weight space: see :func:`.landscape.saved_landscapes`."""


@dataclass(frozen=True)
class DrawnPlane:
    """Points to draw, and the scores of a recording in the plane."""

    X: Array  # (n, 2)
    y: AnyArray  # class indices
    line: bool  # whether the boundary is given by the weights of the two coordinates
    scores: Callable[[Array, Sequence[int]], Array]
    """Scores at places after steps: (steps, places, k)."""

    @property
    def box(self) -> list[float]:
        """Left, right, bottom and top: all points and the origin, with a margin."""
        ends = np.vstack([self.X, np.zeros(2)])
        low, high = ends.min(axis=0), ends.max(axis=0)
        room = 0.25 * np.where(high > low, high - low, 1.0)
        return [low[0] - room[0], high[0] + room[0], low[1] - room[1], high[1] + room[1]]

    def points(self) -> list[list[float]]:
        """``[x1, x2, class]`` for each point."""
        return [[*x, int(c)] for x, c in zip(self.X.tolist(), self.y, strict=True)]


def saved_page(
    part: Callable[[int], RecordedSteps],
    plane: DrawnPlane | None,
    run: dict[str, Any],
    other: dict[str, Any],
) -> str:
    """The page, with as many steps as it may contain; ``run`` is shown with the recording."""
    most = MOST_STEPS
    while True:
        data = _data(part(most), plane)
        data["run"] |= run
        page = document(finite(data | other))
        size = len(page.encode())
        if size <= MOST_BYTES or most <= 2:
            return page
        most = max(2, int(0.9 * most * MOST_BYTES / size))


def _data(part: RecordedSteps, plane: DrawnPlane | None) -> dict[str, Any]:
    """Data that the page uses instead of asking a server."""
    recording, numbers, updates, landscapes = part
    y, method = recording["data"]["y"], recording["method"]
    found: dict[str, Any] = {
        "run": {
            "recording": recording, "line": plane is None or plane.line, "python": None,
            "centers": None,
        },
        "numbers": numbers, "updates": updates, "box": None,
        "points": [[0, 0, number] for number in y],
        "words": _words(method), "verdict": None, "grids": None, "schema": recording_schema(),
        "landscapes": landscapes,
    }  # fmt: skip
    if plane is not None:
        found |= {"points": plane.points(), "box": plane.box}
        found["verdict"] = verdict(plane.X, plane.y, method["fit_intercept"])
        if not plane.line:
            found["grids"] = _grids(plane, [0, *numbers], recording["start"]["weights"] is None)
    return found


def _words(method: dict[str, Any]) -> str:
    """One line that describes the run: seeds have more digits than a page's numbers."""
    solver, kernel = method["solver"], method["kernel"]
    by = "a solver of one's own" if solver is None else solver["solver"]
    if kernel is not None:
        by = f"kernel perceptron, {kernel['kernel']}"
    return f"{by}, loss {method['loss']}, l2 {method['l2']:g}, seed {method['seed']}"


def _grids(plane: DrawnPlane, steps: list[int], with_rows: bool) -> dict[str, Any]:
    """Scores on a grid as signed bytes, without repetitions; those of the points as floats."""
    scores = plane.scores(places(plane.box), steps).transpose(0, 2, 1)  # (steps, k, places)
    longest = np.abs(scores).max(axis=(1, 2), keepdims=True)
    bytes_ = np.rint(127.0 * scores / np.where(longest > 0.0, longest, 1.0))
    bytes_ = np.where((bytes_ == 0.0) & (scores < 0.0), -1.0, bytes_).astype(np.int8)
    own = plane.scores(plane.X, steps).astype("<f4")
    new = np.ones(len(steps), dtype=bool)
    new[1:] = np.any(bytes_[1:] != bytes_[:-1], axis=(1, 2)) | np.any(
        own[1:] != own[:-1], axis=(1, 2)
    )
    lines = [boundary_lines(one.T) for one in scores[new]]
    ends = np.cumsum([0] + [len(line) for state in lines for line in state]).tolist()
    each = len(lines[0])
    return {
        "size": GRID, "box": plane.box, "k": scores.shape[1], "of": (np.cumsum(new) - 1).tolist(),
        "scores": _base64(bytes_[new]), "rows": _base64(own[new]) if with_rows else None,
        "lines": _base64(np.array([p for state in lines for line in state for p in line], "<u2")),
        "ends": [ends[each * at : each * (at + 1) + 1] for at in range(len(lines))],
    }  # fmt: skip


def _base64(values: AnyArray) -> str:
    return base64.b64encode(values.tobytes()).decode()


def places(box: Sequence[float]) -> Array:
    """The points of a grid over a box, row by row from the bottom."""
    across, up = np.linspace(box[0], box[1], GRID), np.linspace(box[2], box[3], GRID)
    return np.column_stack([one.ravel() for one in np.meshgrid(across, up)])


def boundary_lines(scores: Array) -> list[list[list[int]]]:
    """For two classes: lines where scores are 0 (the boundary), and 1 and -1 (the margin)."""
    levels = (0.0, 1.0, -1.0) if scores.shape[1] == 1 else ()
    return [contour(scores.reshape(GRID, GRID), level) for level in levels]


def loss_curve(name: str, last: Array) -> dict[str, Any] | None:
    """The loss as a function of the margin, for two classes, up to the last scores."""
    asked = get_loss(name)
    loss = asked.column_loss
    if last.shape[1] > 1 or loss is None or loss is not asked:
        return None
    reach = float(np.clip(np.nan_to_num(np.abs(last), posinf=0.0).max(initial=0.0), 2.0, 100.0))
    margin = np.linspace(-reach, reach, 161)
    return {"margin": margin.tolist(), "loss": loss.phi(margin).tolist()}


def verdict(X: Array, y: AnyArray, fit_intercept: bool) -> dict[str, Any]:
    """Whether a line separates the points, the proof, and where the convex hulls intersect.

    Only ``"undecided"`` if this takes more work than a recording may.
    """
    try:
        with limited_work(MOST_WORK):
            return _decided(X, y, fit_intercept)
    except OutOfWork:
        nothing = dict.fromkeys((*PROOF, "margin_words", "meeting"))
        return nothing | {"verdict": "undecided", "text": f"Separability is {UNDECIDED}."}


def _decided(X: Array, y: AnyArray, fit_intercept: bool) -> dict[str, Any]:
    found = separability(X, y, fit_intercept=fit_intercept)
    proof = found.to_dict()
    meeting = None
    two = fit_intercept and len(proof["classes"]) == 2  # only then are there hulls
    if found.verdict == "overlapping" and two and proof["witness"]["rows"]:
        rows, share = proof["witness"]["rows"], np.array(proof["witness"]["weights"])
        upper = y[rows] == proof["classes"][1]
        if share[upper].sum() > 0:
            place = share[upper] @ X[rows][upper] / share[upper].sum()
            meeting = (np.round(place, 9) + 0.0).tolist()
    bounds = found.margin_bounds
    margin = None if bounds is None else enclosed(*bounds, digits=3)
    return {name: proof[name] for name in PROOF} | {
        "margin_words": margin, "meeting": meeting, "text": str(found),
    }  # fmt: skip
