"""Weight space, as requested by the page."""

from __future__ import annotations

from typing import Any

from ...training.recording.landscape import banded, values_on_grid
from .limits import LANDSCAPE
from .methods import BadRequest
from .runs import PlaygroundRun, checked_box


def landscape(run: PlaygroundRun, step: Any, asked: dict[str, Any]) -> dict[str, Any]:
    """Values over two ``axes`` of (w, b) of a ``column``; other weights are as after the step."""
    weights, evaluate = run.recording.columns.weights, run.recording.evaluate
    if weights is None or evaluate is None:
        raise BadRequest("the weights of a kernel are not in the plane: there is no weight space")
    W = weights[run.checked_step(step)]
    column, axes, of = _chosen(asked, W.shape)
    box = checked_box(asked.get("box"))
    values = values_on_grid(evaluate, W, column, axes, box, LANDSCAPE)[of]
    bands = banded(values, smooth=of == "objective")
    return {"step": step, "box": box, "size": LANDSCAPE, **bands}


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
