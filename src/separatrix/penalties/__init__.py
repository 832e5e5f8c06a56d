"""The penalty on the weights. The bias is never penalised."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..numeric.dot import dot
from ..numeric.types import Array


@dataclass(frozen=True)
class L2:
    """``strength * |w|^2`` for weights (k, d + 1), bias last.

    >>> import numpy as np
    >>> L2(0.5).value(np.array([[1.0, 2.0, 100.0]]))
    2.5
    """

    strength: float = 0.0

    def value(self, W: Array) -> float:
        """Penalty at W."""
        w = W[:, :-1]
        return self.strength * dot(w, w) if self.strength else 0.0

    def gradient(self, W: Array) -> Array:
        """Derivative at W, zero for the biases."""
        gradient = 2.0 * self.strength * W
        gradient[:, -1] = 0.0
        return gradient

    def diagonal(self, shape: tuple[int, int]) -> Array:
        """Diagonal of the second derivative, in the shape of the weights."""
        diagonal = np.full(shape, 2.0 * self.strength)
        diagonal[:, -1] = 0.0
        return diagonal
