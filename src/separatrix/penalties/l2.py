"""Squared L2 norm of the weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeGuard

import numpy as np

from ..numeric.dot import scaled_square
from ..numeric.tolerances import SMALLEST_NORMAL
from ..numeric.types import Array
from .base import Penalty


@dataclass(frozen=True)
class L2(Penalty):
    """``l2 * |w|^2`` for weights (k, d + 1), bias last.

    See Also
    --------
    Objective : adds it to a loss.
    LinearClassifierCV : selects its strength.

    Examples
    --------
    >>> import numpy as np
    >>> L2(0.5).value(np.array([[1.0, 2.0, 100.0]]))
    2.5
    """

    name = "l2"
    elastic = True

    l2: float = 0.0

    def value(self, W: Array) -> float:
        """Penalty at W."""
        if not self.l2:
            return 0.0
        return scaled_square(W[:, :-1], by=self.l2)

    @property
    def coercive(self) -> bool:
        """Whether ``l2`` is positive."""
        return self.l2 > 0.0

    @property
    def absent(self) -> bool:
        """Whether ``l2`` is 0."""
        return self.l2 == 0.0

    def gradient(self, W: Array) -> Array:
        """Derivative at W, zero for the biases."""
        gradient = 2.0 * self.l2 * W
        gradient[:, -1] = 0.0
        return gradient

    def diagonal(self, shape: tuple[int, int]) -> Array:
        """Diagonal of the second derivative, in the shape of the weights."""
        diagonal = np.full(shape, 2.0 * self.l2)
        diagonal[:, -1] = 0.0
        return diagonal

    def conjugate(self, V: Array) -> float:
        """``|V|^2 / (4 * l2)``; without a penalty infinite, except 0 for V = 0."""
        if not self.l2:
            return float("inf") if V.any() else 0.0
        return scaled_square(V, over=4.0 * self.l2)

    def dual_scale(self, V: Array, gain: float = np.inf) -> float:
        """``2 l2 gain / |V|^2``, at most 1; without a penalty 0, except 1 for V = 0."""
        if not V.any():
            return 1.0
        if not self.l2 or not gain > 0.0:
            return 0.0
        return min(0.5 * gain / max(self.conjugate(V), SMALLEST_NORMAL), 1.0)

    def with_l2(self, l2: float) -> L2:
        """A copy with another strength."""
        return L2(l2)


def is_l2(penalty: Penalty) -> TypeGuard[L2]:
    """Whether the penalty is ``l2 * |w|^2`` on all features, and nothing else.

    Weight decay, factored systems, duals and the sampled bound are derived for it. A subclass with
    another formula does not qualify.
    """
    return type(penalty) is L2
