"""Weight space: the objective, or the mistakes, over two of the weights of a run."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...training.recording.contours import contour
from .limits import LANDSCAPE, MOST_LEVELS
from .methods import BadRequest
from .runs import Run, checked_box

SCORES_AT_ONCE = 1 << 21


def landscape(run: Run, step: Any, asked: dict[str, Any]) -> dict[str, Any]:
    """Over ``axes``, two of (w, b) of a ``column``; all others are those after the step.

    ``bands`` is a letter for each point of the grid, row by row upwards, "a" the lowest;
    ``levels`` are the least values of the bands, and ``lines`` the contours between them, for
    what does not go up in steps.
    """
    weights = run.recording.columns.weights
    if weights is None:
        raise BadRequest("a kernel's weights are not in the plane: there is no weight space")
    W = weights[run.checked_step(step)]
    column, axes, of = _chosen(asked, W.shape)
    box = checked_box(asked.get("box"))
    values = _values(run, W, column, axes, of, box)
    levels = np.unique(np.quantile(values, np.linspace(0.0, 1.0, MOST_LEVELS), method="lower"))
    bands = np.searchsorted(levels, values.ravel(), side="right") - 1
    smooth = of == "objective"
    lines = [contour(values, level) for level in levels[1:] if level < np.inf] if smooth else []
    return {
        "step": step, "box": box, "size": LANDSCAPE, "levels": levels.tolist(), "lines": lines,
        "bands": "".join(chr(ord("a") + band) for band in bands.tolist()),
    }  # fmt: skip


def _chosen(asked: dict[str, Any], shape: tuple[int, ...]) -> tuple[int, list[int], str]:
    column, axes, of = asked.get("column", 0), asked.get("axes"), asked.get("of", "objective")
    if type(column) is not int or not 0 <= column < shape[0]:
        raise BadRequest(f"column: expected 0 to {shape[0] - 1}")
    if not (
        isinstance(axes, list)
        and len(axes) == 2
        and all(type(one) is int and 0 <= one < shape[1] for one in axes)
        and axes[0] != axes[1]
    ):
        raise BadRequest(f"axes: expected two different numbers from 0 to {shape[1] - 1}")
    if of not in ("objective", "mistakes"):
        raise BadRequest("of: expected objective or mistakes")
    return column, axes, of


@np.errstate(over="ignore", invalid="ignore")  # a run that diverges comes far
def _values(run: Run, W: Any, column: int, axes: list[int], of: str, box: list[float]) -> Any:
    """(size, size), rows upwards."""
    Z = np.column_stack([run.recording.x, np.ones(len(run.y))])
    y = run.recording.y if len(W) > 1 else np.where(run.recording.y == 1, 1.0, -1.0)
    across, up = np.linspace(box[0], box[1], LANDSCAPE), np.linspace(box[2], box[3], LANDSCAPE)
    pairs = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    fixed = W.copy()
    fixed[column, axes] = 0.0
    scores = Z @ fixed.T  # (n, k), to which the two weights add
    loss, found = run.clf.trace_.loss, np.empty(len(pairs))
    each = max(1, SCORES_AT_ONCE // scores.size)
    for first in range(0, len(pairs), each):
        some = pairs[first : first + each]
        moved = np.repeat(scores[None], len(some), axis=0)
        moved[:, :, column] += some @ Z[:, axes].T
        rows = loss.mistakes if of == "mistakes" else loss.value
        by_row = rows(np.tile(y, len(some)), moved.reshape(-1, len(W))).reshape(len(some), -1)
        found[first : first + each] = by_row.sum(axis=1)
    if of == "objective":
        penalised = np.append(np.ones(W.shape[1] - 1), 0.0)  # all but the bias
        squares = np.sum(fixed**2 * penalised) + pairs**2 @ penalised[axes]
        found = found / len(y) + run.clf.trace_.penalty.l2 * squares
    found[np.isnan(found)] = np.inf
    return found.reshape(LANDSCAPE, LANDSCAPE)
