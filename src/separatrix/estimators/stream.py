"""Where ``partial_fit`` stands between two calls."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data import ArraySource
from ..numeric.types import AnyArray
from ..solvers import Solver, State


@dataclass(frozen=True)
class StreamState:
    """Where ``partial_fit`` goes on: the solver asked for, the one that runs, and its state."""

    asked: Solver
    used: Solver
    state: State | None
    streams: bool = False


def counted(state: State | None, source: ArraySource) -> tuple[State | None, State]:
    """Where a stream stands, its weights in this source's unit; and its counts with these rows.

    A unit of weights is a power of two. Counts are kept in that of the larger weights: what then
    underflows was as nothing beside them.
    """
    power, rows, weight = source.weight_power, 0, 0.0
    if state is not None:
        rows, weight = state["rows_before"], state["weight_before"]
        shift = power - state.get("weight_power", 0)
        with np.errstate(over="ignore"):
            state = state | {"weight_before": float(np.ldexp(weight, shift))}
        power -= max(shift, 0)
        weight = float(np.ldexp(weight, min(shift, 0)))
    weight += float(np.ldexp(source.weight_sum, power - source.weight_power))
    seen = {"rows_before": rows + source.n_rows, "weight_before": weight, "weight_power": power}
    return state, seen


def continued(before: dict[str, AnyArray], after: dict[str, AnyArray]) -> dict[str, AnyArray]:
    """A history continued: passes and seconds count on; a monitor's columns end with its fit."""
    shifted = dict(after)
    for name in ("pass", "seconds"):
        shifted[name] = after[name] + before[name][-1]
    return {name: np.concatenate([before[name], shifted[name]]) for name in after}
