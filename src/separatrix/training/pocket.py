"""The pocket: the weights with the fewest mistakes among those at the ends of passes.

S. I. Gallant, Perceptron-based learning algorithms, IEEE Transactions on Neural Networks 1 (1990),
in the form that counts the mistakes of every candidate on all rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..numeric.expected import Check, array, each, entries, optional, real, whole
from ..numeric.types import Array
from ..objective import Objective
from ..solvers import State

ROOM = 32  # candidates counted in one read of the data


class Pocketed(NamedTuple):
    """The best weights so far, their weighted mistakes, and the pass that ended with them."""

    weights: Array
    mistakes: float
    iteration: int


class Pocket:
    """Keeps the best weights seen, the earliest on ties.

    Mistakes are counted by a full evaluation of fixed weights. Candidates wait until there are
    ROOM of them and are then counted in one read of the data; a run that ends without a mistake
    needs no count.
    """

    def __init__(self, objective: Objective) -> None:
        self._objective = objective
        self._waiting: list[Array] = []
        self._counted = 0
        self._best: Pocketed | None = None

    def offer(self, W: Array) -> None:
        """Add the candidate of the next pass."""
        self._waiting.append(W)
        if len(self._waiting) == ROOM:
            self._count()

    def best(self) -> Pocketed:
        """The candidate with the fewest weighted mistakes."""
        self._count()
        if self._best is None:
            raise ValueError("the pocket is empty: no pass has ended yet")
        return self._best

    def to_state(self) -> State:
        """The best weights and the waiting candidates, as arrays and numbers."""
        best = None if self._best is None else self._best._asdict()
        return {"waiting": list(self._waiting), "counted": self._counted, "best": best}

    def expected_state(self) -> Check:
        """Checks for the result of ``to_state``."""
        W, count = array(*self._objective.shape), whole()
        best = entries({"weights": W, "mistakes": real, "iteration": count})
        return entries({"waiting": each(W, ROOM), "counted": count, "best": optional(best)})

    def restore(self, state: State) -> None:
        """Restore the state of another pocket of the same run."""
        self._waiting, self._counted = list(state["waiting"]), state["counted"]
        self._best = None if state["best"] is None else Pocketed(**state["best"])

    def _count(self) -> None:
        if not self._waiting:
            return
        mistakes = self._objective.mistakes_of(np.stack(self._waiting))
        first = int(np.argmin(mistakes))
        if self._best is None or mistakes[first] < self._best.mistakes:
            iteration = self._counted + first + 1
            self._best = Pocketed(self._waiting[first], float(mistakes[first]), iteration)
        self._counted += len(self._waiting)
        self._waiting.clear()
