"""The pocket: of the weights at the ends of passes, those with the fewest mistakes."""

from __future__ import annotations

import numpy as np

from ..numeric.types import Array
from ..objective import Objective

ROOM = 32


class Pocket:
    """Keeps the best weights seen, earliest on ties.

    Mistakes are counted by a full evaluation of fixed weights. Candidates wait until there are
    ROOM of them and are then counted in one read of the data; a run that ends without a
    mistake never asks, and never pays.
    """

    def __init__(self, objective: Objective) -> None:
        self._objective = objective
        self._waiting: list[Array] = []
        self._best: Array | None = None
        self._mistakes = np.inf

    def offer(self, W: Array) -> None:
        """Another candidate."""
        self._waiting.append(W)
        if len(self._waiting) == ROOM:
            self._count()

    def best(self) -> tuple[Array, float]:
        """The weights with the fewest weighted mistakes, and how many."""
        self._count()
        if self._best is None:
            raise ValueError("the pocket is empty: no pass has ended yet")
        return self._best, self._mistakes

    def _count(self) -> None:
        if not self._waiting:
            return
        mistakes = self._objective.mistakes_of(np.stack(self._waiting))
        first = int(np.argmin(mistakes))
        if mistakes[first] < self._mistakes:
            self._best, self._mistakes = self._waiting[first], float(mistakes[first])
        self._waiting.clear()
