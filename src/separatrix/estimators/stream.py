"""The state of ``partial_fit`` between two calls."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data import ArraySource
from ..numeric.types import AnyArray
from ..solvers import Solver, State
from ..solvers.base import locked
from ..training.loop import Info

COLUMNS = ("pass", "objective", "mistakes", "norm", "seconds")


@dataclass(frozen=True)
class StreamState:
    """State of ``partial_fit``: requested solver, running solver and its state."""

    asked: Solver
    used: Solver
    state: State | None
    streams: bool = False
    room: HistoryRoom | None = None  # buffer in which the history can grow


def counted(state: State | None, source: ArraySource) -> tuple[State | None, State]:
    """The state and its weights in this source's unit; and its counts with these rows.

    A unit of weights is a power of two. Counts are kept in the unit of the larger weights: what
    underflows is negligible compared with them.
    """
    power, rows, weight = source.weight_power, 0, 0.0
    if state is not None:
        rows, weight = state["rows_before"], state["weight_before"]
        shift = power - state.get("weight_power", 0)
        if shift:
            state = state | {"weight_before": times_power(weight, shift)}
        power -= max(shift, 0)
        weight = times_power(weight, min(shift, 0))
    weight += times_power(source.weight_sum, power - source.weight_power)
    seen = {"rows_before": rows + source.n_rows, "weight_before": weight, "weight_power": power}
    return state, seen


def times_power(weight: float, power: int) -> float:
    """A weight times a power of two; infinite if that overflows."""
    if not power:
        return weight
    with np.errstate(over="ignore"):
        return float(np.ldexp(weight, power))


class HistoryRoom:
    """The columns of a history with spare capacity, so that another pass need not copy them.

    Returned arrays are views of entries that are never changed again. Only the last returned
    history continues in the same buffer. Any other, such as of a copy of the estimator or from
    before a failed call, gets its own buffer.
    """

    def __init__(self, begun: dict[str, AnyArray]) -> None:
        self.written, self.given = len(begun["pass"]), begun
        self.columns = {name: np.empty(2 * self.written + 1, begun[name].dtype) for name in COLUMNS}
        for name, column in self.columns.items():
            column[: self.written] = begun[name]
        self._shown = locked(self.columns)

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        return type(None), ()  # copies of the views become independent arrays

    def takes(self, history: dict[str, AnyArray]) -> bool:
        """Whether this history was the last returned, and there is capacity for one more pass."""
        return history is self.given and self.written < len(self.columns["pass"])

    def add(self, info: Info) -> dict[str, AnyArray]:
        """Return the history with one more pass."""
        at, self.written, self.given = self.written, self.written + 1, {}
        seconds = float(self.columns["seconds"][at - 1]) + info.seconds
        passes = int(self.columns["pass"][at - 1]) + 1
        values = (passes, info.objective, info.mistakes, info.norm, seconds)
        for (name, column), value in zip(self.columns.items(), values, strict=True):
            column[at] = value  # None becomes NaN
            self.given[name] = self._shown[name][: self.written]
        return self.given


def continued(
    before: dict[str, AnyArray], info: Info, room: HistoryRoom | None
) -> tuple[dict[str, AnyArray], HistoryRoom]:
    """Return a history with one more pass; the columns of a monitor end with its fit."""
    if room is None or not room.takes(before):
        room = HistoryRoom(before)
    return room.add(info), room
