"""Dual ascent for a sum of two-class losses: each column of scores by itself.

Problem: ``max_alpha D(alpha)``, the dual of ``J(W) = sum_c J_c(w_c)``, where J_c is the two-class
objective of one class against the others, or of one label, on the same rows. Input: an ascent for
two classes. Output: weights, J and the bound D, which are sums over the columns.

Algorithm: a step of the two-class ascent for every column whose gap is still too large. Threads
share the columns, which are independent: the bits do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...numeric.expected import Check, anything, array, entries, real, row
from ...numeric.threads import ordered_sum
from ...numeric.types import Array
from ...objective import Objective
from ..base import State
from .solver import DualIterate

PHASE = "column by column"
Iterates = Iterator[tuple[DualIterate, State]]
Ascent = Callable[[Objective, Array, State | None], Iterates]
"""Iterates of a two-class objective, from weights or a state."""


@dataclass
class SeparateAscent:
    """The ascent of one column, with its lowest J and its highest bound."""

    iterates: Iterates
    W: Array
    last: State | None  # the state of the ascent
    lowest: float = np.inf
    highest: float = 0.0

    @property
    def gap(self) -> float:
        """Between the lowest J and the highest bound."""
        return self.lowest - self.highest

    def advance(self) -> DualIterate:
        at, self.last = next(self.iterates)
        if at.objective < self.lowest:
            self.W, self.lowest = at.weights, at.objective
        self.highest = max(self.highest, at.lower_bound)
        return at

    def state(self) -> State:
        return {
            "W": self.W, "lowest": self.lowest, "highest": self.highest, "last": self.last,
        }  # fmt: skip


def separate_iterates(
    objective: Objective, W: Array, state: State | None, begun: list[State | None], ascent: Ascent
) -> Iterates:
    """One iterate per step of the columns that are not close enough, without end.

    ``begun`` has states of other methods from which the columns begin, or None.
    """
    columns = [objective.column(c) for c in range(len(W))]
    known: list[State] = [{"W": W[c, None], "last": last} for c, last in enumerate(begun)]
    gap = J = np.inf
    if state is not None:
        known, (gap, J) = state["columns"], state["gap"]
    runs = [
        SeparateAscent(ascent(own, one["W"], one["last"]), **one)
        for own, one in zip(columns, known, strict=True)
    ]
    threads = objective.in_memory.threads
    while True:
        moved = _advance(runs, gap, J, threads)
        J, gap = sum(run.lowest for run in runs), sum(run.gap for run in runs)
        best = np.concatenate([run.W for run in runs])
        _, mistakes = objective.value(best)
        at = DualIterate(
            best, J, mistakes, sum(run.highest for run in runs),
            reported=any(one.reported for one in moved),
            alpha=_alphas(moved) if len(moved) == len(runs) else None,
        )  # fmt: skip
        yield at, {"phase": PHASE, "columns": [run.state() for run in runs], "gap": [gap, J]}


def _advance(runs: list[SeparateAscent], gap: float, J: float, threads: int) -> list[DualIterate]:
    """One step of the columns that are not close enough; of the farthest if all are.

    Of every column its part of the next power of ten of J below the last gap is enough.
    """
    enough = 0.0
    if 0.0 < gap < np.inf:
        enough = float(J * 10.0 ** np.floor(np.log10(0.5 * gap / J))) / len(runs)
    far = [run for run in runs if not run.gap <= enough]

    def advance(run: SeparateAscent) -> tuple[list[DualIterate]]:
        return ([run.advance()],)

    (moved,) = ordered_sum(advance, far or [max(runs, key=lambda run: run.gap)], threads)
    return moved


def _alphas(moved: list[DualIterate]) -> Callable[[], Array] | None:
    """The dual variables of all columns, if all are known."""
    known = [at.alpha for at in moved if at.alpha is not None]
    if len(known) < len(moved):
        return None
    return lambda: np.concatenate([alpha() for alpha in known], axis=1)


def separate_state(objective: Objective, phases: Callable[[Objective], dict[str, Check]]) -> Check:
    """Checks for the states of the ascents of all columns."""
    k, width = objective.shape

    def last_state(name: str, state: Any) -> None:
        known = phases(objective.column(0))
        if not isinstance(state, dict) or state.get("phase") not in known:
            raise ValueError(f"{name} is of none of the methods {', '.join(known)}")
        own = {key: value for key, value in state.items() if key not in ("phase", "kept_bytes")}
        known[state["phase"]](name, own)

    one = entries({
        "W": array(1, width), "lowest": real, "highest": real, "last": last_state,
    })  # fmt: skip
    known = entries({"columns": anything, "gap": row(real, real)})

    def check(name: str, state: State) -> None:
        known(name, state)
        if not isinstance(state["columns"], list) or len(state["columns"]) != k:
            raise ValueError(f"{name}.columns must have the states of {k} columns")
        for number, column in enumerate(state["columns"]):
            one(f"{name}.columns[{number}]", column)

    return check
