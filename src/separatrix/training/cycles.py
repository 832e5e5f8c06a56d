"""Detects cycles in a sequence of points, keeping two points in memory.

Algorithm: each point is compared with one earlier point, the landmark, which is replaced at powers
of two, so that cycles of any length are found. R. P. Brent, An improved Monte Carlo factorization
algorithm, BIT 20 (1980).
"""

from __future__ import annotations

import numpy as np

from ..numeric.types import Array
from ..solvers import State


class CycleFinder:
    """Detects exact repetition of points."""

    def __init__(self, start: Array, first_renewal: int = 1) -> None:
        self.landmark = start
        self.distance, self.power = 0, first_renewal

    def closes(self, point: Array) -> bool:
        """Whether this next point closes a cycle."""
        if self.is_back(point):
            return True
        self.distance += 1
        if self.distance == self.power:
            self.landmark, self.distance, self.power = point, 0, 2 * self.power
        return False

    def is_back(self, point: Array) -> bool:
        """Whether this point equals the landmark."""
        return np.array_equal(point, self.landmark)

    def to_state(self) -> State:
        return {"landmark": self.landmark, "distance": self.distance, "power": self.power}

    def restore(self, state: State) -> None:
        self.landmark, self.distance, self.power = (
            state[name] for name in ("landmark", "distance", "power")
        )
